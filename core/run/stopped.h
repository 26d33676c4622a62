#pragma once
// Why a load came to its end.
#include <string>

#include "core/units.h"

namespace paretoken {

struct Stopped {
    std::string rule;  ///< name of a stop rule, or "interrupted"
    TimePoint at;
    std::string text;  ///< reason in one sentence

    bool operator==(const Stopped&) const = default;
};

}  // namespace paretoken
