#pragma once
// Compares two servers under the same loads, from the points of a sweep: at which loads each of them is
// better. Pure.
#include <string>
#include <vector>

#include "reports/sweep/sweep.h"

namespace paretoken::reports {

/// Compares the finished, valid points of `servers[0]` with those of `servers[1]`, cell by cell: throughput,
/// TTFT p50 and TPOT p50. Repeats are averaged. Two values count as equal if they differ by at most 1 %, or
/// if there are repeats on both sides and the 95 % interval of the difference (Student's t) contains 0.
SweepComparison comparison_of(const std::vector<SweepPoint>& points, const std::vector<std::string>& servers);

/// Sentences for people, one per line: for each cell and figure, which server is better and at which load
/// they cross, and the share of drafted tokens that was accepted.
std::vector<std::string> sentences_of(const SweepComparison& comparison, const std::string& axis);

}  // namespace paretoken::reports
