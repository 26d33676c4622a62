#pragma once
// Computes how much independent evidence a run has about a percentile (docs/statistics.md): requests that
// were in flight together shared the server's state, and count as fewer independent samples.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// The time of a request in the system, in seconds on any clock.
struct Stay {
    double begin_s = 0;  ///< its scheduled start
    double end_s = 0;
    double waited_s = 0;  ///< time until its first output; the whole time if there was none

    bool operator==(const Stay&) const = default;
};

/// How long the state of the server influences later requests, and so how much evidence a window holds.
struct LoadMemory {
    double window_s = 0;     ///< length of the window
    double residence_s = 0;  ///< mean time of a request in the system
    double queue_s = 0;      ///< correlation time of the number in flight; 0 in a closed loop
    /// The length that a window needs. In an open loop it shows the variation of that number; a shorter
    /// window decides no limit and has wider intervals (counted_share()). In a closed loop whose requests
    /// take very unequal times it holds enough rounds; a shorter one has no interval.
    double enough_s = 0;
    /// The number of independent samples of the number in flight; low if the slots are nearly all taken,
    /// infinite if nothing shows that they are. Below 50 no series has more evidence; else it limits only the
    /// part of a series that the number in flight explains.
    double most_samples = std::numeric_limits<double>::infinity();
    // The number in flight as seen by arriving requests: means over the arrivals of up to 4,096 parts of the
    // window. Empty if `most_samples` is infinite.
    std::vector<double> held_by_order =
        {};                                 ///< parts with equal numbers of arrivals; the last may have fewer
    std::vector<double> held_by_time = {};  ///< parts of equal length; without arrivals, the value before

    // Of a closed loop (core/result/rounds.h); 0 in an open loop, and if there are too few rounds:
    std::uint64_t rounds = 0;  ///< whole rounds of the window that count
    double round_share = 0;    ///< part of the window's requests that these rounds have
    /// The number of independent samples that these rounds are worth; every series has at least as many.
    double round_samples = 0;
    /// The length that a window with too few rounds in step needs to decide limits (kDependsOnRounds).
    double decides_s = 0;

    bool operator==(const LoadMemory&) const = default;
    bool decides() const { return window_s >= decides_s; }
    bool is_enough() const { return window_s > 0 && window_s >= enough_s; }
    /// The part of an effective sample that counts for an interval: all of it if the window is long enough;
    /// in the shorter window of an open loop the part of the needed length that it has, otherwise nothing.
    double counted_share() const {
        if (is_enough()) return 1;
        return window_s > 0 && queue_s > 0 ? window_s / enough_s : 0;
    }
};

/// Computes the memory of a load. `stays` holds all requests in ascending order of `begin_s`, including those
/// before the window. `window` is in seconds on the same clock. In a closed loop, and with fewer than 10
/// arrivals in the window, only `window_s` and `residence_s` are set.
LoadMemory memory_of(std::span<const Stay> stays, Interval window, bool closed_loop);

/// Returns the number of independent samples with as much evidence about the share Σ over ÷ Σ weights as this
/// series, in order of time over the window of `memory`. Elements are requests (weight 1, `over` 0 or 1) or
/// equal blocks of time (numbers of values). 0 when all values or none are over the limit.
double effective_sample(std::span<const double> over, std::span<const double> weights,
                        const LoadMemory& memory);

/// The same about the share of `values` (of the window's requests, in order of time) above `limit`, with the
/// number in flight of LoadMemory::held_by_order. Infinite values are above every limit.
double effective_sample_above(std::span<const double> values, double limit, const LoadMemory& memory);

/// Returns the two levels between whose sample quantiles the true percentile p lies with this confidence,
/// given n independent samples (Clopper and Pearson 1934). Nothing if n is too small to bound both sides.
std::optional<Interval> percentile_levels(double p, double n, double confidence = 0.95);

/// Returns the 95 % interval of percentile p from `sorted` (ascending) values with `effective_n` effective
/// samples; failures are +infinity. Nothing when the samples are too few, or both ends are one value.
std::optional<Interval> effective_interval(std::span<const double> sorted, double p, double effective_n);

/// Returns the limits on percentile p that `sorted` values decide at 99 % (MLPerf's early-stopping rule): at
/// or above `high` met, below `low` missed. `high` may be +infinity and `low` 0.
Interval decided_limits(std::span<const double> sorted, double p, double effective_n);

/// The same from the exact binomial limits for the share of the values over a limit, times `effective_n`.
/// Neither needs to be a whole number.
Interval exact_limits(std::span<const double> sorted, double p, double effective_n);

/// The numbers of blocks that intervals from blocks of rounds are computed with; the widest interval counts.
inline constexpr std::array<std::uint64_t, 3> kBlockCounts{10, 20, 30};

/// Returns half the width of the 95 % confidence interval of a mean. `deviations` are those of consecutive
/// blocks, at least two, from the mean. The interval is wider if neighbouring blocks are alike.
double half_width_of_blocks(std::span<const double> deviations);

/// Returns the 95 % interval of each percentile by sectioning (Asmussen and Glynn 2007), for effective
/// samples that are too small for effective_interval(). The values are in order of time, of the same share of
/// `rounds`. It is never a certificate: percentiles of blocks are assumed to be nearly normal.
std::vector<std::optional<Interval>> sectioned_intervals(std::span<const double> in_order,
                                                         std::span<const double> percentiles,
                                                         std::uint64_t rounds);

/// Returns the smallest number of independent samples for which percentile_levels() has a result.
double samples_for_interval(double p, double confidence = 0.95);

}  // namespace paretoken
