#pragma once
// Evaluates earlier baselines: how much a metric varies from day to day, and whether it has become worse.
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

struct GateHistory {
    std::map<std::string, DaySpread> day_spread;  ///< metric → spread, for 3 sessions or more
    std::vector<std::string> trends;  ///< a sentence for each metric that has become significantly worse
};

/// The history of runs of one workload, in any order. A metric has a trend if the p-value of the trend (Mann
/// and Kendall's test over the runs by time) is at most 1 % and the change is larger than the tolerance in
/// the policy. Fewer than 6 runs never have a trend.
GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs);

/// The verdict of decided() on two sets, with the spread between sessions and the trends of the baseline and
/// of `earlier` baselines. Runs of `earlier` that are among the input's, invalid or did other work are left
/// out with a note.
GateReport decided_with_history(const GatePolicy& policy, GateInput input, std::vector<GateRun> earlier,
                                const std::set<Across>& across);

}  // namespace paretoken::reports
