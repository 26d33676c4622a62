#pragma once
// Converts sweep.json to text and back, as run_json.h does for runs.
#include <string>
#include <string_view>

#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports {

inline constexpr std::string_view kSweepSchema = "paretoken/sweep/1";

std::string sweep_json(const SweepFile& sweep);
SweepFile parse_sweep_json(std::string_view text, const std::string& where);

}  // namespace paretoken::reports
