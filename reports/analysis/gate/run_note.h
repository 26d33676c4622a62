#pragma once
// The runs of a gate with the values of the metrics that were judged. The function is pure.
#include <span>
#include <vector>

#include "reports/analysis/gate/decision.h"

namespace paretoken::reports {

/// The runs of both sides; those of the baseline come first. `rows` are those of the policy's metrics. A
/// value that was not measured is left out.
std::vector<GateRunNote> run_notes_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                                      std::span<const GateRow> rows);

}  // namespace paretoken::reports
