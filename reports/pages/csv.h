#pragma once
// The runs of a report as comma-separated values (RFC 4180), with all digits and units in the names.
#include <string>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// Returns a line of names and one for each run; not measured is empty, percentiles among failures are "inf".
/// An apostrophe precedes texts that a spreadsheet would take for a formula.
std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
