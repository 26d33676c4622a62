#include "core/metric_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/radix_sort.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kPercentiles = {0.5, 0.75, 0.9, 0.95, 0.99, 0.999};

std::optional<double> if_finite(double value) {
    if (!std::isfinite(value)) return std::nullopt;
    return value;
}

/// The effective sample of each percentile, where `effective_n` says it for its value alone; none when the
/// window is not steady.
template <typename EffectiveN>
std::vector<double> effective_samples(const MetricScope& scope, std::span<const double> limits,
                                      EffectiveN effective_n) {
    constexpr double kFewExceedances = 0.9;
    std::vector<double> effective;
    if (!scope.steady) return effective;
    double least = kInfinity;
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
        double n = effective_n(limits[i]);
        if (kPercentiles[i] >= kFewExceedances) least = n = std::min(n, least);
        effective.push_back(n);
    }
    return effective;
}

/// How many values would give an interval, at the same pace.
std::optional<std::uint64_t> enough_values(double p, double n, double effective_n, const LoadMemory& memory) {
    if (!(effective_n > 0)) return std::nullopt;
    const double longer = std::max(samples_for_interval(p) / effective_n,
                                   memory.window_s > 0 ? memory.enough_s / memory.window_s : 1);
    return static_cast<std::uint64_t>(std::ceil(n * std::max(1.0, longer)));
}

/// Certified in ascending order of the percentiles: none above one that is not.
void set_certified(std::vector<PercentileValue>& percentiles) {
    bool lower = true;
    for (auto& held : percentiles) {
        held.certified = lower && held.ci95 && held.effective_n &&
                         *held.effective_n >= static_cast<double>(samples_to_certify(held.p));
        lower = held.certified;
    }
}

void set_moments(MetricSummary& summary, const Moments& moments, double lowest, double highest) {
    summary.mean = moments.mean;
    summary.std = moments.standard_deviation;
    summary.min = lowest;
    summary.max = highest;
}

// ---- per request

/// Values in the order of the requests; failures are infinite, or absent where that would make them look
/// good.
std::vector<double> values_of(const Metric& metric, const std::vector<const RequestRecord*>& requests) {
    std::vector<double> values;
    values.reserve(requests.size());
    for (const auto* request : requests) {
        if (request->outcome != Outcome::ok) {
            if (metric.better == Better::lower) values.push_back(kInfinity);
            continue;
        }
        if (const auto value = metric.of_request(*request)) values.push_back(*value);
    }
    return values;
}

std::vector<double> finite_part(std::span<const double> sorted) {
    const auto end = std::find(sorted.begin(), sorted.end(), kInfinity);
    return {sorted.begin(), end};
}

/// Equal values are one sample; failures are different events.
double distinct_samples(std::span<const double> sorted) {
    const auto failed = std::count(sorted.begin(), sorted.end(), kInfinity);
    double distinct = static_cast<double>(failed);
    for (std::size_t i = 0; i + static_cast<std::size_t>(failed) < sorted.size(); ++i)
        distinct += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
    return distinct;
}

double effective_n_of(std::span<const double> in_order, double limit, const LoadMemory& memory) {
    std::vector<double> over;
    over.reserve(in_order.size());
    for (const double value : in_order) over.push_back(value > limit || value == kInfinity ? 1 : 0);
    return effective_sample(over, std::vector<double>(over.size(), 1), memory);
}

