#pragma once
// cache.json ("paretoken/cache/1"): what an experiment on prefix caching found. Pure.
#include <string>
#include <string_view>

#include "reports/cache/analysis.h"

namespace paretoken::reports {

inline constexpr std::string_view kCacheSchema = "paretoken/cache/1";
inline constexpr std::string_view kCacheFileName = "cache.json";

std::string cache_json(const CacheReport& report);

}  // namespace paretoken::reports
