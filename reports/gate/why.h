#pragma once
// Which part of a server the moved metrics point to. Pure.
#include <span>
#include <string>

#include "reports/gate/decision.h"

namespace paretoken::reports {

/// A sentence; empty where nothing moved.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// The first line of a verdict: what moved, by how much, and what to do next. `report` has all but this.
std::string headline_of(const GateReport& report);

}  // namespace paretoken::reports
