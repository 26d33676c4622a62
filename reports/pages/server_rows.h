#pragma once
// The server's own metrics, the power and the alerts of a run as texts for the console and the page.
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

struct ServerRow {
    std::string title;  ///< "Prefix cache hits"
    std::string text;   ///< "40 %"
};

/// The power figures of the run's measured window. Quantities that could not be read are left out; the last
/// row is PowerFigures::note, if there is one.
std::vector<ServerRow> power_rows(const PowerFigures& power);

/// The alerts of a run that fired or were pending.
std::vector<std::string> alert_texts(const RunResult& run);

/// The server's figures of the run's measured window; quantities that it did not report are left out.
std::vector<ServerRow> server_rows(const ServerFigures& server);

}  // namespace paretoken::reports