std::vector<PercentileValue> percentiles_of(std::span<const double> in_order, std::span<const double> sorted,
                                            const MetricScope& scope) {
    std::vector<double> limits;
    for (const double p : kPercentiles) limits.push_back(percentile(sorted, p));
    const double distinct = distinct_samples(sorted);
    const auto effective = effective_samples(scope, limits, [&](double limit) {
        return std::min(distinct, effective_n_of(in_order, limit, scope.memory));
    });
    std::vector<PercentileValue> percentiles;
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
        PercentileValue held{.p = kPercentiles[i], .value = if_finite(limits[i])};
        if (!effective.empty()) {
            held.effective_n = effective[i];
            if (scope.memory.is_enough()) {
                held.ci95 = effective_interval(sorted, held.p, effective[i]);
                held.decided = decided_limits(sorted, held.p, effective[i]);
            }
            if (!held.ci95)
                held.enough_n =
                    enough_values(held.p, static_cast<double>(sorted.size()), effective[i], scope.memory);
        }
        percentiles.push_back(held);
    }
    set_certified(percentiles);
    return percentiles;
}

/// Nothing when no success has a value.
std::optional<MetricSummary> summary_of_values(const std::vector<double>& in_order,
                                               const MetricScope& scope) {
    auto sorted = in_order;
    std::sort(sorted.begin(), sorted.end());
    const auto finite = finite_part(sorted);
    if (finite.empty()) return std::nullopt;
    MetricSummary summary;
    summary.n = sorted.size();
    summary.failed_mass =
        static_cast<double>(sorted.size() - finite.size()) / static_cast<double>(sorted.size());
    set_moments(summary, moments_of(finite), finite.front(), finite.back());
    summary.percentiles = percentiles_of(in_order, sorted, scope);
    return summary;
}

// ---- inverse

double inverse_of(double value) {
    return value > 0 ? 1 / value : kInfinity;
}  // 1/∞ is 0: a failure has no speed

PercentileValue inverted(PercentileValue percentile) {
    // Nothing stands for ∞: a percentile that falls among failures.
    percentile.value = if_finite(inverse_of(percentile.value.value_or(kInfinity)));
    if (percentile.ci95)
        percentile.ci95 = Interval{inverse_of(percentile.ci95->high), inverse_of(percentile.ci95->low)};
    if (percentile.decided)
        percentile.decided =
            Interval{inverse_of(percentile.decided->high), inverse_of(percentile.decided->low)};
    return percentile;
}

/// Percentiles are taken of the base metric and inverted; moments and extremes are of the inverted values
/// themselves.
std::optional<MetricSummary> inverse_summary(const Metric& base, const MetricScope& scope) {
    const auto values = values_of(base, scope.requests);
    auto summary = summary_of_values(values, scope);
    if (!summary) return std::nullopt;
    std::vector<double> inverses;
    for (const double value : values) {
        if (std::isfinite(value) && value > 0) inverses.push_back(1 / value);
    }
    if (inverses.empty()) return std::nullopt;
    const auto [lowest, highest] = std::minmax_element(inverses.begin(), inverses.end());
    set_moments(*summary, moments_of(inverses), *lowest, *highest);
    std::transform(summary->percentiles.begin(), summary->percentiles.end(), summary->percentiles.begin(),
                   inverted);
    return summary;
}

// ---- pooled

/// Values whose later event lies in the window.
std::vector<PooledValue> pool_of(const Metric& metric, const MetricScope& scope) {
    std::size_t events = 0;
    for (const auto* stream : scope.streams) events += stream->events.size();
    std::vector<PooledValue> pool;
    pool.reserve(events);
    for (const auto* stream : scope.streams) metric.pool(*stream, pool);
    std::erase_if(pool,
                  [&](const auto& item) { return item.weight == 0 || !scope.window.contains(item.at); });
    return pool;
}

std::vector<WeightedValue> sorted_values(const std::vector<PooledValue>& pool) {
    std::vector<WeightedValue> sorted;
    for (const auto& item : pool) {  // the streams of a batch have the same gaps at the same time
        if (!sorted.empty() && sorted.back().value == item.value) {
            sorted.back().weight += item.weight;
        } else {
            sorted.push_back({item.value, item.weight});
        }
    }
    radix_sort(sorted, [](const auto& item) { return radix_key(item.value); });
    return sorted;
}

