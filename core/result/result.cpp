#include "core/result/result.h"

#include <algorithm>
#include <cmath>

namespace paretoken {
namespace {

constexpr std::array<std::string_view, 3> kVerdicts = {"valid", "warn", "invalid"};

}  // namespace

std::string_view name_of(Verdict verdict) {
    return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::optional<Verdict> verdict_named(std::string_view name) {
    const auto found = std::ranges::find(kVerdicts, name);
    if (found == kVerdicts.end()) return std::nullopt;
    return static_cast<Verdict>(found - kVerdicts.begin());
}

std::optional<double> Figures::at(std::string_view key) const {
    for (const FigureValue& held : values)
        if (held.key == key) return held.value;
    return std::nullopt;
}

std::optional<Interval> Figures::interval(std::string_view key) const {
    for (const FigureValue& held : values)
        if (held.key == key) return held.ci95;
    return std::nullopt;
}

void Figures::set(std::string_view key, double value, std::optional<Interval> ci95) {
    for (FigureValue& held : values) {
        if (held.key != key) continue;
        held.value = value;
        held.ci95 = ci95;
        return;
    }
    values.push_back({std::string(key), value, ci95});
}

const PercentileValue* MetricSummary::at(double p) const {
    const auto found =
        std::ranges::find_if(percentiles, [p](const auto& held) { return std::abs(held.p - p) < 1e-9; });
    return found == percentiles.end() ? nullptr : &*found;
}

// The percentile falls among the failures if one of the values that it is interpolated from (percentile() in
// core/statistics.h) is a failure; with many values, this means that p is above 1 − `failed_mass`.
bool falls_among_failures(const MetricSummary& summary, double p) {
    constexpr double kRounding = 1e-9;  // as in position_of(): .95 · 20 must be exactly 19
    const auto n = static_cast<double>(summary.n);
    const double failures = std::round(summary.failed_mass * n);
    const double highest_rank = std::ceil(std::clamp(p, 0.0, 1.0) * (n - 1) - kRounding);
    return summary.n > 0 && failures > 0 && highest_rank >= n - failures;
}

const MetricSummary* JobResults::metric(std::string_view key) const {
    const auto found = std::ranges::find(metrics, key, &MetricSummary::key);
    return found == metrics.end() ? nullptr : &*found;
}

const MetricSummary* Scope::metric(std::string_view key) const {
    const auto found = std::ranges::find_if(metrics, [key](const auto& held) { return held.key == key; });
    return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> Scope::percentile(std::string_view key, double p) const {
    const MetricSummary* const summary = metric(key);
    const PercentileValue* const held = summary ? summary->at(p) : nullptr;
    return held ? held->value : std::nullopt;
}

}  // namespace paretoken
