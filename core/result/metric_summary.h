#pragma once
// Computes percentiles, intervals and certificates of metrics over the requests of a window. A failed request
// counts as the worst value: +infinity, or 0 for the inverse of a metric; metrics without a better direction
// leave it out. A request whose user hung up counts with the values that were final. Of times that go on from
// its start (Metric::elapsed) only a lower bound is known; percentiles above the shortest such wait are
// estimates by Kaplan and Meier, without interval and certificate.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/evidence/evidence.h"
#include "core/record/request_table.h"
#include "core/result/metrics.h"
#include "core/result/result.h"

namespace paretoken {

/// The percentiles that every metric has, in ascending order.
inline constexpr std::array kPercentiles = {0.5, 0.75, 0.9, 0.95, 0.99, 0.999};

/// The input of a summary. `ci95`, `certified` and `decided` come from the effective sample
/// (core/evidence/evidence.h) and exist only if the window is steady and long enough. It is at most the
/// number of different values (each failure is one), and in a closed loop at least the number of rounds.
struct MetricScope {
    /// The requests scheduled in the window, in that order, without warm-up and cancelled ones.
    RequestRows requests;
    bool steady = false;
    LoadMemory memory;  ///< memory of the whole load, even if the scope is one class
    std::vector<double> percentiles{kPercentiles.begin(), kPercentiles.end()};  ///< ascending
};

/// Summarises every metric, in the order of metrics(); nothing for a metric that was not measured or that is
/// pooled over events (core/result/pooled.h) or a value of jobs (Metric::of_jobs).
std::vector<std::optional<MetricSummary>> summaries_of(const MetricScope& scope);

// Functions that the metrics of requests and those of events share.

/// Returns the effective sample of each of `percentiles` (ascending) from the estimates `effective_n(i)`.
/// From p90 on, none is larger than that of a lower one, whose estimate is more reliable.
template <class EffectiveN>
std::vector<double> effective_samples(std::span<const double> percentiles, EffectiveN effective_n) {
    constexpr double kFewExceedances = 0.9;
    std::vector<double> effective;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        double n = effective_n(i);
        if (percentiles[i] >= kFewExceedances) least = n = std::min(n, least);
        effective.push_back(n);
    }
    return effective;
}

/// Returns the number of values that a longer run must have so that percentile p gets an interval, at least
/// `n`. `n` is the number of values of this run, and `effective_n` is its effective sample. The longer run
/// must also cover `memory.enough_s`. Returns nothing when `effective_n` is 0.
std::optional<std::uint64_t> enough_values(double p, double n, double effective_n, const LoadMemory& memory);

/// Returns whether the percentile's interval comes from sectioned_intervals() and is never a certificate.
bool is_from_blocks(const PercentileValue& percentile);

/// Sets `certified` of percentiles in ascending order. If one is not certified, no higher one is; none is if
/// the window is shorter than LoadMemory::enough_s.
void set_certified(std::vector<PercentileValue>& percentiles, bool is_long_enough = true);

}  // namespace paretoken
