#include "reports/analysis/gate/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "core/text/number_text.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

struct Moment {
    std::string time;  ///< time in UTC, which can be sorted as text
    double value = 0;
};

std::vector<Moment> moments_in(const GateQuantity& quantity, std::span<const GateRun> runs) {
    std::vector<Moment> moments;
    for (const GateRun& run : runs)
        if (const auto value = value_of(quantity, run.result).value; value && *value > 0)
            moments.push_back({run.result.provenance.started_at, *value});
    std::stable_sort(moments.begin(), moments.end(),
                     [](const Moment& a, const Moment& b) { return a.time < b.time; });
    return moments;
}

/// The spread between days; nothing for fewer than 3 days.
std::optional<DaySpread> spread_of(std::span<const Moment> moments) {
    constexpr std::size_t kDate = 10;  // length of "2026-11-22"
    std::map<std::string, std::vector<double>> days;
    for (const Moment& moment : moments) days[moment.time.substr(0, kDate)].push_back(std::log(moment.value));
    if (days.size() < 3) return std::nullopt;
    std::vector<double> means;
    for (const auto& [day, logs] : days) means.push_back(moments_of(logs).mean);
    return DaySpread{moments_of(means).standard_deviation, days.size()};
}

std::string trend_text(const GateMetric& metric, const GateQuantity& quantity,
                       std::span<const Moment> moments) {
    constexpr double kChance = 0.01;
    std::vector<double> logs;
    for (const Moment& moment : moments) logs.push_back(std::log(moment.value));
    const RobustTrend trend = robust_trend(logs);
    const double worse = quantity.better == Better::higher ? -trend.change : trend.change;
    if (quantity.better == Better::neither || trend.p_value > kChance ||
        worse <= std::log1p(metric.tolerance))
        return "";
    const double scale = quantity.unit.substr(0, 1) == "s" ? 1e3 : 1;
    return fmt::format(
        "{} has become {} % worse over the {} runs of the history (from about {} to {}{}), "
        "significant at p = {:.1g}: the baseline itself becomes worse over time.",
        quantity.title, number_text(percent_of(worse)), moments.size(),
        significant(moments.front().value * scale), significant(moments.back().value * scale),
        scale > 1 ? " ms" : "", trend.p_value);
}

}  // namespace

GateHistory history_of(const GatePolicy& policy, std::span<const GateRun> runs) {
    GateHistory history;
    for (const GateMetric& metric : policy.metrics) {
        const GateQuantity quantity = quantity_named(metric.name);
        const std::vector<Moment> moments = moments_in(quantity, runs);
        if (const auto spread = spread_of(moments)) history.day_spread[metric.name] = *spread;
        if (std::string text = trend_text(metric, quantity, moments); !text.empty())
            history.trends.push_back(std::move(text));
    }
    return history;
}

}  // namespace paretoken::reports
