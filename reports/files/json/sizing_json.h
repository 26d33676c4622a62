#pragma once
// plan.json ("paretoken/plan/1") of `paretoken plan`, and the output of `paretoken cost --json`; never read.
#include <string>
#include <string_view>

#include "reports/analysis/cost/questions.h"
#include "reports/analysis/plan/plan.h"

namespace paretoken::reports {

inline constexpr std::string_view kSizingSchema = "paretoken/plan/1";
inline constexpr std::string_view kSizingFileName = "plan.json";

std::string sizing_json(const DeploymentPlan& plan);
std::string cost_answer_json(const CostAnswer& answer);

}  // namespace paretoken::reports
