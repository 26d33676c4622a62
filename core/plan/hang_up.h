#pragma once
// Simulated users who close the connection before the answer is complete: their share, and their patience.
#include <string_view>

#include "core/plan/random_duration.h"

namespace paretoken {

struct HangUp {
    double share = 0;      ///< share of the requests on which users hang up, above 0 and at most 1
    RandomDuration after;  ///< time from RequestRecord::started until the user hangs up

    bool operator==(const HangUp&) const = default;
};

/// Reads "p=.05,after=2s", "p=.05,after=uniform:min=1s;max=3s". Throws UsageError naming what was expected.
HangUp parse_hang_up(std::string_view text);

}  // namespace paretoken
