#pragma once
// Writes times in UTC, as files hold them.
#include <ctime>
#include <optional>
#include <string>

namespace paretoken {

/// Returns a Unix time as "2026-11-21T09:38:00Z".
std::string utc_text(std::time_t time);

/// Returns the Unix time of "2026-11-21T09:38:00Z"; nothing if the text has another form.
std::optional<std::time_t> epoch_of_utc(const std::string& text);

/// Returns the Unix time of an HTTP date, "Sun, 06 Nov 1994 08:49:37 GMT"; nothing for another form.
std::optional<std::time_t> epoch_of_http_date(const std::string& text);

}  // namespace paretoken
