#pragma once
// plan.json ("paretoken/plan/1"), the file of `paretoken plan`. It is written and never read.
#include <string>
#include <string_view>

#include "reports/analysis/plan/plan.h"

namespace paretoken::reports {

inline constexpr std::string_view kSizingSchema = "paretoken/plan/1";
inline constexpr std::string_view kSizingFileName = "plan.json";

std::string sizing_json(const DeploymentPlan& plan);

}  // namespace paretoken::reports
