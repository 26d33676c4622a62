#pragma once
// The runs of a report as comma-separated values (RFC 4180), with all digits and with units in the column
// names.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// Returns a line of column names, then one line for each run. A value that was not measured is empty. A
/// percentile of a latency (TTFT, ITL or E2E) that falls among failed requests is "inf". The column
/// interactivity_p90_tok_per_s is empty in that case. An apostrophe precedes a text that a spreadsheet would
/// take for a formula.
std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
