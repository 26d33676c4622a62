#pragma once
// What a gate learns from earlier baselines: how much a metric varies from day to day, and whether it has
// become worse over time. Pure.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reports/gate/decision.h"

namespace paretoken::reports {

struct GateHistory {
    std::map<std::string, DaySpread> day_spread;  ///< metric → spread, for metrics with 3 days or more
    std::vector<std::string> trends;  ///< one sentence for each metric that has become worse significantly
};

/// The history of runs of one workload, in any order. A trend is named if its p-value is below 1 % and it is
/// larger than the metric's tolerance.
GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs);

}  // namespace paretoken::reports
