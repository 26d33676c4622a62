#pragma once
// The points of a report as comma-separated values (RFC 4180), with all digits and with units in the keys.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
