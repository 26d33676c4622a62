#pragma once
// The points of a report as comma-separated values (RFC 4180), every digit, keys with units.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

std::string csv_report(const ReportModel& model);

}  // namespace paretoken::reports
