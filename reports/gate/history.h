#pragma once
// What earlier baselines tell a gate: how much a metric differs from day to day, and whether it has been
// creeping. Pure.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reports/gate/decision.h"

namespace paretoken::reports {

struct GateHistory {
    std::map<std::string, DaySpread> day_spread;  ///< by metric, where there are 3 days or more
    std::vector<std::string> trends;  ///< a sentence per metric that has become worse beyond chance
};

/// Of runs of one workload, in any order. A trend is named when its chance is below 1 % and it is worth more
/// than the metric's tolerance.
GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs);

}  // namespace paretoken::reports
