// Folding a run from its files: what happens between the last request's end and run.json, and in `report` of
// a run that was killed.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/record/record_events.h"
#include "core/result/summary.h"
#include "reports/files/events.h"
#include "reports/files/records.h"

namespace {

using namespace paretoken;
namespace fs = std::filesystem;

constexpr std::uint64_t kInFlight = 64;
constexpr int kTokens = 500;

/// A closed loop whose gaps vary by a tenth, in files.
class RunOnDisk {
  public:
    explicit RunOnDisk(std::uint64_t requests)
        : directory_(fs::temp_directory_path() / ("paretoken-fold-" + std::to_string(::getpid()))) {
        fs::create_directories(directory_);
        reports::RecordWriter writer(reports::record_files_in(directory_), {}, {.events = {}, .waits = true});
        Random random(1);
        for (std::uint64_t i = 0; i < requests; ++i) {
            RequestRecord record;
            record.index = i;
            record.scheduled = record.started = record.ready =
                TimePoint(std::chrono::milliseconds(5'000 * (i / kInFlight) + 70 * (i % kInFlight)));
            record.sent = record.started;
            TimePoint at = record.started + std::chrono::milliseconds(50);
            for (int token = 0; token < kTokens; ++token) {
                record.events.push_back({.time = at});
                at += from_seconds(0.009 + 0.001 * random.uniform());
            }
            derive_from_events(record);
            record.closed = *record.last_event;
            record.usage.prompt = 128;
            requests_.add(record);
            writer.record(std::move(record));
        }
        writer.finish();
    }
    ~RunOnDisk() {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    RunOnDisk(const RunOnDisk&) = delete;
    RunOnDisk& operator=(const RunOnDisk&) = delete;

    RunSummary fold() const {
        const reports::EventsFile events(reports::record_files_in(directory_).events, {});
        return summarize(requests_, events, {.concurrency = kInFlight, .last_dispatch = {}, .slos = {}});
    }

  private:
    fs::path directory_;
    RequestTable requests_;
};

void folding_events(benchmark::State& state) {
    const RunOnDisk run(static_cast<std::uint64_t>(state.range(0)) / kTokens);
    for (auto _ : state) {
        const RunSummary summary = run.fold();
        if (summary.metrics.empty()) state.SkipWithError("nothing was measured");
        benchmark::DoNotOptimize(summary);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(folding_events)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
