#pragma once
// Facts that should be known about a server before a rollout, and whether the candidate's runs show them.
#include <span>
#include <vector>

#include "cards/price.h"
#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The items in the order of docs/gate.md. `candidate` has at least one run; `prices` are for the cost.
std::vector<CheckItem> checklist_of(const GateReport& report, std::span<const GateRun> candidate,
                                    std::span<const cards::PriceCard> prices);

}  // namespace paretoken::reports
