#pragma once
// When a run stops starting requests. Whichever limit comes first ends it; what is in flight is followed to
// its end.
#include <cstdint>
#include <optional>

#include "core/units.h"

namespace paretoken::loadgen {

struct Limits {
    std::uint64_t warmups = 0;  ///< requests before the first measured one; they hand over without a pause
    std::optional<std::uint64_t> requests = {};  ///< measured ones
    std::optional<Duration> duration = {};       ///< from the first measured request's start
};

}  // namespace paretoken::loadgen
