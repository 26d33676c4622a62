#pragma once
// Keeps the newest result of `paretoken micro` in the user's cache folder. `paretoken report` uses it if no
// other is given: $XDG_CACHE_HOME/paretoken/micro.json, or ~/.cache/paretoken/micro.json.
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/micro/micro_results.h"

namespace paretoken::cli {

/// Keeps `json`, a result of `paretoken micro`, in place of the one that was kept before, and returns the
/// path of the kept file. Returns nothing if there is no cache folder or it cannot be written. The result is
/// not lost then, because it is also in the file that the user named.
std::optional<std::string> keep_micro(const std::string& json);

struct KeptMicro {
    std::vector<reports::MicroResults> results;  ///< results for the devices of this machine
    std::string
        note;  ///< says when the result was measured, or why it is not used; empty means that there is none
};
/// Reads the kept result. `results` has only those results that were measured on the devices of this
/// machine, and `note` says that they are used. If there are none, or the file is damaged, `results` is
/// empty and `note` says why. If no result was kept, both are empty. Nothing is thrown.
KeptMicro kept_micro();

}  // namespace paretoken::cli
