#pragma once
// Users who hang up: how many of them, and how long they wait.
#include <string_view>

#include "core/plan/random_duration.h"

namespace paretoken {

struct HangUp {
    double share = 0;      ///< of the requests
    RandomDuration after;  ///< from the start of the request

    bool operator==(const HangUp&) const = default;
};

/// "p=.05,after=2s", "p=.05,after=uniform:min=1s;max=3s". Throws UsageError naming what was expected.
HangUp parse_hang_up(std::string_view text);

}  // namespace paretoken
