#pragma once
// Writes the headline of a gate's report, and the likely cause of a failure from the combination of metrics
// that became worse: a worse ITL with an unchanged TTFT points to the decode step.
#include <span>
#include <string>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The likely cause in one or more sentences. A metric counts as worse if its row failed or its 95 % interval
/// is beyond its limit, and as not worse if its row passed or its interval is within its limit. The text says
/// of TTFT and ITL if they are undecided or not judged. The result is empty if no row failed, or if no cause
/// can be derived.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// The first line of a report: the verdict, the metric that decided it, and what to do next, unless nothing
/// could be compared. Only the verdict and the rows of `report` are used, and the limits in its policy; they
/// must be set.
std::string headline_of(const GateReport& report);

}  // namespace paretoken::reports
