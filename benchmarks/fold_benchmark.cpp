// Measures the folding of a run from its files, which happens between the last request's end and run.json,
// and in `report` of a run that was killed.
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

/// The files of a closed loop whose gaps vary by a tenth.
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

/// A file with the lines of a run without events, 600 bytes each.
class LinesOnDisk {
  public:
    explicit LinesOnDisk(std::uint64_t requests)
        : directory_(fs::temp_directory_path() / ("paretoken-lines-" + std::to_string(::getpid()))) {
        fs::create_directories(directory_);
        reports::RecordWriter writer(reports::record_files_in(directory_), {},
                                     {.events = {.one_in = 0}, .waits = true});
        Random random(1);
        for (std::uint64_t i = 0; i < requests; ++i) {
            RequestRecord record;
            record.index = i;
            record.id = "chatcmpl-" + std::to_string(random());
            record.http_status = 200;
            record.finish_reason = "length";
            record.started = record.ready = record.scheduled = TimePoint(Duration(5'000'111 * i));
            record.sent = record.started + Duration(random.below(1'000'000));
            record.headers = *record.sent + Duration(random.below(10'000'000));
            record.first_event = record.first_answer = *record.headers + Duration(random.below(100'000'000));
            record.last_event = *record.first_event + Duration(random.below(1'000'000'000));
            record.finished = record.closed = *record.last_event;
            record.usage = {.prompt = 128, .cached_prompt = 64, .completion = 16, .reasoning = {}};
            record.streamed_tokens = record.chunks = 16;
            record.longest_gap = Duration(random.below(20'000'000));
            record.wanted_input_tokens = 128;
            record.wanted_output_tokens = 16;
            record.bytes_received = 4096;
            writer.record(std::move(record));
        }
        writer.finish();
    }
    ~LinesOnDisk() {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }
    LinesOnDisk(const LinesOnDisk&) = delete;
    LinesOnDisk& operator=(const LinesOnDisk&) = delete;

    fs::path path() const { return reports::record_files_in(directory_).lines; }

  private:
    fs::path directory_;
};

void reading_requests(benchmark::State& state) {
    const LinesOnDisk lines(static_cast<std::uint64_t>(state.range(0)));
    for (auto _ : state) {
        const RequestTable requests = reports::read_requests(lines.path());
        if (requests.size() != static_cast<std::size_t>(state.range(0)))
            state.SkipWithError("lines are missing");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * fs::file_size(lines.path())));
}
BENCHMARK(reading_requests)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// Folds without events, which `report --refold` does besides reading.
void folding_requests(benchmark::State& state) {
    const LinesOnDisk lines(static_cast<std::uint64_t>(state.range(0)));
    const RequestTable requests = reports::read_requests(lines.path());
    const reports::EventsFile events(lines.path().parent_path() / "events.bin", {});
    for (auto _ : state) {
        const RunSummary summary =
            summarize(requests, events, {.concurrency = kInFlight, .last_dispatch = {}, .slos = {}});
        benchmark::DoNotOptimize(summary);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(folding_requests)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
