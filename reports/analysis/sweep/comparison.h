#pragma once
// Compares two servers under the same loads, from the points of a sweep. The functions are pure.
#include <string>
#include <vector>

#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

/// Compares the finished, valid points of `servers[0]` and `servers[1]` in each cell: throughput, TTFT p50
/// and TPOT p50, repeats averaged. No cells unless `servers` has two names.
SweepComparison comparison_of(const std::vector<SweepPoint>& points, const std::vector<std::string>& servers);

/// Sentences: for each cell and figure which server is better, or where that changes, and the share of
/// drafted tokens that was accepted. `axis` is SweepFile::axis.
std::vector<std::string> sentences_of(const SweepComparison& comparison, const std::string& axis);

}  // namespace paretoken::reports
