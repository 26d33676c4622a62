#pragma once
// A deployment plan for a terminal. The function is pure.
#include <string>

#include "reports/analysis/plan/plan_words.h"

namespace paretoken::reports {

/// One screen: the answer, the best cells, and where the memory of the best one goes.
std::string sizing_console(const DeploymentPlan& plan);

}  // namespace paretoken::reports
