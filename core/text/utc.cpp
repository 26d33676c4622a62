#include "core/text/utc.h"

#include <fmt/chrono.h>

namespace paretoken {

std::string utc_text(std::time_t time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

}  // namespace paretoken
