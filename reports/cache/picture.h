#pragma once
// An experiment on prefix caching as charts: times to first token by arm and prefix, their fit, and the share
// that was found of each working set and after each idle time. Pure.
#include <string>

#include "reports/cache/analysis.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// An experiment as stored in cache.json.
struct LoadedCache {
    std::string directory;
    CacheReport report;
};

CachePicture picture_of(const LoadedCache& cache);

/// The name of an arm, for `shared` with the share of its prefix that repeats: "shared 50 %".
std::string name_of(const CacheArm& arm);

/// The mean number of prompt tokens of the arm's requests that were not cached; nothing if it is not
/// reported.
std::optional<double> uncached_tokens(const CacheArm& arm);

/// The time to first token that the fit gives for a number of tokens that are not cached.
double seconds_at(const TtftFit& fit, double uncached_tokens);

}  // namespace paretoken::reports
