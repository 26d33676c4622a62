#include "reports/analysis/gate/decision/self_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/evidence/sequential.h"
#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

/// The shifts of the pairs; those without a finite value are left out.
std::vector<double> shifts_of(const GateReport& report, const std::string& metric) {
    std::vector<double> before;
    std::vector<double> after;
    for (const GateRunNote& run : report.runs) {
        const auto found = run.values.find(metric);
        (run.of_candidate ? after : before)
            .push_back(found == run.values.end() ? 0 : std::log(found->second));
    }
    std::vector<double> shifts;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
        if (const double shift = after[i] - before[i]; std::isfinite(shift)) shifts.push_back(shift);
    return shifts;
}

/// The errors of one metric at the last look of a gate with this many pairs.
Errors errors_at(const GatePolicy& policy, std::uint64_t pairs, std::size_t metrics) {
    const Look last = planned_looks(pairs, policy.alpha, policy.beta).back();
    return {.fail = last.alpha / static_cast<double>(metrics), .pass = last.beta};
}

Shift without_shift(double noise, std::uint64_t pairs) {
    const auto n = static_cast<double>(pairs);
    return {.mean = 0, .standard_error = noise / std::sqrt(n), .degrees_of_freedom = n - 1};
}

std::optional<double> shown_by(const std::optional<GateReport>& stored, const std::string& metric) {
    if (!stored) return std::nullopt;
    for (const GateRow& row : stored->rows)
        if (row.metric == metric) return row.detectable;
    return std::nullopt;
}

std::string minutes_text(double seconds) {
    if (seconds < 90) return fmt::format("{:.0f} seconds", std::max(1.0, seconds));
    return fmt::format("{:.0f} minutes", std::ceil(seconds / 60));
}

/// " (6 minutes)", if the time of a pair is known.
std::string time_of(const SelfTest& test, std::uint64_t pairs) {
    return test.pair_s ? fmt::format(" ({})", minutes_text(*test.pair_s * static_cast<double>(pairs))) : "";
}

}  // namespace

SelfTest self_test_of(const GatePolicy& policy, const GateReport& pairs,
                      const std::optional<GateReport>& stored) {
    SelfTest test{.pairs = pairs.pairs, .pair_s = pairs.pair_s};
    if (stored)
        test.stored_runs = static_cast<std::uint64_t>(
            std::ranges::count_if(stored->runs, [](const GateRunNote& run) { return !run.of_candidate; }));
    const std::size_t judged = pairs.rows.size();
    for (const GateRow& row : pairs.rows) {
        if (row.verdict == GateVerdict::fail) test.differing.push_back(row.title);
        if (row.points || !std::isfinite(row.limit) || !row.shift || row.title.starts_with("Limit "))
            continue;
        const std::vector<double> shifts = shifts_of(pairs, row.metric);
        if (shifts.size() < 3) continue;
        const Shift measured = paired_shift(shifts);
        SelfTestRow found{.metric = row.metric,
                          .limit = row.limit,
                          .noise = measured.standard_error * std::sqrt(static_cast<double>(shifts.size()))};
        for (std::size_t i = 0; i < kSelfTestPairs.size(); ++i)
            found.shown[i] = detectable_shift(without_shift(found.noise, kSelfTestPairs[i]), row.limit,
                                              errors_at(policy, kSelfTestPairs[i], judged));
        found.shown_by_store = shown_by(stored, row.metric);
        found.pairs_to_pass = pairs_to_decide(without_shift(found.noise, shifts.size()), shifts.size(),
                                              row.limit, errors_at(policy, policy.max_pairs, judged));
        if (found.pairs_to_pass) found.pairs_to_pass = std::max<std::uint64_t>(3, *found.pairs_to_pass);
        test.rows.push_back(std::move(found));
    }
    return test;
}

std::string answer_of(const SelfTest& test) {
    if (!test.differing.empty())
        return fmt::format(
            "The server differs from itself in {}: something changes between the runs of a pair, and a gate "
            "here would fail equal builds. Find it first (a warm cache, another process, clocks).",
            fmt::join(test.differing, ", "));
    if (test.rows.empty()) return "No metric of the policy was measured on both sides.";
    constexpr std::uint64_t kUsual = kSelfTestPairs.back();
    std::uint64_t enough = 0;
    std::vector<std::string> noisy;
    double least = kInfinity;
    double most = 0;
    for (const SelfTestRow& row : test.rows) {
        const double shown = percent_of(row.shown.back(), quantity_named(row.metric).better);
        least = std::min(least, shown);
        most = std::max(most, shown);
        if (!row.pairs_to_pass || *row.pairs_to_pass > kUsual)
            noisy.push_back(row.metric);
        else
            enough = std::max(enough, *row.pairs_to_pass);
    }
    std::string text =
        fmt::format("A gate of {} pairs{} shows shifts from {} % to {} % here, depending on the metric.",
                    kUsual, time_of(test, kUsual), number_text(least), number_text(most));
    if (enough > 0)
        text += fmt::format(" Equal builds pass after about {} pairs{}{}.", enough, time_of(test, enough),
                            noisy.empty() ? ""
                                          : fmt::format(" in {} of {} metrics",
                                                        test.rows.size() - noisy.size(), test.rows.size()));
    if (!noisy.empty())
        text += fmt::format(
            " {} {} too much for {} tolerance: use longer runs, a quieter machine or a larger tolerance.",
            fmt::join(noisy, ", "), noisy.size() == 1 ? "varies" : "vary",
            noisy.size() == 1 ? "its" : "their");
    return text;
}

}  // namespace paretoken::reports
