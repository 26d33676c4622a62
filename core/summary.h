#pragma once
// Folds the records of a run into figures: finds the steady window, counts, percentiles with intervals,
// throughput credited by event time. Pure. Warm-up and cancelled records are counted and are in no latency;
// what was streamed to them counts in throughput and in-flight, because the server did that work.
#include <map>
#include <optional>
#include <span>
#include <string>
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
};

/// The scope of all requests, and what belongs to the run as a whole.
struct RunSummary : Scope {
    TimeSpan window;  ///< on the clock of the records
    TimeSpan run;
    Window window_report;
    std::map<std::string, Scope> classes;  ///< by name, when requests carry any
    std::vector<Series> series;
};

/// `records` in any order. An empty span gives counts of zero and no metrics.
RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options);

/// Holds the requests of a finished run against other SLOs: replaces the totals and figures that depend on
/// them, for the whole run and its classes, and leaves the rest. `zero`: the run's epoch on the clock of the
/// records. Where they come without events, good tokens are credited as core/totals.h says.
void judge_anew(RunResult& result, std::span<const RequestRecord> records, TimePoint zero,
                const std::vector<Slo>& slos);

}  // namespace paretoken
