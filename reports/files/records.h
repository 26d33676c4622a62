#pragma once
// The record files of a run: requests.jsonl holds one object of scalars per request, events.bin the events of
// its answer (reports/files/events.h), and answers.jsonl, if asked for, the text of its answer. The files
// grow as requests end. record() only hands a record over; a thread of the writer encodes and writes it, at
// most kFlushEvery later. A request's events are written before its line, so that after a crash at most the
// last lines lack their events.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/events_kept.h"
#include "core/record/record.h"
#include "core/record/record_sink.h"
#include "core/record/request_table.h"

namespace paretoken::reports {

struct RecordFiles {
    std::filesystem::path lines;         ///< requests.jsonl
    std::filesystem::path events;        ///< events.bin
    std::filesystem::path answers = {};  ///< answers.jsonl
};
RecordFiles record_files_in(const std::filesystem::path& run_directory);

struct RecordWriterOptions {
    EventsKept events = {};
    /// Whether record() waits for the disk when too much is pending. This is for virtual time, which waiting
    /// does not delay.
    bool waits = false;
    bool answers = false;  ///< whether answers.jsonl is written
};

class RecordWriter : public RecordSink {
  public:
    static constexpr std::chrono::milliseconds kFlushEvery{100};
    static constexpr std::size_t kMostPending = std::size_t{64} << 20;  ///< most bytes of pending records

    /// Opens the files before any load, and replaces existing ones. Times are written relative to `epoch`,
    /// the run's start. Throws RuntimeError.
    RecordWriter(const RecordFiles& files, TimePoint epoch, const RecordWriterOptions& options = {});
    ~RecordWriter() override;  ///< writes what is pending, without reporting errors
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// May be called from any thread. It does not wait for the disk unless `waits` is set: when more than
    /// kMostPending is pending, events are left out; at twice that, whole records; and finish() reports it.
    void record(RequestRecord&& record) override;

    /// Writes everything that is pending and closes the files. Returns one sentence for each kind of data
    /// that is missing in the files, with the reason; empty when nothing is missing. A second call returns
    /// the same.
    std::vector<std::string> finish();

  private:
    class Thread;
    std::unique_ptr<Thread> thread_;
};

/// Calls `visit` with the requests of a file, without events, in the order in which they ended. Reads the
/// file in pieces. Returns whether the last line was incomplete and was left out. Throws UsageError for a
/// missing file, and for a malformed line that is not the last, with path and line.
bool for_each_record(const std::filesystem::path& path, TimePoint epoch,
                     const std::function<void(RequestRecord&&)>& visit);

/// Reads all requests of a file into memory. Throws like for_each_record().
RequestTable read_requests(const std::filesystem::path& path, TimePoint epoch = {});

}  // namespace paretoken::reports
