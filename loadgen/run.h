#pragma once
// One load: workers make it in parallel, and what was observed is returned. Nothing is printed or concluded.
#include <memory>
#include <optional>
#include <vector>

#include "core/run/load_shape.h"
#include "core/run/observations.h"
#include "loadgen/interruption.h"
#include "loadgen/load_options.h"

namespace paretoken {
class RecordSink;
}

namespace paretoken::loadgen {

struct Share;
struct StopMonitorOptions;
class Worker;

/// The workers of a load, each with its connections.
class Workers {
  public:
    /// Throws RuntimeError when the kernel refuses a worker's event loop (no descriptors are left).
    explicit Workers(const LoadOptions& options);
    ~Workers();

    /// Opens the connections that the load needs at its start, unless the options forbid it: one per slot, or
    /// those of a quarter of a second of an open loop. Blocks until all are open or refused, at most 5 s.
    void open_connections();

  private:
    friend Observations make_load(const LoadOptions& options, Workers& workers, RecordSink& sink,
                                  Progress& progress, const Interruption& interruption);
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<ClassLoad> classes_;
    Shard shard_;
    bool opens_ahead_ = false;
};

/// Makes a load with the workers of these options, which serve only one, until it has ended or `interruption`
/// ends it. Records go to `sink` as requests end. The caller adds server, exporters and power. Throws
/// RuntimeError when the kernel refuses a socket's registration.
Observations make_load(const LoadOptions& options, Workers& workers, RecordSink& sink, Progress& progress,
                       const Interruption& interruption);
/// The same with workers of its own, which open their connections first.
Observations make_load(const LoadOptions& options, RecordSink& sink, Progress& progress,
                       const Interruption& interruption);

StopMonitorOptions monitor_options(const LoadOptions& options, TimePoint began);

/// Returns why a load ended `at` that the StopMonitor did not end: by `limit`, or by an interruption if that
/// is absent. `limits` are those of all classes together; the duration must be set if it was the limit.
Stopped ended_by(std::optional<StopKind> limit, TimePoint at, const Limits& limits);

/// Returns the share of the schedule that a worker of the load takes. The workers of all shards together are
/// those of one load, so that caps and jobs are dealt out to them as to the workers of one process.
Share share_of(const LoadOptions& options, std::uint32_t worker);

/// Returns the shape of a load without its targets, in real time.
LoadShape shape_of(const LoadOptions& options);

}  // namespace paretoken::loadgen
