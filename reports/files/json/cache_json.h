#pragma once
// Converts cache.json to text and back, as run_json.h does for runs.
#include <string>
#include <string_view>

#include "reports/analysis/cache/analysis.h"

namespace paretoken::reports {

inline constexpr std::string_view kCacheSchema = "paretoken/cache/1";

std::string cache_json(const CacheReport& report);
CacheReport parse_cache_json(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
