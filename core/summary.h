#pragma once
// Folds the records of a run into figures: finds the steady window, counts, percentiles with intervals,
// throughput credited by event time. Pure. Warm-up and cancelled records are counted and are in no latency;
// what was streamed to them counts in throughput and in-flight, because the server did that work.
#include <optional>
#include <span>
#include <vector>

#include "core/record.h"
#include "core/result.h"
#include "core/slo.h"

namespace paretoken {

struct SummaryOptions {
    bool open_loop = false;
    std::optional<std::uint64_t> concurrency;  ///< in-flight cap
    std::optional<TimePoint> last_dispatch;    ///< when the schedule ran out; else the last `started`
    std::vector<Slo> slos;
    std::uint64_t seed = 0;  ///< of the bootstrap
};

struct RunSummary {
    TimeSpan window;  ///< on the clock of the records
    TimeSpan run;
    Window window_report;
    Counts counts;
    std::vector<MetricSummary> metrics;
    Throughput throughput;
    Throughput whole_run;
    std::vector<SeriesPoint> series;
};

/// `records` in any order. An empty span gives counts of zero and no metrics.
RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options);

}  // namespace paretoken
