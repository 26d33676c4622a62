#pragma once
// Computes how many copies of an operand a row cycles through (its ring), how many launches one CUDA graph
// holds, and how long a launch takes at the read ceiling, the highest measured speed of reading. The
// functions are pure. A ring that is too small would stay in L2, and the row would measure L2.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paretoken::microbench::gpu {

struct RingLimits {
    std::uint64_t l2_bytes = 0;
    std::uint64_t free_bytes = 0;            ///< free device memory; the ring may use nine tenths of it
    std::uint64_t least_bytes = 1ULL << 30;  ///< smallest size of the ring, regardless of L2
    std::uint64_t scale = 1;                 ///< factor on the needed size, to test that the size is enough
    std::size_t most_copies = 4096;
    /// Largest number of copies that are made only to reach `least_bytes`. It is limited because a graph
    /// holds a launch for each copy.
    std::size_t most_copies_for_least = 1024;

    bool operator==(const RingLimits&) const = default;
};

struct RingPlan {
    std::size_t copies = 1;
    std::uint64_t bytes = 0;  ///< size of all copies together

    bool operator==(const RingPlan&) const = default;
};

/// Returns the smallest size of a ring: 4 GiB if the device has at least 40 GB of memory, and 1 GiB
/// otherwise. If every load uses the policy evict_first, L2 evicts the newest lines first, and a round of the
/// ring may find as much of the data of the previous round as L2 holds. An L2 of 64 MiB holds 6 % of 1 GiB,
/// but only 1.6 % of 4 GiB.
constexpr std::uint64_t least_ring_bytes(std::uint64_t memory_bytes) {
    return memory_bytes >= 40'000'000'000 ? 4ULL << 30 : 1ULL << 30;
}

/// Plans a ring of at least scale · max(5 × L2, least_bytes), or of fewer copies if nine tenths of the free
/// memory or the limits on the number of copies do not allow it. Returns nothing if not even one copy fits.
/// `copy_bytes` must be above 0.
std::optional<RingPlan> ring_plan(std::uint64_t copy_bytes, const RingLimits& limits);

struct ReplayTimes {
    double replay_s = 5e-3;            ///< shortest time of one replay of a graph, in seconds
    std::size_t most_launches = 4096;  ///< largest number of launches of a graph

    bool operator==(const ReplayTimes&) const = default;
};

/// Returns the number of launches in one graph whose replay takes at least `times.replay_s`, if a launch
/// takes `launch_s` seconds. It is a whole number of rounds of the ring of `copies` copies, but at most
/// `times.most_launches`.
std::size_t launches_per_graph(double launch_s, std::size_t copies, const ReplayTimes& times = {});

/// Returns how many launches a graph should hold if one replay of `launches` launches took `took_s`
/// seconds. The plan of launches_per_graph() may hold too few, because the launches that were timed for it
/// were slower than launches in a graph (lower clocks, or a host that enqueues them one by one). The result
/// is never below `launches`, and equals it if the replay took at least seven tenths of `times.replay_s`.
std::size_t corrected_launches(std::size_t launches, double took_s, std::size_t copies,
                               const ReplayTimes& times = {});

/// The measured time of one launch that reads `bytes`. Points at several sizes give the shortest possible
/// time of a launch of any size.
struct CeilingPoint {
    double bytes = 0;
    double seconds = 0;

    bool operator==(const CeilingPoint&) const = default;
};

/// Returns the seconds that a launch of `bytes` takes at the read ceiling. It interpolates linearly between
/// neighbouring points and continues the first and the last segment beyond the smallest and the largest size.
/// The result is never below the time of the bytes at `asymptotic_speed`. `points` are at least two, in
/// ascending order of bytes.
double ceiling_seconds(std::span<const CeilingPoint> points, double bytes);

/// Returns the bytes per second of very large launches: the slope between the two largest sizes, which is the
/// speed without the cost of a launch, or the speed at the largest size if that is higher or if the times do
/// not grow.
double asymptotic_speed(std::span<const CeilingPoint> points);

}  // namespace paretoken::microbench::gpu