/// How many values above `limit` lie in each block of time.
std::vector<double> counts_above(double limit, const std::vector<PooledValue>& pool,
                                 const MetricScope& scope) {
    std::vector<double> counts(scope.blocks, 0);
    const double block_s = seconds(scope.window.length()) / static_cast<double>(scope.blocks);
    for (const auto& item : pool) {
        if (!(item.value > limit)) continue;
        const auto block = static_cast<std::size_t>(seconds(item.at - scope.window.begin) / block_s);
        counts[std::min(block, counts.size() - 1)] += item.weight;
    }
    return counts;
}

void sort_by_time(std::vector<PooledValue>& pool) {
    radix_sort(pool,
               [](const auto& item) { return static_cast<std::uint64_t>(nanoseconds_since_boot(item.at)); });
}

/// The interval of a percentile of pooled values.
std::optional<Interval> pooled_interval(std::span<const WeightedValue> sorted, double p, double effective_n) {
    const auto levels = percentile_levels(p, effective_n);
    if (!levels) return std::nullopt;
    const Interval interval{percentile(sorted, levels->low), percentile(sorted, levels->high)};
    if (!(interval.low < interval.high)) return std::nullopt;
    return interval;
}

/// `pool` in the order of time.
std::optional<MetricSummary> summary_of_pool(const std::vector<PooledValue>& pool, const MetricScope& scope) {
    if (pool.empty()) return std::nullopt;
    const auto sorted = sorted_values(pool);
    const auto moments = moments_of(sorted);
    MetricSummary summary;
    summary.n = moments.n;
    set_moments(summary, moments, sorted.front().value, sorted.back().value);
    std::vector<double> limits;
    for (const double p : kPercentiles) limits.push_back(percentile(sorted, p));
    std::vector<double> effective;
    if (scope.blocks > 0) {
        const auto weights = counts_above(-kInfinity, pool, scope);
        effective = effective_samples(scope, limits, [&](double limit) {
            return effective_sample(counts_above(limit, pool, scope), weights, scope.memory);
        });
    }
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
        PercentileValue held{.p = kPercentiles[i], .value = limits[i]};
        if (!effective.empty()) {
            held.effective_n = effective[i];
            if (scope.memory.is_enough()) held.ci95 = pooled_interval(sorted, held.p, effective[i]);
            if (!held.ci95)
                held.enough_n =
                    enough_values(held.p, static_cast<double>(moments.n), effective[i], scope.memory);
        }
        summary.percentiles.push_back(held);
    }
    set_certified(summary.percentiles);
    return summary;
}

std::optional<MetricSummary> pooled_summary(const Metric& metric, const MetricScope& scope,
                                            PooledBefore& before) {
    auto pool = pool_of(metric, scope);
    if (before.summary && before.pool == pool) return before.summary;
    before.pool = pool;
    if (!std::is_sorted(pool.begin(), pool.end(), [](const auto& a, const auto& b) { return a.at < b.at; }))
        sort_by_time(pool);
    return before.summary = summary_of_pool(pool, scope);
}

std::optional<MetricSummary> unnamed_summary(const Metric& metric, const MetricScope& scope,
                                             PooledBefore& before) {
    if (metric.pool != nullptr) return pooled_summary(metric, scope, before);
    if (!metric.inverse_of.empty()) return inverse_summary(*metric_named(metric.inverse_of), scope);
    return summary_of_values(values_of(metric, scope.requests), scope);
}

}  // namespace

std::optional<MetricSummary> summary_of(const Metric& metric, const MetricScope& scope) {
    PooledBefore none;
    return summary_of(metric, scope, none);
}

std::optional<MetricSummary> summary_of(const Metric& metric, const MetricScope& scope,
                                        PooledBefore& before) {
    auto summary = unnamed_summary(metric, scope, before);
    if (summary) summary->key = key_of(metric);
    return summary;
}

}  // namespace paretoken
