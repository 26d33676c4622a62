#pragma once
// One load: workers make it in parallel, and what was observed is returned. Nothing is printed or concluded.
#include <memory>
#include <optional>
#include <vector>

#include "core/run/load_shape.h"
#include "core/run/observations.h"
#include "loadgen/interruption.h"
#include "loadgen/load/schedule.h"
#include "loadgen/load_options.h"

namespace paretoken {
class RecordSink;
}

namespace paretoken::loadgen {

struct StopMonitorOptions;
class Worker;

/// The workers of a load, each with its connections.
class Workers {
  public:
    /// Throws RuntimeError when the kernel refuses the event loop of a worker, for example because no file
    /// descriptors are left.
    explicit Workers(const LoadOptions& options);
    ~Workers();

    /// Opens the connections that the load needs at its start, unless the options say otherwise, so that
    /// opening them does not delay requests and reads. A closed loop needs one for each slot, an open loop
    /// those of a quarter of a second. Blocks until all are open or were refused, at most 5 s.
    void open_connections();

  private:
    friend Observations make_load(const LoadOptions& options, Workers& workers, RecordSink& sink,
                                  Progress& progress, const Interruption& interruption);
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<ClassLoad> classes_;
    Shard shard_;
    bool opens_ahead_ = false;
};

/// Makes a load. Blocks until a limit or a stop rule is met and all requests have ended, or until the load is
/// ended by `interruption`. The record of each request goes to `sink` as soon as the request has ended. The
/// returned value has no server, exporters and power, which the caller adds.
/// Throws RuntimeError when the kernel refuses the registration of a socket with a worker's event loop.
/// `workers` are those of these options, and make only one load.
Observations make_load(const LoadOptions& options, Workers& workers, RecordSink& sink, Progress& progress,
                       const Interruption& interruption);
/// The same with workers of its own, which open their connections first.
Observations make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                       const Interruption& interruption);

/// Returns the options of the monitor that evaluates the stop rules of a load that began at `began`.
StopMonitorOptions monitor_options(const LoadOptions& options, TimePoint began);

/// Returns the reason for the end of a load that the StopMonitor (loadgen/load/stop_monitor.h) did not end.
/// `limit`: the limit that ended the starts first; nothing means that the load was interrupted. `at`: when
/// the starts ended. `limits` are those of all classes together; if `limit` is `duration`, their duration
/// must be set.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

/// Returns the share of the schedule that a worker of the load takes. The workers of all shards together are
/// those of one load, so that caps and jobs are dealt out to them as to the workers of one process.
Share share_of(const LoadOptions& options, std::uint32_t worker);

/// Returns the shape of a load without its targets, in real time.
LoadShape shape_of(const LoadOptions& options);

}  // namespace paretoken::loadgen
