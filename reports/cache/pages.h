#pragma once
// The results of an experiment on prefix caching as text: for the console, as Markdown and as a section of an
// HTML report. Pure.
#include <string>
#include <vector>

#include "reports/cache/analysis.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The results for a terminal with 80 columns, the verdicts first.
std::string cache_console(const CacheReport& report);

/// The results as Markdown. `depth` is the level of the first heading.
std::string cache_markdown(const CacheReport& report, int depth = 1);

/// One HTML section for each experiment. `alone` must be true if the page shows no runs of a load. The
/// heading of the first table of arms then gets the id "numbers", to which the page's link "Skip to every
/// number" leads.
std::string cache_sections(const std::vector<CachePicture>& caches, bool alone);

}  // namespace paretoken::reports
