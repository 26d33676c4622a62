#pragma once
// What a load and the meters beside it observed.
#include <optional>
#include <vector>

#include "core/record/power_reading.h"
#include "core/record/request_table.h"
#include "core/record/server_scrape.h"
#include "core/run/client_report.h"
#include "core/run/stopped.h"
#include "core/units.h"

namespace paretoken {

struct Observations {
    TimePoint began;  ///< zero of the schedule; the other times are on the same clock
    RequestTable records = {};
    ClientReport client = {};
    ServerScrapes server = {};                  ///< empty unless the server was scraped
    std::vector<ServerScrapes> exporters = {};  ///< kept series of other exporters
    PowerReadings power = {};                   ///< empty unless there was a meter
    /// Since when free slots were no longer filled: the earliest of all dispatchers that have one.
    std::optional<TimePoint> ran_dry = {};
    std::optional<Stopped> stopped = {};  ///< reason why nothing more was started
    bool interrupted = false;             ///< whether the user ended the run
};

}  // namespace paretoken
