#pragma once
// One run: workers make the load in parallel, then their records are folded into a RunResult. Measuring
// prints nothing; folding is pure.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record_sink.h"
#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/result/slo.h"
#include "core/result/validity.h"
#include "loadgen/interruption.h"
#include "loadgen/power/energy.h"
#include "loadgen/progress.h"
#include "loadgen/scrape/server_metrics.h"
#include "loadgen/stop_monitor.h"
#include "loadgen/worker.h"

namespace paretoken::loadgen {

struct LoadOptions {
    /// The classes; there is at least one. A load that is not divided into classes has one class with an
    /// empty name. The dataset of every class must be set before the load is made.
    std::vector<ClassLoad> classes = std::vector<ClassLoad>(1);
    std::vector<StopRule> rules;  ///< stop rules besides the limits of the classes
    std::uint32_t workers = 1;
    std::optional<TimePoint> began;  ///< zero of the schedule; nothing: now
    WorkerOptions worker;            ///< options of all workers; `number` is set for each
};

/// The results of all workers.
struct LoadOutcome {
    RequestTable records;
    std::vector<WorkerReport> workers;                  ///< reports, whose records were moved into `records`
    scrape::ServerScrapes server;                       ///< empty unless the server was scraped
    std::vector<scrape::ServerScrapes> exporters = {};  ///< kept series of other exporters
    power::PowerReadings power;                         ///< empty unless there was a meter
    TimePoint began;
    std::optional<TimePoint> ran_dry;  ///< earliest Dispatcher::ran_dry() of all workers
    double host_lost_share = 0;
    std::optional<Stopped> stopped;  ///< reason why nothing more was started
    bool interrupted = false;
};

/// Makes a load. Blocks until a limit or a stop rule is met and all requests have ended, or until the load is
/// ended by `interruption`. The record of each request goes to `sink` as soon as the request has ended.
/// Throws RuntimeError when the kernel refuses the event loop of a worker, for example because no file
/// descriptors are left.
LoadOutcome make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                      const Interruption& interruption);

/// Returns the options of the monitor that evaluates the load's stop rules.
StopMonitorOptions monitor_options(const LoadOptions& options);

/// Returns why a load ended that the monitor did not end: the rule of the dispatcher that ran out first.
/// `limits` are those of all classes together.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

struct FoldOptions {
    std::vector<Slo> slos;
    std::map<std::string, std::vector<Slo>> class_slos = {};
    std::vector<std::string> targets = {};  ///< URLs in results
    ValidityOptions validity = {};
};

/// Sets everything in `result` that follows from the load: its counts, window, metrics, series, client,
/// server, power, stop, validity, load, and the achieved lengths in its workload. It leaves provenance, plan
/// and the rest of the workload unchanged, which only the command knows. `events` are those of the requests
/// in `outcome`. If the load diverged, the percentiles, means, standard deviations, minima and maxima of all
/// metrics are removed, because they would depend on the length of the run.
void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options);

}  // namespace paretoken::loadgen
