#pragma once
// The part of a page that shows the course of each run, which is its time series: a menu to choose a run, the
// charts of that run, and a table for each run. Pure.
#include <string>

#include "reports/model/report_model.h"

namespace paretoken::reports {

/// The section as HTML; empty if the model has no courses.
std::string course_section(const ReportModel& model);

/// The section as Markdown: a table of the run's series, each with a small chart of block characters (▁▃█).
/// Empty unless the report has exactly one run, and a course of it.
std::string course_markdown(const ReportModel& model);

}  // namespace paretoken::reports
