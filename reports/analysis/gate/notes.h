#pragma once
// What must be said beside a verdict: what its design leaves open, and conditions that differ.
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The notes, each one sentence or more. `assumed_spread` is GatePolicy::day_spread.
std::vector<std::string> notes_on(const GateInput& input, double assumed_spread);

}  // namespace paretoken::reports
