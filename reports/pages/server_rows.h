#pragma once
// What a server said of itself during a run, as rows of text that the console and the page show alike.
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

struct ServerRow {
    std::string title;  ///< "Prefix cache hits"
    std::string text;   ///< "40 %"
};

/// Of the window; quantities that could not be read are left out.
std::vector<ServerRow> power_rows(const PowerFigures& power);

/// The alerts of a run that fired, or were about to.
std::vector<std::string> alert_texts(const RunResult& run);

/// Of the window; quantities that were not told are left out.
std::vector<ServerRow> server_rows(const ServerFigures& server);

}  // namespace paretoken::reports
