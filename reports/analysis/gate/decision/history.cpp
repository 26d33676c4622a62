#include "reports/analysis/gate/decision/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/evidence/sequential.h"
#include "core/evidence/unpaired.h"
#include "core/run/distinct_runs.h"
#include "core/stable_sort.h"
#include "core/text/number_text.h"
#include "reports/analysis/gate/decision/decision.h"
#include "reports/analysis/gate/decision/run_values.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

struct Moment {
    std::string time;  ///< time in UTC, which can be sorted as text
    std::string session;
    double value = 0;
    std::uint64_t work = 0;
};

std::vector<Moment> moments_in(const GateQuantity& quantity, std::span<const GateRun> runs) {
    std::vector<Moment> moments;
    for (const GateRun& run : runs)
        if (const auto value = value_of(quantity, run.result).value; value && *value > 0)
            moments.push_back({run.result.provenance.started_at, session_of(run.result), *value,
                               number_of_work(run.result)});
    sort_stably(moments, {}, &Moment::time);
    return moments;
}

/// The spread between sessions; nothing for fewer than 3 of them.
std::optional<DaySpread> spread_between(std::span<const Moment> moments) {
    std::map<std::string, Session> sessions;
    for (const Moment& moment : moments)
        sessions[moment.session].emplace_back(std::log(moment.value), moment.work);
    std::vector<Session> values;
    for (auto& [name, session] : sessions) values.push_back(std::move(session));
    const auto variance = variance_between(values);
    if (!variance) return std::nullopt;
    return DaySpread{std::sqrt(variance->value), values.size()};
}

std::string trend_text(const GateMetric& metric, const GateQuantity& quantity,
                       std::span<const Moment> moments) {
    constexpr double kChance = 0.01;
    std::vector<double> logs;
    for (const Moment& moment : moments) logs.push_back(std::log(moment.value));
    const RobustTrend trend = robust_trend(logs);
    const double worse = quantity.better == Better::higher ? -trend.change : trend.change;
    if (quantity.better == Better::neither || trend.p_value > kChance ||
        worse <= shift_of_share(metric.tolerance, quantity.better))
        return "";
    const double scale = quantity.unit.substr(0, 1) == "s" ? 1e3 : 1;
    return fmt::format(
        "{} has become {} % worse over the {} runs of the history (from about {} to {}{}), "
        "significant at p = {:.1g}: the baseline itself becomes worse over time.",
        quantity.title, number_text(percent_of(worse, quantity.better)), moments.size(),
        significant(moments.front().value * scale), significant(moments.back().value * scale),
        scale > 1 ? " ms" : "", trend.p_value);
}

}  // namespace

GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs) {
    GateHistory history;
    for (const GateMetric& metric : policy.metrics) {
        const GateQuantity quantity = quantity_named(metric.name);
        const std::vector<Moment> moments = moments_in(quantity, runs);
        if (const auto spread = spread_between(moments)) history.day_spread[metric.name] = *spread;
        if (std::string text = trend_text(metric, quantity, moments); !text.empty())
            history.trends.push_back(std::move(text));
    }
    return history;
}

GateReport decided_with_history(const GatePolicy& policy, GateInput input, std::vector<GateRun> earlier,
                                const std::set<Across>& across) {
    DistinctRuns judged;
    for (const auto* const side : {&input.baseline, &input.candidate})
        for (const GateRun& run : *side) judged.add(run.result, run.directory);
    const auto repeated = std::erase_if(earlier, [&](const GateRun& run) {
        if (judged.holds(run.result)) return true;
        judged.add(run.result, run.directory);
        return false;
    });
    const auto others = std::erase_if(earlier, [&](const GateRun& run) {
        return !why_unusable(run.result, false).empty() ||
               difference_of_work(input.baseline.front().result, run.result, across).has_value();
    });
    earlier.insert(earlier.end(), input.baseline.begin(), input.baseline.end());
    GateHistory history = history_of(policy, earlier);
    input.day_spread = std::move(history.day_spread);
    GateReport report = decided(policy, input);
    if (repeated > 0)
        report.notes.push_back(fmt::format(
            "{} runs of the history are the same runs as others of this gate, and are left out.", repeated));
    if (others > 0)
        report.notes.push_back(
            fmt::format("{} runs of the history are invalid or did other work, and are left out.", others));
    report.notes.insert(report.notes.end(), history.trends.begin(), history.trends.end());
    return report;
}

}  // namespace paretoken::reports
