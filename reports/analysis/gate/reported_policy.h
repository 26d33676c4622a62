#pragma once
// The policy for runs of which only the summary of another program is known. Their statistics are judged by
// that program's definitions, and named so. The functions are pure.
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_run.h"
#include "reports/analysis/gate/policy.h"

namespace paretoken::reports {

/// Returns the policy as it is if a run has requests. Otherwise each metric is replaced by the statistic of
/// the same name that all summaries have ("reported/ttft_p50_s"), or by the next higher percentile; a metric
/// without one is left out, and a note says so. Failures are kept if all summaries count them.
GatePolicy policy_of_summaries(const GatePolicy& policy, const std::vector<GateRun>& baseline,
                               const std::vector<GateRun>& candidate, std::vector<std::string>& notes);

}  // namespace paretoken::reports
