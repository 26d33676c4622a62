#pragma once
// The runs of a report as comma-separated values (RFC 4180), with all digits and with units in the column
// names.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// Returns a line of column names, then one line for each run. A value that was not measured is empty. Failed
/// requests count as infinitely slow: a percentile of TTFT, ITL or end-to-end latency that falls among them
/// is "inf", and interactivity_p90_tok_per_s is empty if its own percentile does. An apostrophe precedes a
/// text that a spreadsheet would take for a formula.
std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
