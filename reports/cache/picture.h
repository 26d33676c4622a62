#pragma once
// An experiment on prefix caching as charts: times to first token by arm and prefix, what the fit says of
// them, and what was found of each working set and after each idle time. Pure.
#include <string>

#include "reports/cache/analysis.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// An experiment as cache.json holds it.
struct LoadedCache {
    std::string directory;
    CacheReport report;
};

CachePicture picture_of(const LoadedCache& cache);

/// "shared 50 %": the arm and, where it has one, the share of its prefix that repeats.
std::string name_of(const CacheArm& arm);

/// Prompt tokens of the arm's requests that were not cached, on average; nothing where nobody tells.
std::optional<double> uncached_tokens(const CacheArm& arm);

/// The time to first token that the fit gives for so many tokens that are not cached.
double seconds_at(const TtftFit& fit, double uncached_tokens);

}  // namespace paretoken::reports
