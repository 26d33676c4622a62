#pragma once
// The likely cause of a shift: the part of a server that the moved metrics point to. Pure.
#include <span>
#include <string>

#include "reports/gate/decision.h"

namespace paretoken::reports {

/// The likely cause in a sentence; empty if nothing moved.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// The first line of a verdict: which metrics moved, by how much, and what to do next. `report` is complete
/// except for this line.
std::string headline_of(const GateReport& report);

}  // namespace paretoken::reports
