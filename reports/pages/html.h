#pragma once
// The report as one self-contained page. It loads nothing, a Content-Security-Policy allows only the inlined
// code (by its hash), and every string from outside is escaped. report.js draws the charts.
#include <string>
#include <string_view>

#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

std::string html_report(const ReportModel& model);

/// The page as `paretoken report --serve` serves it: it asks its server for /version every two seconds, and
/// reloads itself when the answer is no longer `version`.
std::string served_html_report(const ReportModel& model, std::string_view version);

/// The text escaped for HTML, including attributes.
std::string html_escaped(std::string_view text);
/// The same for text that is read and not copied: "%" stays in the line of its number.
std::string html_text(std::string_view text);

/// `template_text` with every {{name}} replaced by its value. Values are not searched for names again. It is
/// asserted that every name in the template is in `values`.
std::string filled_in(std::string_view template_text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace paretoken::reports
