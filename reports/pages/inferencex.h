#pragma once
// The runs of a report in the JSON format of InferenceX, a public benchmark of LLM inference: one object per
// run, times in seconds, rates per GPU.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// A JSON array with an object for each closed-loop run that is not invalid and has a number of requests in
/// flight, which is the value of the key `conc`. The keys that describe the deployment come from the run's
/// metadata.
std::string inferencex_report(const ReportModel& model);

}  // namespace paretoken::reports
