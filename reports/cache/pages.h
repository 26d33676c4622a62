#pragma once
// An experiment on prefix caching for people: console and Markdown. Pure text.
#include <string>

#include "reports/cache/analysis.h"

namespace paretoken::reports {

/// 80 columns, the verdicts first.
std::string cache_console(const CacheReport& report);

std::string cache_markdown(const CacheReport& report);

}  // namespace paretoken::reports
