#pragma once
// Computes the results of the jobs of agents in a run (JobResults in core/result/result.h). Jobs, not
// requests, are the independent unit of these statistics.
#include <optional>

#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/units.h"

namespace paretoken {

/// Returns the results of a run's jobs; nothing if no measured request belongs to a job.
std::optional<JobResults> job_results_of(const RequestTable& requests, TimeSpan window);

}  // namespace paretoken
