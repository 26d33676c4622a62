#pragma once
// The report for a pull request: the answer, a table, and charts as text (Mermaid), without further files.
// Text from outside is escaped, so that it can neither end a cell nor start a link or an element.
#include <string>
#include <string_view>

#include "reports/model/report_model.h"

namespace paretoken::reports {

std::string markdown_report(const ReportModel& model);

/// Any text as one line that Markdown shows as plain text.
std::string markdown_escaped(std::string_view text);

}  // namespace paretoken::reports
