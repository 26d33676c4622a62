#pragma once
// The results of an experiment on prefix caching in sentences and tables, for console and pages.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/cache/analysis.h"
#include "reports/document/table.h"

namespace paretoken::reports {

/// The caption of cache_table(), which explains its columns.
inline constexpr std::string_view kCacheCaption =
    "Times to first token; prompt tokens that should come from the cache, and did, in %. The beginning of a "
    "prompt was never sent before (cold), once directly before (primed), or in every round (warm). "
    "Dynamic-first prompts have the tokens of warm ones, with the part that changes first.";

/// A share with its unit: "62.0 %", or "unknown".
std::string percent_or_unknown(const std::optional<double>& ratio);

/// "4 requests in flight"
std::string heading_of(const CacheLevel& level);

/// A sentence that says why the times of a level cannot be used. The level must be invalid.
std::string invalid_sentence(const CacheLevel& level);

/// One row per arm of a level: requests, times to first token, expected and reported hits.
Table cache_table(const CacheLevel& level);

/// The median of each arm beside the value that the fit gives for it. The level must have a fit.
Table fit_table(const CacheLevel& level);

/// The findings of a level, one sentence for each.
std::vector<std::string> findings_of(const CacheLevel& level);

std::vector<std::string> findings_of(const CacheReport& report);

/// The results for a terminal with 80 columns, the verdicts last. Without `verbose` there are only the
/// verdicts and the findings about the cache as a whole.
std::string cache_console(const CacheReport& report, bool verbose = true);

}  // namespace paretoken::reports
