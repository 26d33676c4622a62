#pragma once
// Percentiles, intervals and certificates of one metric over the requests of a window. Failures are +infinity
// where lower is better and left out elsewhere; nothing is summarised that no successful request had.
#include <optional>
#include <span>
#include <vector>

#include "core/metrics.h"
#include "core/record.h"
#include "core/result.h"

namespace paretoken {

/// What is summarised. A percentile is `certified` when n, divided by the autocorrelation time of "above this
/// percentile" in the order of time, reaches samples_to_certify. For pooled metrics n counts arrivals, and an
/// interval must exist.
struct MetricScope {
    std::vector<const RequestRecord*> requests;  ///< counted, scheduled in the window, in that order
    std::vector<const RequestRecord*> streams;   ///< successes: the ones whose gaps are pooled
    TimeSpan window;                             ///< a pooled value belongs where its later event is
    std::size_t blocks = 0;                      ///< of time, for the bootstrap of pooled metrics
    std::uint64_t seed = 0;
};

/// The pooled metric that was summarised last: another with the same pool (gaps per token and gaps per chunk
/// are the same where every chunk is a token) has the same figures.
struct PooledBefore {
    std::vector<PooledValue> pool;  ///< unsorted
    std::optional<MetricSummary> summary;
};

/// Nothing when it was not measured. `before` is passed on from metric to metric of one scope.
std::optional<MetricSummary> summary_of(const Metric& metric, const MetricScope& scope, PooledBefore& before);
std::optional<MetricSummary> summary_of(const Metric& metric, const MetricScope& scope);

}  // namespace paretoken
