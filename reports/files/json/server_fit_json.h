#pragma once
// prediction.json ("paretoken/prediction/1"), the file of `paretoken plan --from`; never read.
#include <string>
#include <string_view>

#include "reports/analysis/plan/server_fit.h"

namespace paretoken::reports {

inline constexpr std::string_view kPredictionSchema = "paretoken/prediction/1";
inline constexpr std::string_view kPredictionFileName = "prediction.json";

std::string server_fit_json(const ServerFit& fit);

}  // namespace paretoken::reports
