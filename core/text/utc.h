#pragma once
// Writes times in UTC, as files hold them.
#include <ctime>
#include <string>

namespace paretoken {

/// Returns a Unix time as "2026-11-21T09:38:00Z".
std::string utc_text(std::time_t time);

}  // namespace paretoken
