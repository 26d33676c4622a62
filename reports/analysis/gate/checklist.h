#pragma once
// A list of facts that should be known about a server before a rollout, and whether the candidate's runs show
// them. The functions are pure.
#include <span>
#include <string>
#include <vector>

#include "cards/price.h"
#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The items in the order of docs/gate.md. `candidate` holds at least one run; `prices` are the cards from
/// which a cost is computed.
std::vector<CheckItem> checklist_of(const GateReport& report, std::span<const GateRun> candidate,
                                    std::span<const cards::PriceCard> prices);

}  // namespace paretoken::reports
