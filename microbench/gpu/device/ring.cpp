#include "microbench/gpu/device/ring.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace paretoken::microbench::gpu {
namespace {

double along(const CeilingPoint& a, const CeilingPoint& b, double bytes) {
    return a.seconds + (bytes - a.bytes) * (b.seconds - a.seconds) / (b.bytes - a.bytes);
}

}  // namespace

std::optional<RingPlan> ring_plan(std::uint64_t copy_bytes, const RingLimits& limits) {
    assert(copy_bytes > 0);
    const std::uint64_t affordable = limits.free_bytes / 10 * 9 / copy_bytes;
    if (affordable == 0) return std::nullopt;
    const auto copies_of = [&](std::uint64_t bytes) { return (bytes + copy_bytes - 1) / copy_bytes; };
    const std::uint64_t least =
        std::min(copies_of(limits.least_bytes), std::uint64_t{limits.most_copies_for_least});
    const std::uint64_t wanted =
        limits.scale * std::max({copies_of(5 * limits.l2_bytes), least, std::uint64_t{1}});
    const auto copies =
        static_cast<std::size_t>(std::min({wanted, affordable, std::uint64_t{limits.most_copies}}));
    return RingPlan{copies, copies * copy_bytes};
}

std::size_t launches_per_graph(double launch_s, std::size_t copies, const ReplayTimes& times) {
    const double needed = std::ceil(times.replay_s / std::max(launch_s, 1e-7));
    const auto least =
        static_cast<std::size_t>(std::clamp(needed, 1.0, static_cast<double>(times.most_launches)));
    const std::size_t rounds = (least + copies - 1) / copies;
    return std::min(rounds * copies, times.most_launches);
}

std::size_t corrected_launches(std::size_t launches, double took_s, std::size_t copies,
                               const ReplayTimes& times) {
    if (took_s >= .7 * times.replay_s) return launches;
    return std::max(launches, launches_per_graph(took_s / static_cast<double>(launches), copies, times));
}

double ceiling_seconds(std::span<const CeilingPoint> points, double bytes) {
    assert(points.size() >= 2);
    const auto above = std::find_if(points.begin() + 1, points.end() - 1,
                                    [&](const CeilingPoint& point) { return point.bytes >= bytes; });
    const double seconds = along(*(above - 1), *above, bytes);
    // Noise between two small sizes must not make the ceiling lower than the time of the bytes at full speed.
    return std::max(seconds, bytes / asymptotic_speed(points));
}

double asymptotic_speed(std::span<const CeilingPoint> points) {
    assert(points.size() >= 2);
    const CeilingPoint& a = points[points.size() - 2];
    const CeilingPoint& b = points.back();
    const double slope = (b.bytes - a.bytes) / (b.seconds - a.seconds);
    const double plain = b.bytes / b.seconds;
    return b.seconds > a.seconds ? std::max(plain, slope) : plain;
}

}  // namespace paretoken::microbench::gpu
