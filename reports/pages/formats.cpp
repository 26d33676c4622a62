#include "reports/pages/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "reports/files/json/report_json.h"
#include "reports/pages/csv.h"
#include "reports/pages/html.h"
#include "reports/pages/inferencex.h"
#include "reports/pages/markdown.h"

namespace paretoken::reports {
namespace {

constexpr std::array kFormats{
    ReportFormat{"html", "html", "one self-contained page with charts", html_report},
    ReportFormat{"md", "md", "Markdown with Mermaid charts, for a pull request", markdown_report},
    ReportFormat{"json", "json", "everything, every digit", report_json},
    ReportFormat{"csv", "csv", "one line per run", csv_report},
    ReportFormat{"inferencex", "inferencex.json", "one row per run, in the format of InferenceX",
                 inferencex_report},
};

const ReportFormat& format_named(std::string_view name) {
    const auto found = std::ranges::find_if(kFormats, [name](const auto& f) { return f.name == name; });
    if (found != kFormats.end()) return *found;
    std::string known;
    for (const ReportFormat& format : kFormats)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", format.name);
    throw UsageError(fmt::format("--format: there is no report format \"{}\"; known are {}", name, known));
}

}  // namespace

std::span<const ReportFormat> report_formats() {
    return kFormats;
}

std::vector<const ReportFormat*> formats_named(std::string_view list) {
    std::vector<const ReportFormat*> formats;
    while (true) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const ReportFormat* format = &format_named(list.substr(0, comma));
        if (std::ranges::find(formats, format) == formats.end()) formats.push_back(format);
        if (comma == list.size()) return formats;
        list.remove_prefix(comma + 1);
    }
}

}  // namespace paretoken::reports
