#pragma once
// The durations and repetitions of the steps that measure a GPU row and, once per process, the read ceiling.
// measure.cu follows them, and a test estimates the duration of the suite from them. The functions are pure.
#include <cstdint>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

/// A replay is one run of a CUDA graph of many launches. Names that end in `_s` are durations in seconds.
struct Protocol {
    double first_warm_up_s = .3;  ///< launches until an idle GPU has raised its clocks
    double waking_s = .02;        ///< launches before one launch is timed to find the length of a graph
    double warm_up_s = .05;       ///< replays before the timed ones
    double settling_s = 1;        ///< longest further warm-up of rows whose arithmetic lowers the clocks
    double settling_step_s = .1;  ///< length of one step of that warm-up
    /// Planned time of one replay, for rows and for the read ceiling. It is long, because each replay costs a
    /// start.
    double replay_s = 5e-3;
    int uncounted_replays = 3;  ///< replays between the warm-up and the timed ones
    int replays = 25;           ///< timed replays of a row
    int watched_replays = 4;    ///< replays that keep the GPU busy until the driver has reported its clocks
    int part_replays = 9;       ///< replays of half the length, for each operation of a step
    int ceiling_replays = 9;    ///< replays for each size and each way of reading
    double probe_s = 1e-3;  ///< planned time of one replay of the probe, a short read that measures the drift
    int probe_replays = 5;  ///< timed replays of the probe

    bool operator==(const Protocol&) const = default;
};

/// Returns the protocol of a run; a quick run has shorter steps.
constexpr Protocol protocol_of(const GpuSettings& settings) {
    if (!settings.quick) return {};
    return {.warm_up_s = .0125, .settling_s = .1, .settling_step_s = .025, .replay_s = 2e-3, .replays = 15};
}

/// Sizes in bytes at which the read ceiling is measured.
inline constexpr std::uint64_t kCurveSizes[] = {1ULL << 20,  4ULL << 20,   16ULL << 20,
                                                64ULL << 20, 256ULL << 20, 1024ULL << 20};
/// From this size on, in bytes, the read ceiling is the fastest of several ways of reading. Below it the cost
/// of a launch dominates, so that one way of reading is enough.
inline constexpr std::uint64_t kWaysDifferFrom = 64ULL << 20;

/// Returns whether a launch needs so much arithmetic that it may drive a GPU to its power limit: more than
/// 150 operations per byte. This is near the ratio of bf16 arithmetic to memory bandwidth of an A100 with 80
/// GB (312 TFLOP/s ÷ 2.0 TB/s).
constexpr bool is_bound_by_arithmetic(const Work& work) {
    return work.flops > 150 * (work.read_bytes + work.written_bytes);
}

}  // namespace paretoken::microbench::gpu
