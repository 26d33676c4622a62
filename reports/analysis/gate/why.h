#pragma once
// Writes the headline of a gate's report, and the likely cause of a failure from the combination of metrics
// that became worse: a worse ITL with an unchanged TTFT points to the decode step.
#include <span>
#include <string>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The likely cause in sentences. Worse means failed, or an interval beyond the limit; not worse means
/// passed, or an interval within it. Empty if no row failed, or no cause can be derived.
std::string why_of(std::span<const GateRow> rows, const GateInput& input);

/// The first line of a report: the verdict, the metrics that decided it, what became better, and what to do
/// next. Everything but `headline` and the fields that a caller sets later (names, checklist) must be set.
std::string headline_of(const GateReport& report);

}  // namespace paretoken::reports
