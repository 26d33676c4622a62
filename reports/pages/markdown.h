#pragma once
// The report for a pull request: the answer, a table, and charts as text (Mermaid), without a file beside it.
// What comes from outside can neither end a cell nor start a link or an element.
#include <string>
#include <string_view>

#include "reports/model/report_model.h"

namespace paretoken::reports {

std::string markdown_report(const ReportModel& model);

/// One line of plain text, whatever it held.
std::string markdown_escaped(std::string_view text);

}  // namespace paretoken::reports
