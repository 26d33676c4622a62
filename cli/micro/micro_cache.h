#pragma once
// Keeps the newest result of `paretoken micro` in the user's cache folder. `paretoken report` uses it if no
// other is given: $XDG_CACHE_HOME/paretoken/micro.json, or ~/.cache/paretoken/micro.json.
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/micro/micro_results.h"

namespace paretoken::cli {

/// Keeps `json` in place of the earlier result of `paretoken micro`. Returns its path, or nothing on failure.
std::optional<std::string> keep_micro(const std::string& json);

struct KeptMicro {
    std::vector<reports::MicroResults> results = {};  ///< results for the devices of this machine
    std::string note = {};  ///< when the result was measured, or why it is not used; empty: there is none
};
/// Reads the kept result. `results` has those that were measured on the devices of this machine; `note` says
/// that they are used, or why there are none. Both are empty if nothing was kept. Nothing is thrown.
KeptMicro kept_micro();

}  // namespace paretoken::cli
