#pragma once
// Keeps the records of a load in memory, with their events. The program itself keeps only scalars in memory.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record_sink.h"
#include "core/run/result_of.h"
#include "loadgen/run.h"

namespace paretoken::testing {

/// Keeps every record, in the order in which the requests ended.
class KeptRecords final : public RecordSink {
  public:
    void record(RequestRecord&& record) override {
        const std::lock_guard lock(mutex_);
        records.push_back(std::move(record));
    }
    std::vector<RequestRecord> records;

  private:
    std::mutex mutex_;
};

/// Discards every record.
class NoSink final : public RecordSink {
  public:
    void record(RequestRecord&&) override {}
};

/// A load's outcome with the records of its requests and their events, in the order in which the requests
/// ended. These records hide Observations::records, which has no events.
struct KeptOutcome : Observations {
    std::vector<RequestRecord> records;

    KeptEvents events() const { return KeptEvents(records); }  ///< valid as long as this object
};

/// Calls `make(sink)` and returns its outcome with the records that went to `sink`. `make` must make a load
/// and return the Observations.
template <class Make>
KeptOutcome kept_outcome(Make make) {
    KeptRecords sink;
    Observations outcome = make(sink);
    return {std::move(outcome), std::move(sink.records)};
}

/// Returns the result of a load, without limits.
inline RunResult result_of(const KeptOutcome& outcome, const loadgen::LoadOptions& load) {
    Recorded recorded{.begun = {.shape = loadgen::shape_of(load)}, .observed = outcome};
    recorded.events = std::make_shared<KeptEvents>(outcome.records);
    return paretoken::result_of(recorded, {});
}

}  // namespace paretoken::testing
