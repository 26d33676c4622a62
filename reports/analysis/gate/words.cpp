#include "reports/analysis/gate/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/number_text.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kMostTimes = 1000;
constexpr double kSmallPart = .01;  // a smaller part of the baseline is written as such a part

std::string signed_percent(const GateRow& row, double shift) {
    const double percent_worse = percent_of(row, shift);
    if (percent_worse > kMostTimes * 100) return fmt::format(">×{:.0f}", kMostTimes);
    if (percent_worse > kMostPercent) return "×" + number_text(1 + percent_worse / 100);
    return (percent_worse < 0 ? "" : "+") + number_text(percent_worse);
}

/// The candidate's value ÷ the baseline's at this shift of a row that is no share.
double ratio_of(const GateRow& row, double shift) {
    return std::exp(quantity_named(row.metric).better == Better::higher ? -shift : shift);
}

/// "160", or "more than 1000" for a larger ratio than this.
std::string times_text(double ratio) {
    return ratio > kMostTimes ? fmt::format("more than {:.0f}", kMostTimes) : number_text(ratio);
}

/// A difference of shares: "0.5 points".
std::string points_text(double difference) {
    const std::string number = number_text(100 * difference);
    return number + (number == "1" ? " point" : " points");
}

/// The 95 % interval in the unit of amount_text(): "6.7 to 11.6 %".
std::string amounts_text(const GateRow& row) {
    const double ratio = ratio_of(row, *row.shift);
    double low = ratio_of(row, row.ci95->low);
    double high = ratio_of(row, row.ci95->high);
    if (low > high) std::swap(low, high);
    if (100 * (ratio - 1) > kMostPercent)
        return fmt::format("{} to {} times", times_text(low), times_text(high));
    if (ratio < kSmallPart) return fmt::format("{} to {} %", number_text(100 * low), number_text(100 * high));
    double least = percent_of(row, row.ci95->low);
    double most = percent_of(row, row.ci95->high);
    if (*row.shift < 0 && quantity_named(row.metric).better == Better::higher)  // amount_text() says "higher"
        least = -std::exchange(most, -least);
    return fmt::format("{} to {} %", number_text(least), number_text(most));
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

std::string amount_text(const GateRow& row, double shift) {
    const Better better = quantity_named(row.metric).better;
    const bool is_lower = better == Better::higher ? shift > 0 : shift < 0;
    const std::string_view direction = shift >= 0 && better != Better::neither ? "worse"
                                       : is_lower                              ? "lower"
                                                                               : "higher";
    if (row.points) return fmt::format("{} {}", points_text(std::abs(shift)), direction);
    const double ratio = ratio_of(row, shift);
    if (100 * (ratio - 1) > kMostPercent)
        return fmt::format("{} times as {}", times_text(ratio), is_time(row) ? "long" : "high");
    if (ratio < kSmallPart) return fmt::format("{} % of the baseline", number_text(100 * ratio));
    return fmt::format("{} % {}", number_text(std::abs(percent_of(row, shift))), direction);
}

namespace {

/// Whether the policy's floor replaces the tolerance, because the baseline is small.
bool is_at_floor(const GateRow& row) {
    return row.floor > 0 && percent_of(row, row.limit) > row.tolerance * 100 + 1e-9;
}

/// ", the 2 ms that the policy allows however small the baseline is"
std::string floor_text(const GateRow& row) {
    return fmt::format(", the {} {} that the policy allows however small the baseline is",
                       number_text(is_time(row) ? row.floor * 1e3 : row.floor),
                       is_time(row) ? "ms" : row.unit);
}

}  // namespace

std::string change_text(const GateRow& row) {
    if (row.points)
        return fmt::format("from {} % to {} %", number_text(row.baseline.value_or(0) * 100),
                           number_text(row.candidate.value_or(0) * 100));
    if (!row.shift) return row.reason;
    std::string text = amount_text(row, *row.shift);
    if (row.ci95)
        text += fmt::format(" (95 % interval of the change: {}; tolerance: {:.3g} %{})", amounts_text(row),
                            percent_of(row, row.limit), is_at_floor(row) ? floor_text(row) : "");
    return text;
}

std::string value_text(const GateRow& row, const std::optional<double>& value) {
    return significant(value, is_time(row) ? 1e3 : row.unit == "ratio" ? 100 : 1, 4);
}

std::string shift_text(const GateRow& row) {
    if (!row.shift) return is_limit(row) || (row.baseline && row.candidate) ? "–" : "no value";
    if (row.points) return (*row.shift < 0 ? "" : "+") + points_text(*row.shift);
    const std::string text = signed_percent(row, *row.shift);
    return percent_of(row, *row.shift) > kMostPercent ? text : text + " %";
}

std::string interval_text(const GateRow& row) {
    if (!row.ci95) return "–";
    return fmt::format("{} to {}", signed_percent(row, row.ci95->low), signed_percent(row, row.ci95->high));
}

std::string bound_text(const GateRow& row) {
    return row.at_most ? signed_percent(row, *row.at_most) : "–";
}

std::string tolerance_text(const GateRow& row) {
    if (is_limit(row)) return "";
    if (row.points) return points_text(row.tolerance);
    if (is_at_floor(row)) return fmt::format("{:.3g} (floor)", percent_of(row, row.limit));
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

std::vector<OpenText> open_texts(const GateReport& report) {
    constexpr std::size_t kMostNamed = 3;
    std::vector<OpenText> open;
    std::vector<std::vector<std::string>> titles;
    for (const GateRow& row : report.rows) {
        if (row.verdict == GateVerdict::pass) continue;
        const std::string text = open_text(row, report.design);
        if (text.empty()) continue;
        const auto same = std::ranges::find_if(
            open, [&](const OpenText& other) { return other.text == text && other.verdict == row.verdict; });
        const auto at = static_cast<std::size_t>(same - open.begin());
        if (same == open.end()) {
            open.push_back({.metrics = "", .text = text, .verdict = row.verdict});
            titles.emplace_back();
        }
        titles[at].push_back(row.title);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
        const std::size_t all = titles[i].size();
        titles[i].resize(std::min(all, kMostNamed));
        open[i].metrics = fmt::format("{}", fmt::join(titles[i], "; "));
        if (all > kMostNamed) open[i].metrics += fmt::format(" and {} more", all - kMostNamed);
    }
    return open;
}

std::string design_text(const GateReport& report) {
    const std::uint64_t most = report.looks.empty() ? report.pairs : report.looks.back().pairs;
    const std::uint64_t measured = report.pairs > 0 ? report.pairs : runs_of_candidate(report);
    switch (report.design) {
        case GateDesign::pairs:
            return fmt::format("{} interleaved pair{}, of at most {}", measured, measured == 1 ? "" : "s",
                               most);
        case GateDesign::two_sets:
            return fmt::format("two sets of runs, {} in the smaller one", report.pairs);
        case GateDesign::stored:
            return fmt::format("{} run{} of the candidate, of at most {}, against a stored baseline",
                               measured, measured == 1 ? "" : "s", most);
        case GateDesign::within_runs:
            return "one run per side";
    }
    return "";
}

std::string line_of(const GateReport& report, const GateRow& row) {
    const std::string open = open_text(row, report.design);
    if (!row.shift) return fmt::format("{}: {}", row.title, open);
    return fmt::format("{}: {}{}{}", row.title, change_text(row), open.empty() ? "" : "; ", open);
}

}  // namespace paretoken::reports
