#pragma once
// The results of a load as a plain value: the records of its requests, the reports of its workers, and the
// readings of the server's metrics and of power meters.
#include <optional>
#include <vector>

#include "core/record/request_table.h"
#include "loadgen/power/energy.h"
#include "loadgen/scrape/server_metrics.h"
#include "loadgen/stop_monitor.h"
#include "loadgen/worker.h"

namespace paretoken::loadgen {

/// The results of all workers. make_load() (loadgen/run.h) and make_virtual_load() (loadgen/virtual.h)
/// leave `server`, `exporters` and `power` empty; their caller sets them.
struct LoadOutcome {
    RequestTable records;
    std::vector<WorkerReport> workers;                  ///< reports, whose records were moved into `records`
    scrape::ServerScrapes server;                       ///< empty unless the server was scraped
    std::vector<scrape::ServerScrapes> exporters = {};  ///< kept series of other exporters
    power::PowerReadings power;                         ///< empty unless there was a meter
    TimePoint began;
    /// The time since which free slots were no longer filled: the earliest of all dispatchers
    /// (Dispatcher::ran_dry(), loadgen/dispatch.h). Absent if no dispatcher has one.
    std::optional<TimePoint> ran_dry;
    double host_lost_share = 0;      ///< share of the time in which the host was frozen (host_meter.h)
    std::optional<Stopped> stopped;  ///< reason why nothing more was started
    bool interrupted = false;        ///< whether an Interruption was requested
};

}  // namespace paretoken::loadgen
