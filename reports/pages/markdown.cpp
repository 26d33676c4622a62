#include "reports/pages/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/analysis/cost/cost.h"
#include "reports/analysis/model/front.h"
#include "reports/analysis/sections/sections.h"
#include "reports/document/table.h"
#include "reports/pages/report_columns.h"
#include "reports/pages/section_markdown.h"

namespace paretoken::reports {
namespace {

// ---- table

std::string table_of(const Configuration& configuration) {
    std::vector<const ReportColumn*> columns;
    for (const ReportColumn& column : report_columns()) {
        const bool used = std::ranges::any_of(configuration.points, [&column](const ReportPoint& point) {
            return column.value(point).has_value();
        });
        if (!column.brief_title.empty() && used) columns.push_back(&column);
    }
    std::string head = "| load |";
    std::string rule = "|:--|";
    for (const ReportColumn* column : columns) {
        head += fmt::format(" {} |", column->brief_title);
        rule += "--:|";
    }
    std::string text = head + " verdict |\n" + rule + ":--|\n";
    for (const ReportPoint& point : configuration.points) {
        text += fmt::format("| {} |", markdown_escaped(point.load_label));
        for (const ReportColumn* column : columns) text += fmt::format(" {} |", cell_of(*column, point));
        text +=
            fmt::format(" {}{}{} |\n", name_of(point.result.validity.verdict),
                        point.on_front ? ", on the front"
                        : point.why_not.empty() || point.result.validity.verdict == Verdict::invalid
                            ? ""
                            : ", " + markdown_escaped(point.why_not),
                        point.missed_own_slo.empty() ? "" : ", " + markdown_escaped(point.missed_own_slo));
    }
    return text;
}

// ---- charts

struct Line {
    std::vector<double> values;
};

/// The text for a Mermaid string: without quotes, brackets and line ends.
std::string mermaid_text(std::string_view text) {
    std::string out;
    for (const char c : printable(text, 60))
        out += std::string_view("\"[]{}<>`;|#&\\").find(c) == std::string::npos ? c : ' ';
    return out;
}

std::string chart_of(std::string_view title, std::string_view x_title, const std::vector<std::string>& x,
                     std::string_view y_title, const std::vector<Line>& lines) {
    if (x.size() < 2) return "";  // a line needs at least two points
    std::string labels;
    for (const std::string& label : x)
        labels += fmt::format("{}\"{}\"", labels.empty() ? "" : ", ", mermaid_text(label));
    std::string text =
        fmt::format("```mermaid\nxychart-beta\n    title \"{}\"\n    x-axis \"{}\" [{}]\n    y-axis \"{}\"\n",
                    mermaid_text(title), x_title, labels, y_title);
    for (const Line& line : lines) {
        std::string values;
        for (const double value : line.values)
            values += fmt::format("{}{:.4g}", values.empty() ? "" : ", ", value);
        text += fmt::format("    line [{}]\n", values);
    }
    return text + "```\n";
}

/// A chart of `values` against load, for the runs for which all of `values` are known and finite.
template <class... Value>
std::string chart_against_load(const Configuration& configuration, std::string_view title,
                               std::string_view y_title, Value... values) {
    std::vector<std::string> labels;
    std::vector<Line> lines(sizeof...(values));
    for (const ReportPoint& point : configuration.points) {
        const std::vector<std::optional<double>> row{values(point)...};
        const bool known = std::ranges::all_of(row, [](const auto& v) { return v && std::isfinite(*v); });
        if (!known) continue;
        labels.push_back(point.load_label);
        for (std::size_t i = 0; i < row.size(); ++i) lines[i].values.push_back(*row[i]);
    }
    return chart_of(title, "load", labels, y_title, lines);
}

/// The value of a point on the vertical axis of a front.
std::optional<double> height_of(const ReportPoint& point, const FrontY& y) {
    if (y.name != front_ys().front().name) return tokens_per_s_per_gpu(point);
    return point.cost ? std::optional(point.cost->usd_per_m_output) : std::nullopt;
}

/// The runs on the front of the configuration, on the axes for which the front was computed. There is none
/// over dates.
std::string frontier_chart(const Configuration& configuration, const FrontNote& note) {
    if (note.over_time) return "";
    const FrontX& x = note.x.empty() ? front_xs().front() : front_xs()[front_x_named(note.x)];
    const FrontY& y = note.y.empty() ? front_ys().front() : front_ys()[front_y_named(note.y)];
    std::vector<std::pair<double, double>> front;
    for (const ReportPoint& point : configuration.points) {
        const auto across = front_value(point, x);
        const auto up = height_of(point, y);
        if (point.on_own_front && across && up) front.emplace_back(*across, *up);
    }
    std::ranges::sort(front);
    std::vector<std::string> labels;
    Line line;
    for (const auto& [across, up] : front) {
        labels.push_back(significant(across));
        line.values.push_back(up);
    }
    return chart_of("Runs on the Pareto front", x.title, labels, y.title, {line});
}

std::optional<double> milliseconds(const ReportPoint& point, std::string_view key, double p) {
    const MetricSummary* metric = point.result.metric(key);
    const PercentileValue* held = metric ? metric->at(p) : nullptr;
    if (!held || !held->value) return std::nullopt;
    return *held->value * 1e3;
}

std::string charts_of(const Configuration& configuration, const FrontNote& front) {
    const bool limited = std::ranges::any_of(configuration.points, [](const ReportPoint& point) {
        return point.limit_output_tokens_per_s.has_value();
    });
    const auto rate = [](const ReportPoint& point) { return point.output_tokens_per_s; };
    const auto limit = [](const ReportPoint& point) { return point.limit_output_tokens_per_s; };
    std::string text = frontier_chart(configuration, front);
    text += limited
                ? chart_against_load(configuration, "Throughput: measured, and the hardware limit above it",
                                     "output tokens/s", rate, limit)
                : chart_against_load(configuration, "Throughput", "output tokens/s", rate);
    text += chart_against_load(
        configuration, "Time to first token: p50, and p99 above it", "ms",
        [](const ReportPoint& p) { return milliseconds(p, p.open_loop ? "ttft_intended_s" : "ttft_s", .5); },
        [](const ReportPoint& p) {
            return milliseconds(p, p.open_loop ? "ttft_intended_s" : "ttft_s", .99);
        });
    text += chart_against_load(
        configuration, "Inter-token latency: p50, and p99 above it", "ms",
        [](const ReportPoint& p) { return milliseconds(p, "itl_s", .5); },
        [](const ReportPoint& p) { return milliseconds(p, "itl_s", .99); });
    return text.empty() ? "" : "<details><summary>Charts</summary>\n\n" + text + "\n</details>\n";
}

// ---- the rest

std::string list_of(const std::vector<std::string>& lines, std::string_view lead = "") {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("- {}{}\n", lead, markdown_escaped(line));
    return text.empty() ? "" : text + "\n";
}

std::string reasons_of(const Configuration& configuration) {
    std::vector<std::string> lines;
    for (const ReportPoint& point : configuration.points)
        for (const Reason& reason : point.result.validity.reasons)
            lines.push_back(fmt::format("{}, {}, {}: {}", point.load_label, name_of(reason.severity),
                                        reason.check, reason.text));
    return list_of(lines);
}

std::string commands_of(const Configuration& configuration) {
    std::string text;
    std::set<std::string> told;  // all points of a sweep have the same command
    for (const ReportPoint& point : configuration.points)
        if (const std::string& command = point.result.provenance.command;
            !command.empty() && told.insert(command).second)
            text += fmt::format("    {}\n", printable(command, 4000));  // indented: a code block
    return text.empty() ? "" : "<details><summary>Commands</summary>\n\n" + text + "\n</details>\n";
}

std::string section_of(const Configuration& configuration, const FrontNote& front) {
    return fmt::format("## {}\n\n{}\n\n", markdown_escaped(configuration.title),
                       markdown_escaped(configuration.workload)) +
           table_of(configuration) + "\n" + list_of(configuration.errors, "**Error:** ") +
           list_of(configuration.missing) + reasons_of(configuration) + charts_of(configuration, front) +
           commands_of(configuration) + "\n";
}

std::string sections_text(SectionPlace place, const ReportModel& model) {
    std::string text;
    for (const Section& section : sections_at(place, model)) text += markdown_of(section, 2);
    return text;
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '<')
            out += "&lt;";
        else if (c == '@')
            out += "&#64;";  // prevents a mention of a user
        else if (std::string_view("\\`*_[]|~#$").find(c) != std::string_view::npos)
            out += {'\\', c};
        else
            out += c;
    }
    return out;
}

