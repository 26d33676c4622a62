#pragma once
// One run: workers make the load in parallel, then their records are folded into a RunResult. Measuring
// prints nothing; folding is pure.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record_sink.h"
#include "core/result/result.h"
#include "core/result/slo.h"
#include "core/result/validity.h"
#include "loadgen/interruption.h"
#include "loadgen/outcome.h"
#include "loadgen/progress.h"
#include "loadgen/stop_monitor.h"
#include "loadgen/worker.h"

namespace paretoken::loadgen {

struct LoadOptions {
    /// The classes; there is at least one. A load that is not divided into classes has one class with an
    /// empty name. The dataset of every class must be set before the load is made.
    std::vector<ClassLoad> classes = std::vector<ClassLoad>(1);
    /// The stop rules besides the limits of the classes. Rules of the kinds requests and duration have no
    /// effect here; they must be in ClassLoad::limits.
    std::vector<StopRule> rules;
    std::uint32_t workers = 1;
    std::optional<TimePoint> began;  ///< zero of the schedule; absent means now
    WorkerOptions worker;            ///< options of all workers; `number` is set for each
};

/// Makes a load. Blocks until a limit or a stop rule is met and all requests have ended, or until the load is
/// ended by `interruption`. The record of each request goes to `sink` as soon as the request has ended.
/// Throws RuntimeError when the kernel refuses the event loop of a worker, for example because no file
/// descriptors are left, or the registration of a socket with it.
LoadOutcome make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                      const Interruption& interruption);

/// Returns the options of the monitor that evaluates the stop rules of a load that began at `began`.
StopMonitorOptions monitor_options(const LoadOptions& options, TimePoint began);

/// Returns the reason for the end of a load that the StopMonitor (loadgen/stop_monitor.h) did not end.
/// `limit`: the limit that ended the starts first; nothing means that the load was interrupted. `at`: when
/// the starts ended. `limits` are those of all classes together; if `limit` is `duration`, their duration
/// must be set.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

struct FoldOptions {
    std::vector<Slo> slos;
    std::map<std::string, std::vector<Slo>> class_slos = {};
    std::vector<std::string> targets = {};  ///< URLs of the servers in results, as WorkerOptions::targets
    ValidityOptions validity = {};
};

/// Sets everything in `result` that follows from the load: its counts, metrics, figures and series, the
/// scopes of classes, turns and targets, window, client, server, power, stop, validity, concurrency, request
/// rate, and the achieved lengths in its workload. All other members, which only the command knows, stay
/// unchanged. `events` are those of the requests in `outcome`. If the load diverged, the percentiles, means,
/// standard deviations, minima and maxima of all metrics are removed, because they would depend on the length
/// of the run, and the verdict is at least a warning.
void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options);

}  // namespace paretoken::loadgen
