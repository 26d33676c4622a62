#pragma once
// One load: workers make it in parallel, and what was observed is returned. Nothing is printed or concluded.
#include <optional>
#include <vector>

#include "core/record/record_sink.h"
#include "core/run/recorded.h"
#include "loadgen/interruption.h"
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
/// ended by `interruption`. The record of each request goes to `sink` as soon as the request has ended. The
/// returned value has no server, exporters and power, which the caller adds.
/// Throws RuntimeError when the kernel refuses the event loop of a worker, for example because no file
/// descriptors are left, or the registration of a socket with it.
Observations make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                       const Interruption& interruption);

/// Returns the options of the monitor that evaluates the stop rules of a load that began at `began`.
StopMonitorOptions monitor_options(const LoadOptions& options, TimePoint began);

/// Returns the reason for the end of a load that the StopMonitor (loadgen/stop_monitor.h) did not end.
/// `limit`: the limit that ended the starts first; nothing means that the load was interrupted. `at`: when
/// the starts ended. `limits` are those of all classes together; if `limit` is `duration`, their duration
/// must be set.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

/// Returns the shape of a load without its targets, in real time.
LoadShape shape_of(const LoadOptions& options);

}  // namespace paretoken::loadgen
