#include "reports/analysis/gate/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/number_text.h"
#include "reports/analysis/gate/words.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

Tone tone_of(GateVerdict verdict) {
    switch (verdict) {
        case GateVerdict::pass:
            return Tone::good;
        case GateVerdict::fail:
            return Tone::bad;
        case GateVerdict::inconclusive:
            break;
    }
    return Tone::warning;
}

/// What a verdict says if there is no likely cause.
std::string meaning_of(const GateReport& report) {
    const auto has = [&](bool limit, GateVerdict verdict) {
        return std::ranges::any_of(report.rows, [&](const GateRow& row) {
            return is_limit(row) == limit && row.verdict == verdict;
        });
    };
    const bool has_bounds =
        std::ranges::any_of(report.rows, [](const GateRow& row) { return row.at_most.has_value(); });
    std::string excluded =
        has_bounds
            ? fmt::format(
                  "A change for the worse beyond the tolerance is excluded for each {}metric that has an "
                  "interval (probability of error: at most {} each).",
                  has(false, GateVerdict::inconclusive) ? "decided " : "", percent_text(report.policy.beta))
            : "No metric is worse than its tolerance allows.";
    switch (report.verdict) {
        case GateVerdict::pass:
            return excluded;
        case GateVerdict::fail:
            if (has(false, GateVerdict::fail))
                return "The combination of metrics that became worse does not point to a likely cause.";
            if (has(false, GateVerdict::inconclusive))
                return "A limit is missed. No metric is known to be worse than its tolerance allows.";
            return "Only a limit is missed. " + excluded;
        case GateVerdict::inconclusive:
            break;
    }
    if (!has(false, GateVerdict::inconclusive) && !report.rows.empty())
        return "Only a limit is undecided. " + excluded;
    return "For the undecided metrics, the data neither shows a change beyond the tolerance nor excludes "
           "one.";
}

Notice reason_of(const GateReport& report) {
    return {.text = report.why.empty() ? meaning_of(report) : report.why,
            .code = std::string(name_of(report.verdict)),
            .tone = tone_of(report.verdict),
            .evidence = design_text(report)};
}

/// The shifts in units of the limit of each metric, because the metrics have different limits. The interval
/// of a metric that passed ends at the bound by which it did, which the limit includes.
IntervalChart shifts_of(const GateReport& report) {
    IntervalChart chart{
        .title = "Shift of each metric",
        .what =
            "The shift with its 95 % interval, in units of what is tolerated. Worse is to the right. The "
            "interval of a metric that passed ends at the bound that decided this (\"at most\"). A tolerance "
            "with \"(floor)\" is a difference, such as 2 ms, that the policy always accepts.",
        .limit = "tolerance"};
    for (const GateRow& row : report.rows) {
        if (is_limit(row) || !row.shift || !row.ci95 || !(row.limit > 0) || !std::isfinite(row.limit))
            continue;
        const bool passed = row.verdict == GateVerdict::pass && row.at_most;
        const double high =
            passed ? std::max(*row.shift, std::min(row.ci95->high, *row.at_most)) : row.ci95->high;
        chart.rows.push_back({.name = row.metric,
                              .text = shift_text(row),
                              .at = *row.shift / row.limit,
                              .interval = {row.ci95->low / row.limit, high / row.limit},
                              .tone = tone_of(row.verdict)});
    }
    return chart;
}

Table table_of_rows(const GateReport& report) {
    Table table{{{"metric", Align::left},
                 {"verdict", Align::left},
                 {"baseline"},
                 {"candidate"},
                 {"worse by"},
                 {"tolerance, %"},
                 {"95 % interval"},
                 {"at most, %"}},
                {}};
    for (const GateRow& row : report.rows)
        table.rows.push_back({title_of(row), std::string(name_of(row.verdict)), value_text(row, row.baseline),
                              value_text(row, row.candidate), shift_text(row), tolerance_text(row),
                              interval_text(row), bound_text(row)});
    return table;
}

