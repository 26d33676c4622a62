#pragma once
// The newest result of `paretoken micro` in the user's cache folder, which `paretoken report` uses where it
// is given none: $XDG_CACHE_HOME/paretoken/micro.json, or ~/.cache/paretoken/micro.json.
#include <optional>
#include <string>
#include <vector>

#include "reports/micro/micro_results.h"

namespace paretoken::cli {

/// Replaces what was kept before. Returns where it is; nothing when there is no cache folder or it cannot be
/// written: a result is never lost by that, as it also stands where the user asked for it.
std::optional<std::string> keep_micro(const std::string& json);

struct KeptMicro {
    std::vector<reports::MicroResults> results;  ///< of this machine's own devices
    std::string note;  ///< that it was used and when it was measured, or why not; empty: there is none
};
KeptMicro kept_micro();

}  // namespace paretoken::cli
