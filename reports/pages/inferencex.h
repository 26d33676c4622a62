#pragma once
// The rows of a report as InferenceX keeps them: one object per run, seconds, rates per GPU.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A JSON array with a row for each valid run of a closed loop, which alone have a `conc`. `tp`, `pp`, `ep`,
/// `dp_attention`, `disagg`, `precision` and `framework` are those of the run's metadata; without these, `tp`
/// is the number of GPUs and the others are 1, false, the weights' number format and the engine.
std::string inferencex_report(const ReportModel& model);

}  // namespace paretoken::reports