/// What is said of the metrics that did not pass.
Notices open_rows(const GateReport& report) {
    Notices notices;
    for (const OpenText& open : open_texts(report))
        notices.items.push_back({.text = open.metrics + ": " + open.text,
                                 .code = std::string(name_of(open.verdict)),
                                 .tone = tone_of(open.verdict)});
    return notices;
}

Section verdict_section(const GateReport& report) {
    Section section{.id = "verdict", .title = "Verdict"};
    section.blocks.push_back({Notices{{reason_of(report)}}});
    if (IntervalChart chart = shifts_of(report); !chart.rows.empty())
        section.blocks.push_back({std::move(chart)});
    section.blocks.push_back({table_of_rows(report)});
    if (Notices open = open_rows(report); !open.items.empty()) section.blocks.push_back({std::move(open)});
    return section;
}

Section sides_section(const GateReport& report) {
    Section section{.id = "sides", .title = "Both sides"};
    section.blocks.push_back(
        {Facts{{{"Baseline", report.baseline_name}, {"Candidate", report.candidate_name}}}});
    Table table{{{"condition", Align::left}, {"baseline", Align::left}, {"candidate", Align::left}}, {}};
    for (const Condition& condition : report.conditions)
        table.rows.push_back({condition.differs ? condition.name + " (differs)" : condition.name,
                              condition.baseline, condition.candidate});
    if (!table.rows.empty()) section.blocks.push_back({std::move(table)});
    Notices notes;
    for (const std::string& note : report.notes) notes.items.push_back({.text = note});
    if (!notes.items.empty()) section.blocks.push_back({std::move(notes)});
    return section;
}

Section checklist_section(const GateReport& report) {
    Section section{.id = "checklist", .title = "Before a rollout"};
    Notices items;
    for (const CheckItem& item : report.checklist)
        items.items.push_back({.text = item.what + ": " + item.text,
                               .code = item.shown ? "shown" : "not shown",
                               .tone = item.shown ? Tone::good : Tone::warning});
    section.blocks.push_back({std::move(items)});
    return section;
}

Section runs_section(const GateReport& report) {
    Section section{.id = "gate-runs", .title = "Every run"};
    Table table{{{"run", Align::left}, {"side", Align::left}, {"started", Align::left}}, {}};
    std::vector<const GateRow*> shown;
    for (const GateRow& row : report.rows)
        if (!is_limit(row)) shown.push_back(&row);
    for (const GateRow* row : shown) table.columns.push_back({title_of(*row)});
    table.columns.push_back({"validity", Align::left});
    for (const GateRunNote& run : report.runs) {
        std::vector<std::string> cells{run.directory, run.of_candidate ? "candidate" : "baseline",
                                       run.started_at};
        for (const GateRow* row : shown) {
            const auto found = run.values.find(row->metric);
            cells.push_back(
                value_text(*row, found == run.values.end() ? std::nullopt : std::optional(found->second)));
        }
        cells.emplace_back(name_of(run.verdict));
        table.rows.push_back(std::move(cells));
    }
    section.blocks.push_back(
        {Folded{fmt::format("The figures of {} runs", report.runs.size()), {Block{std::move(table)}}}});
    return section;
}

}  // namespace

std::vector<Section> gate_sections(const GateReport& report) {
    std::vector<Section> sections{verdict_section(report), sides_section(report)};
    if (!report.checklist.empty()) sections.push_back(checklist_section(report));
    if (!report.runs.empty()) sections.push_back(runs_section(report));
    return sections;
}

Section gates_section(const std::vector<std::pair<std::string, GateReport>>& gates) {
    Section section{.id = "gates", .title = "Gates"};
    Notices verdicts;
    for (const auto& [directory, report] : gates)
        verdicts.items.push_back({.text = report.headline,
                                  .code = std::string(name_of(report.verdict)),
                                  .tone = tone_of(report.verdict),
                                  .evidence = directory});
    section.blocks.push_back({std::move(verdicts)});
    return section;
}

}  // namespace paretoken::reports
