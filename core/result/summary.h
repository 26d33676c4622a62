#pragma once
// Folds the records of a run into figures: finds the steady window, counts, percentiles with intervals,
// throughput credited by event time. Works in passes over the events, so that a run of any size can be
// folded. Warm-up and cancelled records are counted and are in no latency;
// what was streamed to them counts in throughput and in-flight, because the server did that work.
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
    std::optional<TimePoint> last_dispatch;    ///< when the schedule ran out; else the last `started`
    std::vector<Slo> slos;
    std::map<std::string, std::vector<Slo>> class_slos = {};  ///< of classes with SLOs of their own
};

/// The scope of all requests, and what belongs to the run as a whole.
struct RunSummary : Scope {
    TimeSpan window;  ///< on the clock of the records
    TimeSpan run;
    Window window_report;
    std::map<std::string, Scope> classes;  ///< by name, when requests carry any
    std::vector<Scope> turns;              ///< of conversations, as in RunResult
    std::vector<Scope> targets;            ///< of several servers, as in RunResult
    std::vector<Series> series;
};

/// `requests` in any order; their events come from `events`, in up to three passes. A request whose events
/// are not there is credited from its scalars as core/result/totals.h says, is in no pooled metric, and is
/// counted in `counts.without_events`. No requests give counts of zero and no metrics.
RunSummary summarize(const RequestTable& requests, const EventSource& events, const SummaryOptions& options);

/// Summarises records that hold their events.
RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options);

/// Holds the requests of a finished run against other SLOs: replaces the totals and figures that depend on
/// them, for the whole run, its classes and turns, and leaves the rest. `zero`: the run's epoch on the clock
/// of the requests.
void judge_anew(RunResult& result, const RequestTable& requests, const EventSource& events, TimePoint zero,
                const std::vector<Slo>& slos, const std::map<std::string, std::vector<Slo>>& class_slos = {});

/// The options with which a finished run is folded again.
struct FoldAnew {
    std::vector<Slo> slos = {};
    std::map<std::string, std::vector<Slo>> class_slos = {};
    std::vector<double> percentiles = {};  ///< besides those that every metric of requests has
};

/// Folds the requests of a finished run anew over the window that was found when it ended: replaces counts,
/// totals, figures and metrics of the whole run, its classes, turns and targets. `zero` as above.
void fold_anew(RunResult& result, const RequestTable& requests, const EventSource& events, TimePoint zero,
               const FoldAnew& anew);

/// Holds the window of a summarised run against limits on percentiles, and replaces `result.slo`. `zero` as
/// above.
void judge_percentiles(RunResult& result, const RequestTable& requests, TimePoint zero,
                       const std::vector<Slo>& slos);

}  // namespace paretoken
