#pragma once
// The part of a page that shows the course of runs over time: a selection of runs, their charts, and a table
// for each run. Pure.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The section as HTML; empty without courses.
std::string course_section(const ReportModel& model);

/// The section as Markdown for a report of a single run: a table with a line of blocks per series. Otherwise
/// empty.
std::string course_markdown(const ReportModel& model);

}  // namespace paretoken::reports
