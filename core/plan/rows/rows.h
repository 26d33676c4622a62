#pragma once
// The rows of the list of fields (core/plan/plan_fields.h), by what they are about.
#include <span>

#include "core/plan/plan_fields.h"

namespace paretoken::rows {

std::span<const PlanField> target_rows();    ///< the servers, and how they are started
std::span<const PlanField> pace_rows();      ///< when requests are sent, by whom, and what is read meanwhile
std::span<const PlanField> workload_rows();  ///< what is sent
std::span<const PlanField> result_rows();    ///< what is kept, and the limits that it is held against

}  // namespace paretoken::rows
