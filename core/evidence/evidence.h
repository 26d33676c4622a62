#pragma once
// Computes how much independent evidence a run has about a percentile. Requests that were in flight together
// shared the server's state, so n of them have as much evidence as fewer independent samples. That smaller
// number is the effective sample. It decides confidence intervals, certificates (whether the run is large
// enough to show at 99 % confidence that a percentile meets a limit) and the verdicts on SLOs.
// docs/statistics.md explains the method and has its measured coverage.
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

/// Describes how long the state of the server influences later requests, and therefore how much evidence a
/// window can hold. It is computed once from all requests of the load. Every series of values in the window
/// (those of all requests, of one class, or of blocks of time) uses the same LoadMemory.
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
    // The number in flight that arrivals of the window found, as means of at most 4,096 parts of the window;
    // empty if `most_samples` is infinite:
    std::vector<double> held_by_order =
        {};                                 ///< parts with equal numbers of arrivals; the last may have fewer
    std::vector<double> held_by_time = {};  ///< parts of equal length; an empty one repeats the one before

    bool operator==(const LoadMemory&) const = default;
    bool is_enough() const { return window_s > 0 && window_s >= enough_s; }
};

/// Computes the memory of a load. `stays`: all requests in ascending order of `begin_s`, including those
/// before the window. `window` is in seconds on the same clock. In a closed loop the number in flight is
/// constant by construction and shows nothing. In an open loop `enough_s` is 8 · c² times the longest time
/// for which the number in flight stayed on one side of its mean; c is the variance of that number ÷ the
/// variance that the arrivals alone would cause, at least 1. A calm run near saturation may pass this test by
/// chance, so an open loop is also checked for whether the server's slots, the requests that it can work on
/// at once, are nearly all taken. At each arrival in the window, the requests that have had their first
/// output and have not ended are counted, and the largest count is taken as the number of slots. If at least
/// a twentieth of the arrivals count nearly that many (fewer by at most a tenth), `most_samples` is the
/// number of times that 1.5 relaxation times of a queue with that many slots fit into the window; it is 0 if
/// the slots may be saturated. With fewer than 10 arrivals in the window, an open loop is not tested either:
/// then, as in a closed loop, only `window_s` and `residence_s` are set.
LoadMemory memory_of(std::span<const Stay> stays, Interval window, bool closed_loop);

/// Returns the number of independent samples that have as much evidence about the share Σ over ÷ Σ weights as
/// this series. The series is in order of time and covers the window of `memory`. Its elements are requests
/// (weight 1; `over` is 1 if the value is over the limit, else 0) or equal blocks of time (weight: the number
/// of values in the block; `over`: the number of them over the limit). The result is 0 when all values or
/// none are over the limit. Method: the integrated autocorrelation time of over − share · weight, summed
/// until the correlations vanish but at least over the memory of the load (Geyer 1992; Madras and Sokal
/// 1988), enlarged by its own uncertainty. Near saturation, LoadMemory::most_samples limits it: as a
/// whole if that is below 50, else only the share of the series' variance that the number in flight explains.
/// This share is the correlation ratio between the tenths of the elements, sorted by the number in flight.
double effective_sample(std::span<const double> over, std::span<const double> weights,
                        const LoadMemory& memory);

/// Returns the number of independent samples about the share of `values` above `limit`; infinite values are
/// above every limit. The result is that of effective_sample() with 0 or 1 for each value and weights of 1.
double effective_sample_above(std::span<const double> values, double limit, const LoadMemory& memory);

/// Returns the sample quantiles, as levels from 0 to 1, between which the true percentile p lies with this
/// confidence, given n independent samples (Clopper and Pearson 1934). Returns nothing when n is too small to
/// bound it on both sides.
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

/// Returns the smallest number of independent samples that gives percentile p an interval; it may have a
/// fraction.
double samples_for_interval(double p, double confidence = 0.95);

}  // namespace paretoken
