#include "reports/pages/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/number_text.h"
#include "reports/document/table.h"
#include "reports/pages/html.h"
#include "reports/pages/markdown.h"

namespace paretoken::reports {
namespace {

bool is_limit(const GateRow& row) {
    return row.title.starts_with("Limit ");
}

bool is_time(const GateRow& row) {
    return row.unit.substr(0, 1) == "s";
}

/// The title of a row: "Time to first token, p95, ms"
std::string title_of(const GateRow& row) {
    if (is_time(row)) return fmt::format("{}, ms", row.title);
    if (row.unit == "ratio") return row.title + ", %";
    return fmt::format("{}, {}", row.title, row.unit);
}

std::string value_text(const GateRow& row, const std::optional<double>& value) {
    return significant(value, is_time(row) ? 1e3 : row.unit == "ratio" ? 100 : 1, 4);
}

constexpr double kMostPercent = 10'000;  ///< beyond a hundredfold change the figure says nothing more

std::string signed_percent(double shift) {
    const double percent_worse = percent_of(shift);
    if (percent_worse > kMostPercent) return fmt::format(">+{:.0f}", kMostPercent);
    return (percent_worse < 0 ? "" : "+") + number_text(percent_worse);
}

std::string percent(double shift) {
    return signed_percent(shift) + " %";
}

/// The shift of a row: "+3.2 %"; positive is worse.
std::string shift_text(const GateRow& row) {
    if (!row.shift) return "–";
    if (row.points) return fmt::format("{:+.2g} points", *row.shift * 100);
    return percent(*row.shift);
}

std::string interval_text(const GateRow& row) {
    if (!row.ci95) return "–";
    return fmt::format("{} to {}", signed_percent(row.ci95->low), signed_percent(row.ci95->high));
}

// The narrow columns of the console have percent without a percent sign, and percentage points with a "p".

std::string brief_percent(double shift) {
    const double percent_worse = percent_of(shift);
    if (percent_worse > kMostPercent) return fmt::format(">+{:.0f}", kMostPercent);
    return std::abs(percent_worse) < 1000 ? fmt::format("{:+.2f}", percent_worse)
                                          : fmt::format("{:+.2g}", percent_worse);
}

std::string brief_shift(const GateRow& row) {
    if (!row.shift) return "–";
    if (row.points) return fmt::format("{:+.2g} p", *row.shift * 100);
    return brief_percent(*row.shift);
}

std::string brief_interval(const GateRow& row) {
    if (!row.ci95) return "–";
    return brief_percent(row.ci95->low) + " " + brief_percent(row.ci95->high);
}

std::string brief_limit(const GateRow& row) {
    if (is_limit(row) || !std::isfinite(row.limit)) return "";
    if (row.points) return fmt::format("{:.2g} p", row.limit * 100);
    return fmt::format("{:.3g}", percent_of(row.limit));
}

std::string tolerance_text(const GateRow& row) {
    if (is_limit(row)) return "";
    if (row.points) return fmt::format("{:.3g} points", row.tolerance * 100);
    if (row.floor > 0 && row.limit > std::log1p(row.tolerance) + 1e-12)
        return fmt::format("{:.3g} (floor)", percent_of(row.limit));
    return fmt::format("{:.3g}", row.tolerance * 100);
}

/// The label of a row: "ttft_p95, ms". It begins with the name of the metric in a policy.
std::string label_of(const GateRow& row) {
    if (is_limit(row)) return row.metric;
    if (is_time(row)) return row.metric + ", ms";
    return row.unit == "ratio" ? row.metric + ", %" : row.metric;
}

/// The reason of a row, and for an inconclusive row the data that would decide it.
std::string open_text(const GateRow& row, GateDesign design) {
    std::string text = row.reason;
    if (row.verdict != GateVerdict::inconclusive) return text;
    const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
    if (row.detectable) add(detectable_text(*row.detectable));
    if (row.pairs_to_decide)
        add(fmt::format("about {} {} would decide", *row.pairs_to_decide,
                        design == GateDesign::stored ? "runs of the candidate" : "pairs"));
    return text;
}

std::string base_text(const GateReport& report) {
    switch (report.design) {
        case GateDesign::pairs:
            return fmt::format("{} interleaved pairs, of at most {}", report.pairs,
                               report.looks.empty() ? report.pairs : report.looks.back().pairs);
        case GateDesign::two_sets:
            return fmt::format("two sets of runs, {} in the smaller one", report.pairs);
        case GateDesign::stored:
            return fmt::format("{} runs of the candidate, of at most {}, against a stored baseline",
                               report.pairs, report.looks.empty() ? report.pairs : report.looks.back().pairs);
        case GateDesign::within_runs:
            return "one run per side";
    }
    return "";
}

/// The interval drawn as text, on a scale from twice the limit better to twice the limit worse: "|" is no
/// change, "!" the limit.
std::string interval_chart(const GateRow& row) {
    constexpr int kHalf = 20;
    if (!row.ci95 || !(row.limit > 0) || !std::isfinite(row.limit)) return "";
    const auto column = [&](double shift) {
        return std::clamp(static_cast<int>(std::lround(shift / row.limit * kHalf / 2)), -kHalf, kHalf) +
               kHalf;
    };
    std::string chart(2 * kHalf + 1, ' ');
    for (int i = column(row.ci95->low); i <= column(row.ci95->high); ++i)
        chart[static_cast<std::size_t>(i)] = '-';
    chart[kHalf] = '|';
    chart[static_cast<std::size_t>(column(row.limit))] = '!';
    chart[static_cast<std::size_t>(column(*row.shift))] = 'o';
    chart.erase(chart.find_last_not_of(' ') + 1);
    return chart;
}

/// The text escaped for XML, which needs the same escapes as HTML.
std::string xml_escaped(std::string_view text) {
    return html_escaped(printable(text, 4000));
}

std::string line_of(const GateReport& report, const GateRow& row) {
    std::string text = fmt::format("{}: {}", row.title, shift_text(row));
    if (row.ci95)
        text +=
            fmt::format(" (95 % interval: {} %; tolerance: {} %)", interval_text(row), tolerance_text(row));
    if (const std::string open = open_text(row, report.design); !open.empty()) text += "; " + open;
    return text;
}

/// The text escaped for a workflow command.
std::string annotation_escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text, 2000)) out += c == '%' ? std::string("%25") : std::string(1, c);
    return out;
}

