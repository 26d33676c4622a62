#pragma once
// Evaluates earlier baselines: how much a metric varies from day to day, and whether it has become worse.
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"
#include "reports/analysis/gate/same_work.h"

namespace paretoken::reports {

struct GateHistory {
    std::map<std::string, DaySpread> day_spread;  ///< metric → spread, for 3 sessions or more
    std::vector<std::string> trends;  ///< a sentence for each metric that has become significantly worse
};

/// The history of runs of one workload, in any order. A trend has a p-value (Mann and Kendall over time) of
/// at most 1 %, a change above the policy's tolerance, and at least 6 runs.
GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs);

/// The verdict of decided() on two sets, with the spread between sessions and the trends of baseline and
/// `earlier` runs, of which unusable ones and the input's own are left out with a note.
GateReport decided_with_history(const GatePolicy& policy, GateInput input, std::vector<GateRun> earlier,
                                const std::set<Across>& across);

}  // namespace paretoken::reports
