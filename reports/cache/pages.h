#pragma once
// An experiment on prefix caching for people: console, Markdown and the part of a report. Pure text.
#include <string>
#include <vector>

#include "reports/cache/analysis.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// 80 columns, the verdicts first.
std::string cache_console(const CacheReport& report);

/// `depth`: of its heading.
std::string cache_markdown(const CacheReport& report, int depth = 1);

/// A section per experiment. `alone`: the page holds nothing else, so that its numbers are these.
std::string cache_sections(const std::vector<CachePicture>& caches, bool alone);

}  // namespace paretoken::reports
