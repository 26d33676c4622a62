#pragma once
// The runs of a report in the JSON format of InferenceX, a public benchmark: times in seconds, rates per GPU.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// A JSON array of the closed-loop runs that are not invalid; `conc` is the number in flight, and the keys of
/// the deployment come from the run's metadata.
std::string inferencex_report(const ReportModel& model);

}  // namespace paretoken::reports
