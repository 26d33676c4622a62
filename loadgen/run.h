#pragma once
// One run: workers make the load side by side, then their records are folded into a RunResult. Measuring
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
    /// At least one. A load without classes is one class without a name. Each has a dataset when the load is
    /// made.
    std::vector<ClassLoad> classes = std::vector<ClassLoad>(1);
    std::vector<StopRule> rules;  ///< besides the limits of the classes
    std::uint32_t workers = 1;
    std::optional<TimePoint> began;  ///< the zero of the schedule; now, when not given
    WorkerOptions worker;            ///< what all workers have in common; `number` is set for each
};

/// The results of all workers.
struct LoadOutcome {
    RequestTable records;
    std::vector<WorkerReport> workers;                  ///< their records moved into `records`
    scrape::ServerScrapes server;                       ///< empty unless the server was asked
    std::vector<scrape::ServerScrapes> exporters = {};  ///< kept series of other exporters
    power::PowerReadings power;                         ///< empty unless there was a meter
    TimePoint began;
    std::optional<TimePoint> ran_dry;  ///< of the first worker that had nothing more to start
    double host_lost_share = 0;
    std::optional<Stopped> stopped;  ///< why nothing more was started
    bool interrupted = false;
};

/// Blocks until the load has been made, or ended from outside. Every
/// finished record goes to `sink` at once. Throws RuntimeError when this host cannot make it (no threads, no
/// descriptors).
LoadOutcome make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                      const Interruption& interruption);

/// The options of the monitor that evaluates the load's stop rules.
StopMonitorOptions monitor_options(const LoadOptions& options);

/// Why a load ended that the monitor did not end: the rule of the dispatcher that had nothing more first.
/// `limits` are those of all classes together.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

struct FoldOptions {
    std::vector<Slo> slos;
    std::map<std::string, std::vector<Slo>> class_slos = {};
    std::vector<std::string> targets = {};  ///< URLs, as results name them
    ValidityOptions validity = {};
};

/// `events`: of the requests in `outcome`. Fills counts, window, metrics, throughput, series, client,
/// validity, the load axis and achieved lengths of `result`; what only the command knows (provenance,
/// options, workload) is left as it is.
void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options);

}  // namespace paretoken::loadgen
