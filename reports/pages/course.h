#pragma once
// The part of a page that shows how runs went over time: a choice of runs, their charts, and a table of each.
// Pure.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// Empty without courses.
std::string course_section(const ReportModel& model);

/// A table with a line of blocks per series, for a report of a single run; else empty.
std::string course_markdown(const ReportModel& model);

}  // namespace paretoken::reports
