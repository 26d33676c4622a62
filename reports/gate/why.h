#pragma once
// Explains a verdict: the likely cause of a shift, which is the part of a server on which the metrics depend
// that became worse, and the headline. Pure.
#include <span>
#include <string>

#include "reports/gate/decision.h"

namespace paretoken::reports {

/// The likely cause in one or more sentences; empty if no metric with a known cause became worse.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// The first line of a verdict: which metric is worst or undecided, by how much, and what to do next.
/// `report` is complete except for this line.
std::string headline_of(const GateReport& report);

}  // namespace paretoken::reports
