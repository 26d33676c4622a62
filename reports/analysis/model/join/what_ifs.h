#pragma once
// Estimates for another deployment of a measured configuration.
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/joined.h"
#include "reports/analysis/model/what_if.h"

namespace paretoken::reports {

WhatIf what_if_of(const Joined& from, std::size_t index, const WhatIfSpec& spec, const JoinOptions& options);

}  // namespace paretoken::reports
