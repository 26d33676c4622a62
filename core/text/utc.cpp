#include "core/text/utc.h"

#include <fmt/chrono.h>

namespace paretoken {

std::string utc_text(std::time_t time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

namespace {

std::optional<std::time_t> epoch_in(const std::string& text, const char* form) {
    std::tm parts{};
    const char* const end = strptime(text.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return timegm(&parts);
}

}  // namespace

std::optional<std::time_t> epoch_of_utc(const std::string& text) {
    return epoch_in(text, "%Y-%m-%dT%H:%M:%SZ");
}

std::optional<std::time_t> epoch_of_http_date(const std::string& text) {
    return epoch_in(text, "%a, %d %b %Y %H:%M:%S GMT");
}

}  // namespace paretoken
