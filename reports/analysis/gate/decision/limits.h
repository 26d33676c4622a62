#pragma once
// Absolute limits on the candidate.
#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The row of a limit: met if every run of the candidate certifies it, missed if one run shows that.
GateRow row_of_limit(const GateLimit& limit, const GateInput& input);

}  // namespace paretoken::reports
