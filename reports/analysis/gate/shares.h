#pragma once
// The counts from which a gate compares shares of requests, answers or questions. The functions are pure.
#include <span>

#include "core/evidence/sequential.h"
#include "reports/analysis/gate/gate_run.h"
#include "reports/analysis/gate/policy.h"

namespace paretoken::reports {

/// The counts of a share over the runs of one side: for "failures" the requests that failed, for
/// "finish_reasons" the answers that ended by themselves, for "quality" the right answers, and for answers
/// with a fault the number of these. There are no counts if the quantity is no share (is_share()).
Failures counted(std::span<const GateRun> runs, const GateQuantity& quantity);

/// The run whose answers to questions represent a side, which is the first run that was asked any. Null if
/// there is none. The result points into `runs`.
const GateRun* probed(std::span<const GateRun> runs);

}  // namespace paretoken::reports
