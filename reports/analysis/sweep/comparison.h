#pragma once
// Compares two servers under the same loads, from the points of a sweep: at which loads each of them is
// better. The functions are pure.
#include <string>
#include <vector>

#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

/// Compares the points of `servers[0]` with those of `servers[1]` that are finished and not invalid:
/// throughput, TTFT p50 and TPOT p50, for each cell (combination of the options that the sweep varies).
/// Repeats are averaged. There are no cells in the result unless `servers` has two names.
SweepComparison comparison_of(const std::vector<SweepPoint>& points, const std::vector<std::string>& servers);

/// Sentences for people, one per element. For each cell and figure, a sentence says which server is better,
/// or at which loads the better server changes. Another one says which share of the drafted tokens was
/// accepted. `axis` is SweepFile::axis.
std::vector<std::string> sentences_of(const SweepComparison& comparison, const std::string& axis);

}  // namespace paretoken::reports
