#pragma once
// The report as one self-contained page: nothing is loaded, a Content-Security-Policy allows only what is
// inlined (by its hash), every string from outside is escaped. All words and numbers are in the page;
// report.js adds the pictures.
#include <string>
#include <string_view>

#include "reports/model/report_model.h"

namespace paretoken::reports {

std::string html_report(const ReportModel& model);

/// The same page as `paretoken report --serve` gives it: it asks its server for /version every two seconds,
/// and loads itself anew when that is no longer `version`.
std::string served_html_report(const ReportModel& model, std::string_view version);

/// Text as it may stand in HTML, in attributes too.
std::string html_escaped(std::string_view text);

/// `template_text` with every {{name}} replaced, once: what is put in is not looked at again. Unknown names
/// are a bug.
std::string filled_in(std::string_view template_text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace paretoken::reports
