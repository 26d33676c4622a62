#pragma once
// How much independent evidence a run holds about a percentile. Requests that were in flight together shared
// the server's state, so n of them count as fewer independent samples. One rule decides confidence intervals,
// certificates and the verdicts on SLOs: the effective sample. docs/statistics.md explains the method and
// holds its measured coverage.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "core/units.h"

namespace paretoken {

/// When a request was in the system, in seconds on any clock.
struct Stay {
    double begin_s = 0;  ///< scheduled
    double end_s = 0;
    double waited_s = 0;  ///< until its first output; all of it where there was none

    bool operator==(const Stay&) const = default;
};

/// How long the state of the server is remembered. Times, so that it holds for any series of the same window:
/// all requests, those of one class, or blocks of time.
struct LoadMemory {
    double window_s = 0;     ///< length of the window
    double residence_s = 0;  ///< mean time of a request in the system
    double queue_s = 0;      ///< how long the number in flight stays correlated; 0 in a closed loop
    double enough_s = 0;     ///< the shortest window that sees enough ups and downs of that number
    /// No series of the window holds more independent samples: few where the server's slots are nearly all
    /// taken, infinitely many where nothing shows that they are.
    double most_samples = std::numeric_limits<double>::infinity();

    bool operator==(const LoadMemory&) const = default;
    bool is_enough() const { return window_s > 0 && window_s >= enough_s; }
};

/// `stays` of all requests in ascending order of `begin_s`, with those before the window. `window` in seconds
/// on the same clock. In a closed loop the number in flight is constant by construction and says nothing.
/// In an open loop the window must be 8 times as long as the longest stretch in which the number in flight
/// stayed on one side of its mean, and longer by the square of how much more that number varies than its
/// arrivals alone would make it vary. A calm run near saturation passes both tests by chance, so the slots
/// are looked at too: where a twentieth of the arrivals find as many requests with output as there ever are,
/// the window holds one independent sample per 1.5 relaxation times of a queue with that many slots.
LoadMemory memory_of(std::span<const Stay> stays, Interval window, bool closed_loop);

/// The number of independent samples that say as much about the share Σ over ÷ Σ weights as this series in
/// order of time does: requests (each of weight 1, over 0 or 1) or equal blocks of time (values in the block,
/// and how many of them are over). The series covers the window of `memory`. 0 when nothing varies.
/// Method: the integrated autocorrelation time of over − share · weight, summed until the correlations vanish
/// but at least over the memory of the load (Geyer 1992; Madras and Sokal 1988), enlarged by its own
/// uncertainty.
double effective_sample(std::span<const double> over, std::span<const double> weights,
                        const LoadMemory& memory);

/// The quantile levels between which percentile p lies with this confidence, given n independent samples
/// (Clopper and Pearson 1934). Nothing when n is too small to bound it on both sides.
std::optional<Interval> percentile_levels(double p, double n, double confidence = 0.95);

/// The percentile's confidence interval from `sorted` ascending values, of which `effective_n` count. Nothing
/// when the evidence is too small. An end among failures is +infinity.
std::optional<Interval> effective_interval(std::span<const double> sorted, double p, double effective_n);

/// The limits on percentile p that the values decide at 99 % confidence (MLPerf's early-stopping rule on the
/// effective sample): a limit at or above `high` is met, one below `low` is missed, between them the evidence
/// is insufficient. `low` is 0 and `high` +infinity where no limit can be decided.
Interval decided_limits(std::span<const double> sorted, double p, double effective_n);

/// The fewest independent samples that give percentile p an interval.
double samples_for_interval(double p, double confidence = 0.95);

}  // namespace paretoken
