#pragma once
// An experiment on prefix caching as charts: times of each arm, their fit, and the shares that were found
// again for each working set and idle time.
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/cache/analysis.h"
#include "reports/document/picture.h"

namespace paretoken::reports {

struct LoadedCache {
    std::string directory;
    CacheReport report;
};

struct CachePicture {
    std::string directory;
    CacheReport report;
    std::vector<std::vector<Picture>> levels;  ///< charts of each level of the report
    std::vector<Picture> pictures = {};        ///< charts of the cache as a whole

    bool operator==(const CachePicture&) const = default;
};

CachePicture picture_of(const LoadedCache& cache);

/// The name of an arm, for `shared` with the share of its prefix that repeats: "shared 50 %".
std::string name_of(const CacheArm& arm);

/// The mean prompt tokens of the arm's requests that did not come from the cache; if that is not reported,
/// all of them for "cold" and nothing for others. Nothing if no request succeeded.
std::optional<double> uncached_tokens(const CacheArm& arm);

/// The time to first token that the fit gives for a number of tokens that are not cached.
double seconds_at(const TtftFit& fit, double uncached_tokens);

}  // namespace paretoken::reports
