#include "reports/files/interop/exposition.h"

#include <fmt/format.h>

#include <cmath>

namespace paretoken::reports {
namespace {

std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    return fmt::format("{}", value);
}

std::string escaped(std::string_view text, bool quotes) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || (quotes && c == '"')) out += '\\';
        out += c;
    }
    return out;
}

std::string labels_of(const MetricSample& sample) {
    std::string text;
    for (const auto& [name, value] : sample.labels)
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "{" : ",", name, escaped(value, true));
    return text.empty() ? text : text + "}";
}

}  // namespace

std::string exposition_text(std::span<const MetricFamily> families, bool open_metrics) {
    std::string text;
    for (const MetricFamily& family : families) {
        if (family.samples.empty()) continue;
        const std::string sample_name = family.counter ? family.name + "_total" : family.name;
        const std::string& title = open_metrics ? family.name : sample_name;
        if (!family.help.empty())
            text += fmt::format("# HELP {} {}\n", title, escaped(family.help, open_metrics));
        text += fmt::format("# TYPE {} {}\n", title, family.counter ? "counter" : "gauge");
        for (const MetricSample& sample : family.samples)
            text += fmt::format("{}{} {}{}\n", sample_name, labels_of(sample), number(sample.value),
                                open_metrics && sample.time_s ? fmt::format(" {:.3f}", *sample.time_s) : "");
    }
    if (open_metrics) text += "# EOF\n";
    return text;
}

std::string_view exposition_type(bool open_metrics) {
    return open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace paretoken::reports
