#pragma once
// All values of a plan as texts, to send it to another process that was started with the same options.
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken {

/// Returns all fields' texts for each class, with those of the whole plan in the first. Secrets are hidden.
std::vector<PlanTexts> values_of(const LoadPlan& plan);

/// Returns the plan with these values. Fields whose secrets are hidden take their values from `own`, the plan
/// of the receiving process. Throws UsageError naming the option if the receiver's value is another one.
LoadPlan plan_with(const std::vector<PlanTexts>& values, const LoadPlan& own);

}  // namespace paretoken
