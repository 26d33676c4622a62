#pragma once
// Computes how much independent evidence a run has about a percentile: requests that were in flight together
// shared the server's state, so that they count as fewer independent samples (the effective sample).
// Intervals, certificates and verdicts on SLOs follow from it (docs/statistics.md).
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

/// Describes how long the state of the server influences later requests, and therefore how much evidence
/// the window (the part of the run that results are computed from) can hold. It is computed once from all
/// requests of the load. Every series of values in the window (those of all requests, of one class, or of
/// blocks of time) uses the same LoadMemory.
struct LoadMemory {
    double window_s = 0;     ///< length of the window
    double residence_s = 0;  ///< mean time of a request in the system
    double queue_s = 0;      ///< correlation time of the number in flight; 0 in a closed loop
    double enough_s = 0;     ///< length that a window needs to show the variation of that number
    /// The number of independent samples of the number in flight that the window can hold. It is low if the
    /// server's slots are nearly all taken, and infinite if nothing shows that they are. If it is below 50,
    /// no series of the window has more evidence than this; else it limits only that part of a series which
    /// the number in flight explains.
    double most_samples = std::numeric_limits<double>::infinity();
    // The number in flight during the window, as seen by the requests that arrive. The window is divided into
    // at most 4,096 parts, and each value is the mean over the arrivals of one part. Empty if `most_samples`
    // is infinite.
    std::vector<double> held_by_order =
        {};                                 ///< parts with equal numbers of arrivals; the last may have fewer
    std::vector<double> held_by_time = {};  ///< parts of equal length; without arrivals, the value before

    // Of a closed loop (core/result/rounds.h); 0 in an open loop, and if there are too few rounds:
    std::uint64_t rounds = 0;  ///< whole rounds of the window that count
    double round_share = 0;    ///< part of the window's requests that these rounds have
    /// The number of independent samples that these rounds are worth. A series has at least as much evidence
    /// as this, even if the dependence of its values cannot be estimated.
    double round_samples = 0;

    bool operator==(const LoadMemory&) const = default;
    bool is_enough() const { return window_s > 0 && window_s >= enough_s; }
};

/// Computes the memory of a load. `stays` holds all requests in ascending order of `begin_s`, including those
/// before the window. `window` is in seconds on the same clock. In a closed loop, and with fewer than 10
/// arrivals in the window, only `window_s` and `residence_s` are set.
LoadMemory memory_of(std::span<const Stay> stays, Interval window, bool closed_loop);

/// Returns the number of independent samples that have as much evidence about the share Σ over ÷ Σ weights as
/// this series, which is in order of time and covers the window of `memory`. Its elements are requests
/// (weight 1; `over` is 1 if the value is over the limit, else 0) or equal blocks of time (weight: the number
/// of values in the block; `over`: the number of them over the limit). It is 0 when all values or none are
/// over the limit.
double effective_sample(std::span<const double> over, std::span<const double> weights,
                        const LoadMemory& memory);

/// Returns the number of independent samples about the share of `values` above `limit`; infinite values are
/// above every limit. The values are those of the window's requests, in order of time. The result is that
/// of effective_sample() with 0 or 1 for each value and weights of 1, except that the number in flight is
/// taken from LoadMemory::held_by_order, because the elements are requests and not blocks of time.
double effective_sample_above(std::span<const double> values, double limit, const LoadMemory& memory);

/// Returns the two levels (from 0 to 1) between whose sample quantiles the true percentile p, also a level,
/// lies with the probability `confidence`, given n independent samples (Clopper and Pearson 1934). Returns
/// nothing when n is too small to bound the percentile on both sides.
std::optional<Interval> percentile_levels(double p, double n, double confidence = 0.95);

/// Returns the 95 % confidence interval of percentile p from `sorted` ascending values with `effective_n`
/// effective samples. Failed requests have the value +infinity, so an end of the interval may be +infinity.
/// Returns nothing when the samples are too few, or when both ends are one value.
std::optional<Interval> effective_interval(std::span<const double> sorted, double p, double effective_n);

/// Returns the limits on percentile p that the values decide at 99 % confidence (MLPerf's early-stopping rule
/// on the effective sample). `sorted` is ascending. A limit at or above `high` is met, and one below `low` is
/// missed; between them the evidence is insufficient. `high` is +infinity if no limit can be shown to be met,
/// and `low` is 0 if none can be shown to be missed.
Interval decided_limits(std::span<const double> sorted, double p, double effective_n);

/// Returns the limits on percentile p that the values decide at 99 % confidence, as decided_limits() does,
/// but from the exact binomial limits for the share of the values over a limit, times `effective_n`. Neither
/// needs to be a whole number.
Interval exact_limits(std::span<const double> sorted, double p, double effective_n);

/// The numbers of blocks that intervals from blocks of rounds are computed with; the widest interval counts.
inline constexpr std::array<std::uint64_t, 3> kBlockCounts{10, 20, 30};

/// Returns half the width of the 95 % confidence interval of a mean. `deviations` are those of consecutive
/// blocks, at least two, from the mean. The interval is wider if neighbouring blocks are alike.
double half_width_of_blocks(std::span<const double> deviations);

/// Returns the 95 % confidence interval of each of `percentiles` by sectioning (Asmussen and Glynn 2007), for
/// series whose effective sample is too small for effective_interval(). The values are in the order of time
/// and of the same share of a closed loop's `rounds`. Such an interval is never a certificate, because it
/// assumes that the percentiles of blocks are nearly normal.
std::vector<std::optional<Interval>> sectioned_intervals(std::span<const double> in_order,
                                                         std::span<const double> percentiles,
                                                         std::uint64_t rounds);

/// Returns the smallest number of independent samples for which percentile_levels() has a result for
/// percentile p. It may have a fraction.
double samples_for_interval(double p, double confidence = 0.95);

}  // namespace paretoken
