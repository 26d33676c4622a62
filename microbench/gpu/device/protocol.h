#pragma once
// The durations and repetitions of the steps that measure a GPU row and, once per process, the read ceiling.
// measure.cu follows them, and a test estimates the duration of the suite from them. Pure.
#include <cstdint>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

struct Protocol {
    double first_warm_up_s = .3;  ///< launches until an idle GPU has raised its clocks
    double waking_s = .02;        ///< launches before one launch is timed to find the length of a graph
    double warm_up_s = .05;       ///< replays before the timed ones
    double settling_s = 1;        ///< longest further warm-up of rows whose arithmetic lowers the clocks
    double settling_step_s = .1;  ///< length of one step of that warm-up
    /// Planned time of one replay, for rows and for the read ceiling, because each replay costs a start.
    double replay_s = 5e-3;
    int uncounted_replays = 3;
    int replays = 25;
    int watched_replays = 4;  ///< replays that keep the GPU busy until the driver has reported its clocks
    int part_replays = 9;     ///< replays of half the length, for each operation of a step
    int ceiling_replays = 9;  ///< replays for each size and each way of reading
    double probe_s = 1e-3;  ///< planned time of one replay of the probe, a short read that measures the drift
    int probe_replays = 5;

    bool operator==(const Protocol&) const = default;
};

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

/// Returns whether arithmetic bounds a launch on every GPU that this program supports: it needs more than 150
/// operations per byte.
constexpr bool is_bound_by_arithmetic(const Work& work) {
    return work.flops > 150 * (work.read_bytes + work.written_bytes);
}

}  // namespace paretoken::microbench::gpu
