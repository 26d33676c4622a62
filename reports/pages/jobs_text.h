#pragma once
// The results of jobs as one line of text, for terminals.
#include <string>

#include "core/result/result.h"

namespace paretoken::reports {

/// "40 ok, 2 failed · p50 12.3 s, p95 40.2 s · 71 % outside tools · 120 jobs/h".
std::string jobs_text(const JobResults& jobs);

/// "E2E-normalized p90 61.2 tok/s (InferenceX) · E2E 83.4 tok/s (MLPerf)"; empty if neither is known.
std::string interactivity_text(const JobResults& jobs);

}  // namespace paretoken::reports
