#pragma once
// How long, and how often, what is done for one GPU row and once for the read ceiling: what `measure.cu`
// follows and what a suite's duration is estimated from. Pure.
#include <cstdint>

#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

struct Protocol {
    double first_warm_up_s = .3;  ///< an idle GPU takes that long to raise its clocks
    double waking_s = .02;        ///< of launches before one is timed to find a graph's length
    double warm_up_s = .05;       ///< of replays
    double settling_s = 1;        ///< at most, for rows whose arithmetic lowers the clocks
    double settling_step_s = .1;
    double replay_s = 5e-3;  ///< one graph is planned to take, the read ceiling's too: each costs a start
    int uncounted_replays = 3;
    int replays = 25;
    int watched_replays = 4;  ///< while the driver is asked for clocks, which it tells first
    int part_replays = 9;     ///< of half as long, for each operation of a step
    int ceiling_replays = 9;  ///< for each size and way of reading
    double probe_s = 1e-3;
    int probe_replays = 5;

    bool operator==(const Protocol&) const = default;
};

constexpr Protocol protocol_of(const GpuSettings& settings) {
    if (!settings.quick) return {};
    return {.warm_up_s = .0125, .settling_s = .1, .settling_step_s = .025, .replay_s = 2e-3, .replays = 15};
}

/// Sizes of the read ceiling's curve.
inline constexpr std::uint64_t kCurveSizes[] = {1ULL << 20,  4ULL << 20,   16ULL << 20,
                                                64ULL << 20, 256ULL << 20, 1024ULL << 20};
/// From here on the fastest of several ways of reading is taken: below it a launch's cost decides.
inline constexpr std::uint64_t kWaysDifferFrom = 64ULL << 20;

/// Whether arithmetic is what bounds a launch on any GPU that this may run on: 150 operations for a byte.
constexpr bool is_bound_by_arithmetic(const Work& work) {
    return work.flops > 150 * (work.read_bytes + work.written_bytes);
}

}  // namespace paretoken::microbench::gpu
