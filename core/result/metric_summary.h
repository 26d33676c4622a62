#pragma once
// Percentiles, intervals and certificates of one metric over the requests of a window. Failures are +infinity
// where lower is better and left out elsewhere; nothing is summarised that no successful request had. A
// request that was abandoned counts with what its first token settled. One that was abandoned before it is
// known to have taken longer than it was waited for: percentiles beyond the shortest such wait have no value.
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

/// The input of a summary. Intervals, certificates and decided limits all come from the effective sample
/// (core/evidence/evidence.h) and exist only where the window is steady and long enough. Equal values count
/// as one sample, failures one by one.
struct MetricScope {
    RequestRows requests;  ///< counted, scheduled in the window, in that order
    bool steady = false;
    LoadMemory memory;  ///< of the whole load, also where the scope is one class
    std::vector<double> percentiles{kPercentiles.begin(), kPercentiles.end()};  ///< ascending
};

/// Nothing when it was not measured, and for metrics that are pooled over events (core/result/pooled.h).
std::optional<MetricSummary> summary_of(const Metric& metric, const MetricScope& scope);

// Functions that the metrics of requests and those of events share.

/// The effective sample of each of `percentiles` (ascending), where `effective_n(i)` says it for that one
/// alone: above p90 it is at most that of the lower percentiles from p90 on, whose exceedances are more.
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

/// How many values would give percentile p an interval, at the same pace; nothing when no number is known to.
std::optional<std::uint64_t> enough_values(double p, double n, double effective_n, const LoadMemory& memory);

/// Certifies in ascending order of the percentiles: none above one that is not certified.
void set_certified(std::vector<PercentileValue>& percentiles);

}  // namespace paretoken
