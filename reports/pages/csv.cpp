#include "reports/pages/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "reports/analysis/sweep/sweep.h"
#include "reports/pages/report_columns.h"

namespace paretoken::reports {
namespace {

/// A quoted text. If a spreadsheet would take the text for a formula, an apostrophe is put before it.
std::string csv_quoted(std::string_view text) {
    std::string out = "\"";
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
        out += '\'';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string number(const std::optional<double>& value) {
    if (!value || std::isnan(*value)) return "";
    return std::isinf(*value) ? "inf" : fmt::format("{}", *value);
}

}  // namespace

std::string csv_report(const ReportModel& model) {
    std::string text = "configuration,directory,load_label,load";
    for (const ReportColumn& column : report_columns()) text += fmt::format(",{}", column.key);
    text += ",on_front,verdict\r\n";
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points) {
            text += fmt::format("{},{},{},{}", csv_quoted(configuration.title), csv_quoted(point.directory),
                                csv_quoted(load_label_of(point.result)), number(point.load));
            for (const ReportColumn& column : report_columns()) text += "," + number(column.value(point));
            text += fmt::format(",{},{}\r\n", point.on_front, name_of(point.result.validity.verdict));
        }
    return text;
}

}  // namespace paretoken::reports
