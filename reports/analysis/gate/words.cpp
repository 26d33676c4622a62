#include "reports/analysis/gate/words.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text/number_text.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

std::string signed_percent(const GateRow& row, double shift) {
    const double percent_worse = percent_of(row, shift);
    if (percent_worse > kMostPercent) return fmt::format(">+{:.0f}", kMostPercent);
    return (percent_worse < 0 ? "" : "+") + number_text(percent_worse);
}

}  // namespace

bool is_limit(const GateRow& row) {
    return row.title.starts_with("Limit ");
}

double percent_of(const GateRow& row, double shift) {
    return percent_of(shift, quantity_named(row.metric).better);
}

bool is_time(const GateRow& row) {
    return row.unit.substr(0, 1) == "s";
}

std::string title_of(const GateRow& row) {
    if (is_time(row)) return fmt::format("{}, ms", row.title);
    if (row.unit == "ratio") return row.title + ", %";
    return fmt::format("{}, {}", row.title, row.unit);
}

std::string value_text(const GateRow& row, const std::optional<double>& value) {
    return significant(value, is_time(row) ? 1e3 : row.unit == "ratio" ? 100 : 1, 4);
}

std::string shift_text(const GateRow& row) {
    if (!row.shift) return "–";
    if (row.points) return fmt::format("{:+.2g} points", *row.shift * 100);
    return signed_percent(row, *row.shift) + " %";
}

std::string interval_text(const GateRow& row) {
    if (!row.ci95) return "–";
    return fmt::format("{} to {}", signed_percent(row, row.ci95->low), signed_percent(row, row.ci95->high));
}

std::string tolerance_text(const GateRow& row) {
    if (is_limit(row)) return "";
    if (row.points) return fmt::format("{:.3g} points", row.tolerance * 100);
    if (row.floor > 0 && percent_of(row, row.limit) > row.tolerance * 100 + 1e-9)
        return fmt::format("{:.3g} (the least change that matters)", percent_of(row, row.limit));
    return fmt::format("{:.3g}", row.tolerance * 100);
}

std::string open_text(const GateRow& row, GateDesign design) {
    std::string text = row.reason;
    if (row.verdict != GateVerdict::inconclusive) return text;
    const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
    if (row.detectable) add(detectable_text(*row.detectable, quantity_named(row.metric).better));
    if (row.pairs_to_decide)
        add(fmt::format("about {} {} would decide", *row.pairs_to_decide,
                        design == GateDesign::stored ? "runs of the candidate" : "pairs"));
    return text;
}

std::string design_text(const GateReport& report) {
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

std::string line_of(const GateReport& report, const GateRow& row) {
    std::string text = fmt::format("{}: {}", row.title, shift_text(row));
    if (row.ci95)
        text +=
            fmt::format(" (95 % interval: {} %; tolerance: {} %)", interval_text(row), tolerance_text(row));
    if (const std::string open = open_text(row, report.design); !open.empty()) text += "; " + open;
    return text;
}

}  // namespace paretoken::reports
