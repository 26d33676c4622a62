#include "reports/files/alerts_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cards/json_value.h"
#include "core/error.h"
#include "core/spec.h"
#include "reports/files/file_io.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kSchema = "paretoken/alerts/1";

using cards::JsonCursor;

std::string name_of_rule(const JsonCursor& value) {
    std::string name = value.string();
    const auto is_known = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (name.empty() || !std::ranges::all_of(name, is_known))
        value.complain("a name of lower-case letters, digits and underscores");
    return name;
}

std::string series_of(const JsonCursor& value) {
    std::string name = value.string();
    if (alert_series_named(name) == nullptr)
        value.complain(fmt::format("a series that is known ({})", known_alert_series()));
    return name;
}

Duration duration_of(const JsonCursor& value) {
    try {
        const Duration duration = parse_duration(value.string());
        if (duration >= Duration{}) return duration;
    } catch (const UsageError&) {  // reported below, with its place in the file
    }
    value.complain("a duration like \"2m\"");
}

AlertComparison comparison_of(const JsonCursor& value) {
    if (const auto comparison = alert_comparison_named(value.string())) return *comparison;
    value.complain("above, below, above_baseline_times, below_baseline_by or risen_by");
}

AlertSeverity severity_of(const JsonCursor& value) {
    if (const auto severity = alert_severity_named(value.string())) return *severity;
    value.complain("warn or fail");
}

/// Refuses a threshold that a share never passes, such as a percentage.
void expect_possible(const AlertRule& rule, const JsonCursor& threshold) {
    const bool is_factor = rule.comparison == AlertComparison::above_baseline_times;
    const bool is_share = alert_series_named(rule.series)->unit == "ratio" && !is_factor;
    if (is_share && !(rule.threshold >= 0 && rule.threshold <= 1))
        threshold.complain(fmt::format("a share from 0 to 1, as {} is", rule.series));
}

AlertRule rule_of(const JsonCursor& value) {
    value.expect_only({"name", "series", "comparison", "threshold", "for", "over", "severity"});
    AlertRule rule{.name = name_of_rule(value.at("name", "the alert's name")),
                   .series = series_of(value.at("series", "the series that it watches")),
                   .comparison = comparison_of(value.at("comparison", "how it compares")),
                   .threshold = value.at("threshold", "a number").number()};
    if (const auto held_for = value.find("for")) rule.held_for = duration_of(*held_for);
    if (const auto over = value.find("over")) rule.over = duration_of(*over);
    if (const auto severity = value.find("severity")) rule.severity = severity_of(*severity);
    expect_possible(rule, value.at("threshold", "a number"));
    if ((rule.comparison == AlertComparison::risen_by) != (rule.over > Duration{}))
        value.complain("\"over\", a duration above 0, with the comparison risen_by and with no other");
    return rule;
}

}  // namespace

std::vector<AlertRule> parse_alerts(const std::string& text, const std::string& where) {
    const cards::JsonValue json = cards::parse_json_value(text, where);
    const JsonCursor root(json, where);
    root.expect_only({"schema", "alerts"});
    const JsonCursor schema = root.at("schema", fmt::format("\"{}\"", kSchema));
    if (schema.string() != kSchema) schema.complain(fmt::format("\"{}\"", kSchema));
    std::vector<AlertRule> rules;
    std::set<std::string> names;
    for (const JsonCursor& value : root.at("alerts", "an array of alerts").elements()) {
        rules.push_back(rule_of(value));
        if (!names.insert(rules.back().name).second) value.complain("a name that no other alert has");
    }
    return rules;
}

std::vector<AlertRule> read_alerts(const std::filesystem::path& path) {
    return parse_alerts(read_option_file(path, "--alerts"), path.string());
}

std::string alerts_json(std::span<const AlertRule> rules) {
    std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"alerts\": [", kSchema);
    const char* separator = "\n";
    for (const AlertRule& rule : rules) {
        text += fmt::format(
            "{}    {{\"name\": \"{}\", \"series\": \"{}\", \"comparison\": \"{}\", \"threshold\": {}, ",
            separator, rule.name, rule.series, name_of(rule.comparison), rule.threshold);
        if (rule.over > Duration{}) text += fmt::format("\"over\": \"{}\", ", span_text(rule.over));
        text += fmt::format("\"for\": \"{}\", \"severity\": \"{}\"}}", span_text(rule.held_for),
                            name_of(rule.severity));
        separator = ",\n";
    }
    return text + "\n  ]\n}\n";
}

}  // namespace paretoken::reports
