#pragma once
// How many copies of an operand a row cycles through, how many launches one graph holds, and how large a
// launch's ceiling is. Pure. A ring that is too small stays in L2 and measures that.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paretoken::microbench::gpu {

struct RingLimits {
    std::uint64_t l2_bytes = 0;
    std::uint64_t free_bytes = 0;            ///< device memory that may be taken
    std::uint64_t least_bytes = 1ULL << 30;  ///< of the ring, whatever the L2
    std::uint64_t scale = 1;                 ///< times what is needed, to see that it was enough
    std::size_t most_copies = 4096;
    /// That `least_bytes` may ask for beyond 5 × L2: a graph holds a launch for each.
    std::size_t most_copies_for_least = 1024;

    bool operator==(const RingLimits&) const = default;
};

struct RingPlan {
    std::size_t copies = 1;
    std::uint64_t bytes = 0;  ///< of all copies

    bool operator==(const RingPlan&) const = default;
};

/// 4 GiB where the device has the memory for it, else 1. Where every load says evict_first, the newest lines
/// go first, and a round may find as much as an L2 of the one before: 6 % of 1 GiB, 1.5 % of 4.
constexpr std::uint64_t least_ring_bytes(std::uint64_t memory_bytes) {
    return memory_bytes >= 40'000'000'000 ? 4ULL << 30 : 1ULL << 30;
}

/// At least scale · max(5 × L2, least_bytes) where nine tenths of the free memory and the numbers of copies
/// allow it; nothing when not even one copy fits. `copy_bytes` > 0.
std::optional<RingPlan> ring_plan(std::uint64_t copy_bytes, const RingLimits& limits);

struct ReplayTimes {
    double replay_s = 5e-3;  ///< one replay takes at least this
    std::size_t most_launches = 4096;

    bool operator==(const ReplayTimes&) const = default;
};

/// Launches in one graph: whole rounds of the ring where that is possible.
std::size_t launches_per_graph(double launch_s, std::size_t copies, const ReplayTimes& times = {});

/// What a graph of `launches` should hold instead, when one replay of it took `took_s`: it was planned by
/// launches that were slower than those in a graph (lower clocks, a host that enqueues one by one). Never
/// fewer; the same when it lasts seven tenths of what is wanted.
std::size_t corrected_launches(std::size_t launches, double took_s, std::size_t copies,
                               const ReplayTimes& times = {});

/// Time against size of one launch, measured at several sizes: what a launch of any size could take at best.
struct CeilingPoint {
    double bytes = 0;
    double seconds = 0;

    bool operator==(const CeilingPoint&) const = default;
};

/// Linear between neighbours; beyond the largest size at its speed plus what a launch costs, below the
/// smallest in proportion between 0 bytes' extrapolation and it. `points` ascending by bytes, at least two.
double ceiling_seconds(std::span<const CeilingPoint> points, double bytes);

/// Bytes per second of the slope between the two largest sizes: what remains when launches cost nothing.
double asymptotic_speed(std::span<const CeilingPoint> points);

}  // namespace paretoken::microbench::gpu
