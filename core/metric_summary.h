#pragma once
// Percentiles, intervals and certificates of one metric over the requests of a window. Failures are +infinity
// where lower is better and left out elsewhere; nothing is summarised that no successful request had.
#include <optional>
#include <span>
#include <vector>

#include "core/evidence.h"
#include "core/metrics.h"
#include "core/record.h"
#include "core/result.h"

namespace paretoken {

/// What is summarised. Intervals, certificates and decided limits all come from the effective sample
/// (core/evidence.h) and exist only where the window is steady and long enough. Equal values count as one
/// sample, failures one by one. Above p90 the effective sample is at most that of the lower percentiles from
/// p90 on, whose exceedances are more.
struct MetricScope {
    std::vector<const RequestRecord*> requests;  ///< counted, scheduled in the window, in that order
    std::vector<const RequestRecord*> streams;   ///< successes: the ones whose gaps are pooled
    TimeSpan window;                             ///< a pooled value belongs where its later event is
    std::size_t blocks = 0;                      ///< of time, for the evidence on pooled metrics
    bool steady = false;
    LoadMemory memory;  ///< of the whole load, also where the scope is one class
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
