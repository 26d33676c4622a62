#pragma once
// What a server said of itself during a run, as rows of text that the console and the page show alike.
#include <string>
#include <vector>

#include "core/result.h"

namespace paretoken::reports {

struct ServerRow {
    std::string title;  ///< "Prefix cache hits"
    std::string text;   ///< "40 %"
};

/// Of the window; quantities that were not told are left out.
std::vector<ServerRow> server_rows(const ServerFigures& server);

}  // namespace paretoken::reports
