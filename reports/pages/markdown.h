#pragma once
// The report as Markdown for a pull request: for each configuration a sentence with its cost, a table, and
// charts as text (Mermaid). Text from outside is escaped.
#include <string>
#include <string_view>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

std::string markdown_report(const ReportModel& model);

/// Any text as one line of at most 1000 characters that Markdown shows as plain text.
std::string markdown_escaped(std::string_view text);

}  // namespace paretoken::reports
