#pragma once
// What must be said beside the verdict of a gate: what its design leaves open, and conditions that differ
// between the sides. The function is pure.
#include <string>
#include <vector>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The notes, each one sentence or more. `assumed_spread` is GatePolicy::day_spread.
std::vector<std::string> notes_on(const GateInput& input, double assumed_spread);

}  // namespace paretoken::reports
