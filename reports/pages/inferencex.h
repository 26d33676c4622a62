#pragma once
// The runs of a report in the JSON format of InferenceX, a public benchmark of LLM inference: one object per
// run, times in seconds, rates per GPU.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// A JSON array with an object for each closed-loop run that is not invalid and has a number of requests in
/// flight, which is the value of the key `conc`. Open-loop runs are left out because they have none. The
/// keys `tp`, `pp`, `ep`, `dp_attention`, `disagg`, `spec_decoding`, `precision` and `framework` come from
/// the run's metadata. Where the metadata lack them, `tp` is the number of GPUs, `pp` and `ep` are 1,
/// `dp_attention` and `disagg` are false, `spec_decoding` is "none" (or "draft" for a simulated server with
/// draft tokens), `precision` is the number format of the weights, and `framework` is the name of the
/// engine.
std::string inferencex_report(const ReportModel& model);

}  // namespace paretoken::reports
