#pragma once
// The rows of a report in the format of InferenceX: one object per run, times in seconds, rates per GPU.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A JSON array with a row for each valid closed-loop run, because only such a run has a `conc`. `tp`, `pp`,
/// `ep`, `dp_attention`, `disagg`, `precision` and `framework` come from the run's metadata. Where the
/// metadata lack them, `tp` is the number of GPUs and the others are 1, false, the weights' number format and
/// the engine.
std::string inferencex_report(const ReportModel& model);

}  // namespace paretoken::reports
