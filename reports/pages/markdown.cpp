#include "reports/pages/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/cache/pages.h"
#include "reports/document/table.h"
#include "reports/model/answer.h"
#include "reports/model/utilisation.h"
#include "reports/model/what_if.h"
#include "reports/pages/course.h"
#include "reports/pages/hardware.h"
#include "reports/pages/picture.h"
#include "reports/pages/report_columns.h"

namespace paretoken::reports {
namespace {

// ---- table

std::string table_of(const Configuration& configuration) {
    std::vector<const ReportColumn*> columns;
    for (const ReportColumn& column : report_columns()) {
        const bool used =
            std::any_of(configuration.points.begin(), configuration.points.end(),
                        [&column](const ReportPoint& point) { return column.value(point).has_value(); });
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
        text += fmt::format(" {}{} |\n", name_of(point.result.validity.verdict),
                            point.on_front ? ", on the front"
                            : point.why_not.empty() || point.result.validity.verdict == Verdict::invalid
                                ? ""
                                : ", " + markdown_escaped(point.why_not));
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
        const bool known =
            std::all_of(row.begin(), row.end(), [](const auto& v) { return v && std::isfinite(*v); });
        if (!known) continue;
        labels.push_back(point.load_label);
        for (std::size_t i = 0; i < row.size(); ++i) lines[i].values.push_back(*row[i]);
    }
    return chart_of(title, "load", labels, y_title, lines);
}

std::string frontier_chart(const Configuration& configuration) {
    std::vector<const ReportPoint*> front;
    for (const ReportPoint& point : configuration.points)
        if (point.on_own_front && point.cost && point.interactivity) front.push_back(&point);
    std::sort(front.begin(), front.end(),
              [](const auto* a, const auto* b) { return *a->interactivity < *b->interactivity; });
    std::vector<std::string> labels;
    Line line;
    for (const ReportPoint* point : front) {
        labels.push_back(significant(point->interactivity));
        line.values.push_back(point->cost->usd_per_m_output);
    }
    return chart_of("Cost against speed: runs on the Pareto front", "tok/s per user", labels,
                    "$ per M output tokens", {line});
}

std::optional<double> milliseconds(const ReportPoint& point, std::string_view key, double p) {
    const MetricSummary* metric = point.result.metric(key);
    const PercentileValue* held = metric ? metric->at(p) : nullptr;
    if (!held || !held->value) return std::nullopt;
    return *held->value * 1e3;
}

std::string charts_of(const Configuration& configuration) {
    const bool limited =
        std::any_of(configuration.points.begin(), configuration.points.end(),
                    [](const ReportPoint& point) { return point.limit_output_tokens_per_s.has_value(); });
    const auto rate = [](const ReportPoint& point) { return point.output_tokens_per_s; };
    const auto limit = [](const ReportPoint& point) { return point.limit_output_tokens_per_s; };
    std::string text = frontier_chart(configuration);
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
        if (told.insert(point.result.provenance.command).second)
            text += fmt::format("    {}\n",
                                printable(point.result.provenance.command, 4000));  // indented: a code block
    return text.empty() ? "" : "<details><summary>Commands</summary>\n\n" + text + "\n</details>\n";
}

/// The waterfall of the run that the sentence is about.
std::string gap_of(const Configuration& configuration) {
    const ReportPoint* point = answer_point(configuration);
    if (point == nullptr || !point->gap) return "";
    std::string text = fmt::format(
        "Where the {} ms of a step go at {}:\n\n| part | ms | $ per M | from |\n|:--|--:|--:|:--|\n",
        significant(point->gap->step_ms), markdown_escaped(point->load_label));
    for (const GapPart& part : point->gap->parts)
        text += fmt::format("| {} | {} | {} | {} |\n", markdown_escaped(part.name), significant(part.ms),
                            part.usd_per_m ? dollars(*part.usd_per_m) : "–",
                            part.ms ? markdown_escaped(part.source) : "unattributed");
    if (!point->gap->first_to_fix.empty())
        text += fmt::format("\nWhat to fix first: {}\n", markdown_escaped(point->gap->first_to_fix));
    if (const std::string used = utilisation_sentence(*point); !used.empty())
        text += fmt::format("\n{}\n", markdown_escaped(used));
    return text + "\n";
}

std::string section_of(const Configuration& configuration) {
    return fmt::format("## {}\n\n{}\n\n", markdown_escaped(configuration.title),
                       markdown_escaped(configuration.workload)) +
           table_of(configuration) + "\n" + list_of(configuration.errors, "**Error:** ") +
           list_of(configuration.missing) + gap_of(configuration) + reasons_of(configuration) +
           charts_of(configuration) + commands_of(configuration) + "\n";
}

/// The cost of the chosen run compared with hosted APIs.
std::string cost_of(const ReportModel& model) {
    if (!model.cost || model.cost->apis.empty()) return "";
    const CostSheet& sheet = *model.cost;
    std::string text = fmt::format(
        "## Beside hosted APIs\n\n{} at {}: ${} per million tokens at {} : {} tokens; split by {}.\n\n| API "
        "| prices of | "
        "$ per M at this mix | break-even, billion tokens per month |\n|:--|:--|--:|--:|\n",
        markdown_escaped(model.configurations[sheet.configuration].title), markdown_escaped(sheet.load_label),
        dollars(sheet.usd_per_m_total), significant(sheet.input_tokens), significant(sheet.output_tokens),
        markdown_escaped(model.split_source));
    for (const ApiLine& api : sheet.apis)
        text +=
            fmt::format("| {} | {} | {} | {} |\n", markdown_escaped(api.name), markdown_escaped(api.as_of),
                        dollars(api.usd_per_m_at_mix),
                        api.break_even_tokens_per_month ? significant(*api.break_even_tokens_per_month / 1e9)
                                                        : "never: more tokens than it can generate");
    return text + "\n";
}

/// The table that ranks configurations; empty for a single configuration without limits.
std::string choice_of(const ReportModel& model) {
    const ChoiceTable& choice = model.choice;
    if (choice.ranked.empty() || (choice.slos.empty() && choice.ranked.size() < 2)) return "";
    std::string text =
        choice.slos.empty()
            ? "## Cheapest\n\n"
            : fmt::format("## Cheapest within {}\n\n",
                          markdown_escaped(fmt::format("{}", fmt::join(choice.slos, " and "))));
    text +=
        "| configuration | load | $ per M output | tok/s | tok/s per user | margin, or why not |\n"
        "|---|---|---:|---:|---:|---|\n";
    for (const Choice& one : choice.ranked) {
        const Configuration& configuration = model.configurations[one.configuration];
        std::string remark =
            one.why_not.empty() ? fmt::format("{}", fmt::join(one.margins, "; ")) : one.why_not;
        if (!one.undecided.empty()) remark += "; " + one.undecided;
        text += fmt::format("| {}, {} | {} | {} | {} | {} | {} |\n", markdown_escaped(configuration.title),
                            markdown_escaped(configuration.workload), markdown_escaped(one.load_label),
                            one.usd_per_m_output ? "$" + dollars(*one.usd_per_m_output) : "–",
                            significant(one.output_tokens_per_s), significant(one.interactivity),
                            markdown_escaped(remark));
    }
    if (!choice.ranked.front().command.empty())
        text += fmt::format("\nMeasure the cheapest again before you decide:\n\n    {}\n",
                            printable(choice.ranked.front().command, 4000));
    return text + "\n";
}

std::string searches_of(const std::vector<SearchPicture>& searches) {
    if (searches.empty()) return "";
    std::string text = "## The highest load within the limits\n\n";
    for (const SearchPicture& search : searches) {
        text += markdown_escaped(search.text) + "\n\n";
        for (const Picture& picture : search.pictures) text += picture_markdown(picture);
        if (!search.narrow.empty())
            text += fmt::format("To narrow the bracket:\n\n    {}\n\n", printable(search.narrow, 4000));
    }
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

std::string markdown_report(const ReportModel& model) {
    std::string text = fmt::format("# {}\n\n", markdown_escaped(model.title)) + choice_of(model);
    for (const Configuration& configuration : model.configurations)
        text += fmt::format("**{}**\n\n", markdown_escaped(configuration.answer));
    for (const Configuration& configuration : model.configurations) text += section_of(configuration);
    text += course_markdown(model);
    text += cost_of(model);
    text += searches_of(model.searches);
    std::vector<std::string> estimates;
    for (const WhatIf& what_if : model.what_ifs) estimates.push_back(what_if_sentence(model, what_if));
    text += list_of(estimates);
    for (const CachePicture& cache : model.caches) text += cache_markdown(cache.report, 2) + "\n";
    text += hardware_markdown(model.devices);
    text += list_of(model.front.separate);
    text += list_of(model.notes);
    if (model.price)
        text += fmt::format("Prices: {} of {}, {} ({}){}.\n", markdown_escaped(model.price->card),
                            markdown_escaped(model.price->as_of), markdown_escaped(model.price->basis),
                            markdown_escaped(model.price->source),
                            model.price->power.empty() ? "" : "; power: " + model.price->power);
    return text + fmt::format("\nparetoken {}, {}\n", markdown_escaped(model.version),
                              markdown_escaped(model.generated_at));
}

}  // namespace paretoken::reports
