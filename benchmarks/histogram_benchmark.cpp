// Measures the recording of durations, which the client does for every read.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/histogram.h"
#include "core/random.h"

namespace {

using namespace paretoken;

void histogram_recording(benchmark::State& state) {
    Random random(1);
    std::vector<Duration> delays;
    for (int i = 0; i < 4096; ++i) {
        delays.push_back(std::chrono::nanoseconds(static_cast<std::int64_t>(20'000 * random.exponential())));
    }
    Histogram histogram;
    for (auto _ : state) {
        for (const Duration delay : delays) histogram.add(delay);
        benchmark::DoNotOptimize(histogram);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * delays.size()));
}
BENCHMARK(histogram_recording);

}  // namespace
