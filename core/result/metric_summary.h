#pragma once
// Computes percentiles, intervals and certificates (PercentileValue::certified) of metrics over the
// requests of a window. The value of a failure is +infinity if lower is better. It is 0 for a metric that is
// the inverse of such a metric, and is left out otherwise. A metric without any finite value has no summary.
// A request that was abandoned after its first token counts only for the metrics whose value that token
// decides. A request that was abandoned before its first token is only known to take longer than its wait: if
// lower is better it counts as infinite, and percentiles above the shortest such wait have no value.
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

/// The input of a summary. PercentileValue's `ci95`, `certified` and `decided` all come from the effective
/// sample (core/evidence/evidence.h) and exist only if the window is steady and long enough. The effective
/// sample is at most the number of different values; each failure counts as one.
struct MetricScope {
    /// The requests that were scheduled in the window, without warm-up and cancelled ones, in the order of
    /// their scheduled start.
    RequestRows requests;
    bool steady = false;
    LoadMemory memory;  ///< memory of the whole load, even if the scope is one class
    std::vector<double> percentiles{kPercentiles.begin(), kPercentiles.end()};  ///< ascending
};

/// Summarises every metric, in the order of metrics(); nothing for a metric that was not measured or that is
/// pooled over events (core/result/pooled.h).
std::vector<std::optional<MetricSummary>> summaries_of(const MetricScope& scope);

// Functions that the metrics of requests and those of events share.

/// Returns the effective sample of each of `percentiles` (ascending). `effective_n(i)` gives that of
/// percentile i alone. From p90 on, the result is at most that of any lower percentile from p90 on, because a
/// lower one has more values above it and is estimated better.
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

/// Returns the number of values of a longer run that would give percentile p an interval. `n`: the number of
/// values of this run, whose effective sample is `effective_n`. Returns nothing when `effective_n` is 0.
std::optional<std::uint64_t> enough_values(double p, double n, double effective_n, const LoadMemory& memory);

/// Sets `certified` of percentiles in ascending order; no percentile above one that is not certified is
/// certified.
void set_certified(std::vector<PercentileValue>& percentiles);

}  // namespace paretoken
