#pragma once
// Computes the results of a run from its records in several passes over the events. Warm-up and cancelled
// requests are counted, but only in throughput and in the number in flight, because the server did that work.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record/client_delays.h"
#include "core/record/event_source.h"
#include "core/record/fact.h"
#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/result/slo.h"

namespace paretoken {

struct SummaryOptions {
    bool open_loop = false;
    bool stationary = true;  ///< whether the arrivals of an open loop have a constant rate
    /// The parts of an open loop in which the plan keeps one rate of arrivals, in order. A steady window lies
    /// in one of them. Empty if the plan has no rate that changes.
    std::vector<TimeSpan> constant_rate = {};
    /// The number of requests that a closed loop keeps in flight. Nothing if there is no cap on requests in
    /// flight, or if think times or a cap on prefills keep the load below that cap.
    std::optional<std::uint64_t> concurrency = {};
    /// Since when free slots are no longer filled; absent: since the last request was started.
    std::optional<TimePoint> last_dispatch = {};
    std::vector<Slo> slos = {};
    std::map<std::string, std::vector<Slo>> class_slos = {};  ///< SLOs of classes that have their own
    std::vector<double> percentiles = {};  ///< percentiles of requests to compute besides kPercentiles
    Facts unknown = {};                    ///< facts that the source of the records does not know
    LateReading late_reading = {};         ///< how late the client read events
};

/// The results for all requests, and those that exist only for the run as a whole.
struct RunSummary : Scope {
    TimeSpan window;       ///< window on the clock of the records
    TimeSpan run;          ///< whole run on the same clock, as run_of() (core/result/window.h)
    Window window_report;  ///< window as a result holds it; zero_s is not set
    std::map<std::string, Scope> classes;  ///< scopes by class name, if requests have classes
    std::vector<Scope> turns;              ///< scopes of turns, as in RunResult
    std::vector<Scope> targets;            ///< scopes of servers, as in RunResult
    std::vector<Series> series;
};

/// Summarises `requests`, in any order, with their events in up to four passes. A request without events is
/// in no pooled metric; its tokens are credited as TotalsTimeline::add() explains, and Counts::without_events
/// counts it if its answer had output. What needs an unknown fact is absent.
RunSummary summarize(const RequestTable& requests, const EventSource& events, const SummaryOptions& options);

/// Summarises records that hold their events.
RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options);

/// Judges a summarised run by limits on percentiles. `window`: RunSummary::window. A limit on a metric that
/// needs one of the `unknown` facts is judged as insufficient, with a note.
std::vector<SloResult> percentile_verdicts(const RunResult& result, const RequestTable& requests,
                                           TimeSpan window, const std::vector<Slo>& slos, Facts unknown = {});

}  // namespace paretoken
