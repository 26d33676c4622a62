#include "reports/pages/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reports/analysis/gate/words.h"
#include "reports/document/table.h"
#include "reports/pages/junit.h"

namespace paretoken::reports {
namespace {

constexpr double kMostBrief = 10'000;  // percent

// The narrow columns of the console have percent without a percent sign, and percentage points with a "p".

std::string brief_percent(const GateRow& row, double shift) {
    const double percent_worse = percent_of(row, shift);
    if (percent_worse > kMostBrief) return fmt::format(">+{:.0f}", kMostBrief);
    return std::abs(percent_worse) < 1000 ? fmt::format("{:+.2f}", percent_worse)
                                          : fmt::format("{:+.2g}", percent_worse);
}

std::string brief_shift(const GateRow& row) {
    if (!row.shift) return "–";
    if (row.points) return fmt::format("{:+.2g} p", *row.shift * 100);
    return brief_percent(row, *row.shift);
}

std::string brief_interval(const GateRow& row) {
    if (!row.ci95) return "–";
    return brief_percent(row, row.ci95->low) + " " + brief_percent(row, row.ci95->high);
}

std::string brief_limit(const GateRow& row) {
    if (is_limit(row) || !std::isfinite(row.limit)) return "";
    if (row.points) return fmt::format("{:.2g} p", row.limit * 100);
    return fmt::format("{:.3g}", percent_of(row, row.limit));
}

/// The label of a row: "ttft_p95, ms". It begins with the name of the metric in a policy.
std::string label_of(const GateRow& row) {
    if (is_limit(row)) return row.metric;
    if (is_time(row)) return row.metric + ", ms";
    return row.unit == "ratio" ? row.metric + ", %" : row.metric;
}

/// A shift in percent that a gate would show.
std::string shown_text(double shift, Better better) {
    const double percent = percent_of(shift, better);
    return percent > kMostBrief ? fmt::format(">{:.0f}", kMostBrief) : significant(percent);
}

/// The text escaped for a workflow command.
std::string annotation_escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text, 2000)) out += c == '%' ? std::string("%25") : std::string(1, c);
    return out;
}

}  // namespace

std::string gate_console(const GateReport& report, bool verbose) {
    std::string text;
    Table table{{{"", Align::left},
                 {"baseline"},
                 {"candidate"},
                 {"worse, %"},
                 {"95 %"},
                 {"limit"},
                 {"", Align::left}},
                {}};
    for (const GateRow& row : report.rows)
        table.rows.push_back(
            {printable(label_of(row), 24), value_text(row, row.baseline), value_text(row, row.candidate),
             brief_shift(row), brief_interval(row), brief_limit(row),
             row.verdict == GateVerdict::inconclusive ? "?" : std::string(name_of(row.verdict))});
    if (verbose) text += text_of(table, 2);
    for (const OpenText& open : open_texts(report)) text += paragraph(open.metrics + ": " + open.text, 2);
    text += paragraph(design_text(report), 2);
    for (const std::string& note : report.notes) text += paragraph(note, 2);
    if (!report.checklist.empty()) text += "\n" + paragraph("before a rollout", 2);
    for (const CheckItem& item : report.checklist)
        text += paragraph(fmt::format("{} {}: {}", item.shown ? "[x]" : "[ ]", item.what,
                                      item.shown ? item.text : "not shown; " + item.text),
                          2);
    text += "\n" + paragraph(report.headline);
    if (!report.why.empty()) text += paragraph(report.why);
    return text;
}

std::string self_test_console(const SelfTest& test) {
    Table table{{{"", Align::left}, {"noise"}}, {}};
    for (const std::uint64_t pairs : kSelfTestPairs)
        table.columns.push_back({fmt::format("{} pairs", pairs)});
    if (test.stored_runs > 0) table.columns.push_back({"stored"});
    table.columns.push_back({"tolerated"});
    table.columns.push_back({"to pass"});
    for (const SelfTestRow& row : test.rows) {
        const Better better = quantity_named(row.metric).better;
        std::vector<std::string> cells{printable(row.metric, 24), significant(percent_of(row.noise, better))};
        for (const double shown : row.shown) cells.push_back(shown_text(shown, better));
        if (test.stored_runs > 0)
            cells.push_back(row.shown_by_store ? shown_text(*row.shown_by_store, better) : "–");
        cells.push_back(significant(percent_of(row.limit, better)));
        cells.push_back(row.pairs_to_pass ? fmt::format("{}", *row.pairs_to_pass) : ">1000");
        table.rows.push_back(std::move(cells));
    }
    std::string text = text_of(table, 2);
    text += paragraph(
        fmt::format(
            "noise: standard deviation of a pair, %, from {} pairs; N pairs: smallest shift in % that a gate "
            "of N pairs shows (at a power of 80 %){}; to pass: pairs after which equal builds pass",
            test.pairs,
            test.stored_runs > 0 ? fmt::format("; stored: the same for {} runs against {} stored runs",
                                               test.pairs, test.stored_runs)
                                 : ""),
        2);
    return text + "\n" + paragraph(answer_of(test));
}

std::string gate_junit(const GateReport& report) {
    std::vector<JunitCase> cases;
    for (const GateRow& row : report.rows) {
        JunitCase one{.name = row.metric};
        if (row.verdict != GateVerdict::pass) {
            one.element = row.verdict == GateVerdict::fail ? "failure"
                          : row.keeps_open()               ? "error"
                                                           : "skipped";
            one.type = name_of(row.verdict);
            one.message = line_of(report, row);
        }
        cases.push_back(std::move(one));
    }
    return junit_file(
        junit_suite("paretoken gate", "paretoken.gate", cases, report.headline + " " + report.why));
}

std::string gate_annotations(const GateReport& report) {
    std::string text;
    for (const GateRow& row : report.rows) {
        if (row.verdict != report.verdict || row.verdict == GateVerdict::pass) continue;
        text += fmt::format("::{} title=paretoken gate::{}\n",
                            row.verdict == GateVerdict::fail ? "error" : "warning",
                            annotation_escaped(line_of(report, row)));
    }
    return text + fmt::format("::notice title=paretoken gate::{}\n", annotation_escaped(report.headline));
}

namespace {

bool compared_anything(const std::pair<std::string, GateReport>& gate) {
    const GateReport& report = gate.second;
    const std::uint64_t of_candidate = runs_of_candidate(report);
    return report.pairs > 0 || (of_candidate > 0 && of_candidate < report.runs.size());
}

/// "runs/1: http://b against baseline main"
std::string name_with_sides(const std::string& directory, const GateReport& report) {
    if (report.candidate_name.empty() || report.baseline_name.empty()) return directory;
    return fmt::format("{}: {} against {}", directory, report.candidate_name, report.baseline_name);
}

}  // namespace

ReportedGates gates_to_report(NamedGates found, bool has_other_results) {
    ReportedGates gates;
    const bool some_compared = std::ranges::any_of(found, compared_anything);
    std::vector<std::string> left_out;
    for (auto& gate : found) {
        if ((some_compared || has_other_results) && !compared_anything(gate)) {
            left_out.push_back(std::move(gate.first));
            continue;
        }
        std::string name = name_with_sides(gate.first, gate.second);
        gates.shown.emplace_back(std::move(name), std::move(gate.second));
    }
    if (!left_out.empty())
        gates.note = fmt::format("{} gate{} ended before anything was compared, and {} left out: {}.",
                                 left_out.size(), left_out.size() == 1 ? "" : "s",
                                 left_out.size() == 1 ? "is" : "are", fmt::join(left_out, ", "));
    return gates;
}

}  // namespace paretoken::reports
