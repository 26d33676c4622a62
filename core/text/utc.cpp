#include "core/text/utc.h"

#include <fmt/chrono.h>

namespace paretoken {

std::string utc_text(std::time_t time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

std::optional<std::time_t> epoch_of_utc(const std::string& text) {
    std::tm parts{};
    const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return timegm(&parts);
}

}  // namespace paretoken