std::size_t count(const GateReport& report, GateVerdict verdict) {
    return static_cast<std::size_t>(
        std::count_if(report.rows.begin(), report.rows.end(),
                      [verdict](const GateRow& row) { return row.verdict == verdict; }));
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
    for (const GateRow& row : report.rows)
        if (row.verdict != GateVerdict::pass)
            if (const std::string open = open_text(row, report.design); !open.empty())
                text += paragraph(fmt::format("{}: {}", row.title, open), 2);
    text += paragraph(fmt::format("{}; workload {}", base_text(report), report.fingerprint), 2);
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

std::string gate_markdown(const GateReport& report) {
    std::string text = fmt::format("# paretoken gate: {}\n\n**{}**\n\n", name_of(report.verdict),
                                   markdown_escaped(report.headline));
    if (!report.why.empty()) text += markdown_escaped(report.why) + "\n\n";
    text +=
        "| metric | baseline | candidate | worse by | 95 %, % | tolerance, % | verdict |\n"
        "|:--|--:|--:|--:|--:|--:|:--|\n";
    for (const GateRow& row : report.rows)
        text += fmt::format(
            "| {} | {} | {} | {} | {} | {} | {}{} |\n", markdown_escaped(title_of(row)),
            value_text(row, row.baseline), value_text(row, row.candidate), shift_text(row),
            interval_text(row), tolerance_text(row), row.verdict == GateVerdict::pass ? "" : "**",
            row.verdict == GateVerdict::pass ? "pass" : fmt::format("{}**", name_of(row.verdict)));
    std::string charts;
    for (const GateRow& row : report.rows)
        if (const std::string chart = interval_chart(row); !chart.empty())
            charts += fmt::format("{:<34} {}\n", printable(row.metric, 34), chart);
    if (!charts.empty())
        text +=
            "\nShift with its 95 % interval (`|` no change, `!` the limit, worse is to the right):\n\n```\n" +
            charts + "```\n";
    text += "\n";
    for (const GateRow& row : report.rows)
        if (row.verdict != GateVerdict::pass)
            if (const std::string open = open_text(row, report.design); !open.empty())
                text += fmt::format("- {}: {}\n", markdown_escaped(row.title), markdown_escaped(open));
    for (const std::string& note : report.notes) text += fmt::format("- {}\n", markdown_escaped(note));
    if (!report.checklist.empty()) text += "\n## Before a rollout\n\n";
    for (const CheckItem& item : report.checklist)
        text += fmt::format("- {} {}: {}\n", item.shown ? "[x]" : "[ ]", markdown_escaped(item.what),
                            markdown_escaped(item.shown ? item.text : "not shown; " + item.text));
    return text + fmt::format("\n{}; baseline {}, candidate {}, workload {}.\n", base_text(report),
                              markdown_escaped(report.baseline_name), markdown_escaped(report.candidate_name),
                              markdown_escaped(report.fingerprint));
}

std::string gate_junit(const GateReport& report) {
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    text += fmt::format(
        "<testsuites>\n  <testsuite name=\"paretoken gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
        "skipped=\"0\">\n",
        report.rows.size(), count(report, GateVerdict::fail), count(report, GateVerdict::inconclusive));
    for (const GateRow& row : report.rows) {
        text +=
            fmt::format("    <testcase classname=\"paretoken.gate\" name=\"{}\"", xml_escaped(row.metric));
        if (row.verdict == GateVerdict::pass) {
            text += "/>\n";
            continue;
        }
        const std::string_view element = row.verdict == GateVerdict::fail ? "failure" : "error";
        text += fmt::format(">\n      <{0} type=\"{1}\" message=\"{2}\"/>\n    </testcase>\n", element,
                            name_of(row.verdict), xml_escaped(line_of(report, row)));
    }
    return text + fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
                              xml_escaped(report.headline + " " + report.why));
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

}  // namespace paretoken::reports