namespace {

/// Returns the low and the high cost of the price cards, as factors of the costs; empty if they state none.
std::string band_text(const ReportModel& model) {
    std::set<std::string> bands;
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points)
            if (point.cost && point.cost->price_band && point.cost->usd_per_m_output > 0)
                bands.insert(fmt::format("{:.3g} to {:.3g}",
                                         point.cost->price_band->low / point.cost->usd_per_m_output,
                                         point.cost->price_band->high / point.cost->usd_per_m_output));
    return bands.empty() ? "" : fmt::format("; price band: {} times the costs", fmt::join(bands, ", "));
}

/// earning_text() of all costs.
std::string earning_of(const ReportModel& model) {
    std::set<std::string> texts;
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points)
            if (point.cost) texts.insert(earning_text(point.cost->earning_share));
    return fmt::format("{}", fmt::join(texts, ""));
}

}  // namespace

std::string markdown_report(const ReportModel& model) {
    std::string text = fmt::format("# {}\n\n", markdown_escaped(model.title)) +
                       sections_text(SectionPlace::top, model) +
                       sections_text(SectionPlace::before_answers, model);
    for (const Configuration& configuration : model.configurations)
        text += fmt::format("**{}**\n\n", markdown_escaped(configuration.answer));
    for (const Configuration& configuration : model.configurations)
        text += section_of(configuration, model.front);
    text += sections_text(SectionPlace::after_front, model) + sections_text(SectionPlace::after_load, model);
    text += list_of(model.front.separate);
    text += list_of(model.notes);
    if (model.price)
        text += fmt::format("Prices: {} of {}, {} ({}){}{}{}.\n", markdown_escaped(model.price->card),
                            markdown_escaped(model.price->as_of), markdown_escaped(model.price->basis),
                            markdown_escaped(model.price->source),
                            model.price->power.empty() ? "" : "; power: " + model.price->power,
                            band_text(model), earning_of(model));
    return text + fmt::format("\nparetoken {}, {}\n", markdown_escaped(model.version),
                              markdown_escaped(model.generated_at));
}

}  // namespace paretoken::reports
