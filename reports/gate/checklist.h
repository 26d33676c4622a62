#pragma once
// What should be known of a server before it is rolled out, and whether the candidate's runs show it. Pure.
#include <span>
#include <string>
#include <vector>

#include "cards/price.h"
#include "reports/gate/decision.h"

namespace paretoken::reports {

/// The items in the order of docs/gate.md, each once. `candidate` holds at least one run; `prices` are the
/// cards that a cost is looked up in.
std::vector<CheckItem> checklist_of(const GateReport& report, std::span<const GateRun> candidate,
                                    std::span<const cards::PriceCard> prices);

}  // namespace paretoken::reports
