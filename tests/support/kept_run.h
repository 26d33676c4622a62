#pragma once
// Reads a run directory into memory, so that a test can change what was recorded.
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/record/event_source.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "reports/files/recorded_files.h"

namespace paretoken::testing {

/// Adds four readings of a server's metrics, a second apart.
inline void add_scrapes(Observations& observed) {
    for (int i = 0; i < 4; ++i) {
        const TimePoint at = observed.began + std::chrono::seconds(i);
        observed.server.scrapes.push_back(
            {.at = at, .engine = "vllm", .sources = {}, .values = {{"running", 8}}, .histograms = {}});
    }
}

/// What was recorded of a run. `requests` have their events; they stand for the records and the events of
/// `recorded`.
struct KeptRun {
    explicit KeptRun(const std::filesystem::path& directory)
        : recorded(reports::read_recorded(directory).recorded) {
        std::map<RequestKey, std::vector<StreamEvent>> events;
        recorded.events->for_each([&](const RequestKey& key, std::span<const StreamEvent> own) {
            events[key].assign(own.begin(), own.end());
        });
        for (const RequestRecord& record : recorded.observed.records) {
            requests.push_back(record);
            requests.back().events = std::move(events[{record.index, record.warmup}]);
        }
    }

    /// Returns the result of the requests. This object need not outlive it.
    RunResult result(const Judging& judging) const {
        Recorded own = recorded;
        own.observed.records = RequestTable(requests);
        own.events = std::make_shared<KeptEvents>(requests);
        return paretoken::result_of(own, judging);
    }

    Recorded recorded;
    std::vector<RequestRecord> requests;
};

}  // namespace paretoken::testing
