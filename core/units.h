#pragma once
// Types for points in time and durations on one clock (CLOCK_MONOTONIC, in nanoseconds), and for intervals. A
// time is a double only inside formulas and in JSON, where the unit is part of the name (`ttft_s`).
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace paretoken {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;
static_assert(std::is_same_v<Duration, std::chrono::nanoseconds>);

constexpr double seconds(Duration d) {
    return std::chrono::duration<double>(d).count();
}

constexpr Duration from_seconds(double s) {
    return std::chrono::round<Duration>(std::chrono::duration<double>(s));
}

constexpr std::int64_t nanoseconds_since_boot(TimePoint t) {
    return t.time_since_epoch().count();
}

/// A half-open interval of time [begin, end).
struct TimeSpan {
    TimePoint begin;
    TimePoint end;

    bool operator==(const TimeSpan&) const = default;
    constexpr bool contains(TimePoint t) const { return begin <= t && t < end; }
    constexpr Duration length() const { return end - begin; }
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A range of values, e.g. a confidence interval.
struct Interval {
    double low = 0;
    double high = 0;

    bool operator==(const Interval&) const = default;
};

}  // namespace paretoken
