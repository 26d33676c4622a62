#pragma once
// Folds the records of a run into figures: finds the steady window, counts, percentiles with intervals,
// throughput credited by event time. Works in passes over the events, so that a run of any size can be
// folded. Warm-up and cancelled records are counted, but no latency includes them;
// their streamed tokens count in throughput and in-flight, because the server did that work.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/result/slo.h"

namespace paretoken {

struct SummaryOptions {
    bool open_loop = false;
    std::optional<std::uint64_t> concurrency;  ///< in-flight cap
    std::optional<TimePoint> last_dispatch;    ///< when the schedule ran out; nothing: the last `started`
    std::vector<Slo> slos;
    std::map<std::string, std::vector<Slo>> class_slos = {};  ///< SLOs of classes that have their own
};

/// The scope of all requests, and what belongs to the run as a whole.
struct RunSummary : Scope {
    TimeSpan window;  ///< window on the clock of the records
    TimeSpan run;
    Window window_report;
    std::map<std::string, Scope> classes;  ///< scopes by class name, if requests have classes
    std::vector<Scope> turns;              ///< scopes of turns, as in RunResult
    std::vector<Scope> targets;            ///< scopes of servers, as in RunResult
    std::vector<Series> series;
};

/// Summarises `requests` in any order; their events come from `events`, in up to three passes. A request
/// without events is credited from its scalars as core/result/totals.h explains, is in no pooled metric, and
/// is counted in `counts.without_events`. No requests give counts of zero and no metrics.
RunSummary summarize(const RequestTable& requests, const EventSource& events, const SummaryOptions& options);

/// Summarises records that hold their events.
RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options);

/// Judges the requests of a finished run by other SLOs: replaces the totals and figures that depend on
/// SLOs, for the whole run, its classes and turns, and leaves the rest. `zero`: the run's epoch on the clock
/// of the requests.
void judge_anew(RunResult& result, const RequestTable& requests, const EventSource& events, TimePoint zero,
                const std::vector<Slo>& slos, const std::map<std::string, std::vector<Slo>>& class_slos = {});

/// The options with which a finished run is folded again.
struct FoldAnew {
    std::vector<Slo> slos = {};
    std::map<std::string, std::vector<Slo>> class_slos = {};
    std::vector<double> percentiles = {};  ///< more percentiles than those of every metric of requests
};

/// Folds the requests of a finished run anew over the window that was found when it ended: replaces counts,
/// totals, figures and metrics of the whole run, its classes, turns and targets. `zero` as for judge_anew().
void fold_anew(RunResult& result, const RequestTable& requests, const EventSource& events, TimePoint zero,
               const FoldAnew& anew);

/// Judges the window of a summarised run by limits on percentiles, and replaces `result.slo`. `zero` as for
/// judge_anew().
void judge_percentiles(RunResult& result, const RequestTable& requests, TimePoint zero,
                       const std::vector<Slo>& slos);

}  // namespace paretoken
