#pragma once
// The runs of a report as comma-separated values (RFC 4180), with all digits and with units in the column
// names.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// Returns a line of names and one for each run; not measured is empty. Percentiles among failures are "inf"
/// (interactivity_p90_tok_per_s: empty). An apostrophe precedes texts that a spreadsheet would take for a
/// formula.
std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
