#pragma once
// Two servers under the same loads: where one is better and where the other, from the points of a sweep.
// Pure.
#include <string>
#include <vector>

#include "reports/files/sweep_file.h"

namespace paretoken::reports {

/// Holds the finished, valid points of `servers[0]` against those of `servers[1]`, cell by cell: throughput,
/// TTFT p50 and TPOT p50. Repeats count by their mean. Values within 1 % of each other are equal, and with
/// repeats on both sides those whose difference lies within its 95 % interval (Student's t).
SweepComparison comparison_of(const std::vector<SweepPoint>& points, const std::vector<std::string>& servers);

/// Sentences for people, one per line: for each cell and figure which server is better and where they cross,
/// and the share of drafted tokens that was accepted.
std::vector<std::string> sentences_of(const SweepComparison& comparison, const std::string& axis);

}  // namespace paretoken::reports
