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

/// Whether the sample could certify percentile p: dependent values count as fewer. `above` is 1 or 0 for each
/// value in the order of time.
bool is_certified(double p, std::span<const double> above) {
    const auto needed = static_cast<double>(samples_to_certify(p));
    const auto n = static_cast<double>(above.size());
    return n >= needed && n / autocorrelation_time(above) >= needed;
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

PercentileValue percentile_value(double p, std::span<const double> in_order, std::span<const double> sorted) {
    const double limit = percentile(sorted, p);
    std::vector<double> above;
    above.reserve(in_order.size());
    for (const double value : in_order) above.push_back(value > limit || value == kInfinity ? 1 : 0);
    return {p, if_finite(limit), percentile_interval(sorted, p), is_certified(p, above)};
}

/// Nothing when no success has a value.
std::optional<MetricSummary> summary_of_values(const std::vector<double>& in_order) {
    auto sorted = in_order;
    std::sort(sorted.begin(), sorted.end());
    const auto finite = finite_part(sorted);
    if (finite.empty()) return std::nullopt;
    MetricSummary summary;
    summary.n = sorted.size();
    summary.failed_mass =
        static_cast<double>(sorted.size() - finite.size()) / static_cast<double>(sorted.size());
    set_moments(summary, moments_of(finite), finite.front(), finite.back());
    for (const double p : kPercentiles) summary.percentiles.push_back(percentile_value(p, in_order, sorted));
    return summary;
}

// ---- inverse

double inverse_of(double value) {
    return value > 0 ? 1 / value : kInfinity;
}  // 1/∞ is 0: a failure has no speed

PercentileValue inverted(PercentileValue percentile) {
    if (percentile.value) percentile.value = if_finite(inverse_of(*percentile.value));
    if (percentile.ci95)
        percentile.ci95 = Interval{inverse_of(percentile.ci95->high), inverse_of(percentile.ci95->low)};
    return percentile;
}

/// Percentiles are taken of the base metric and inverted; moments and extremes are of the inverted values
/// themselves.
std::optional<MetricSummary> inverse_summary(const Metric& base, const MetricScope& scope) {
    const auto values = values_of(base, scope.requests);
    auto summary = summary_of_values(values);
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

/// Values by time block. Of very many every k-th is taken: the interval's width comes from the blocks.
std::vector<std::vector<WeightedValue>> time_blocks(const std::vector<PooledValue>& pool,
                                                    const MetricScope& scope) {
    constexpr std::size_t kMostValues = 200'000;
    std::vector<std::vector<WeightedValue>> blocks(scope.blocks);
    if (blocks.empty()) return blocks;
    const std::size_t stride = pool.size() / kMostValues + 1;
    const double block_s = seconds(scope.window.length()) / static_cast<double>(scope.blocks);
    for (std::size_t i = 0; i < pool.size(); i += stride) {
        const auto block = static_cast<std::size_t>(seconds(pool[i].at - scope.window.begin) / block_s);
        blocks[std::min(block, blocks.size() - 1)].push_back({pool[i].value, pool[i].weight});
    }
    return blocks;
}

bool is_pool_certified(double p, double limit, const std::vector<PooledValue>& pool) {
    std::vector<double> above;
    above.reserve(pool.size());
    for (const auto& item : pool) above.push_back(item.value > limit ? 1 : 0);
    return is_certified(p, above);
}

void sort_by_time(std::vector<PooledValue>& pool) {
    radix_sort(pool,
               [](const auto& item) { return static_cast<std::uint64_t>(nanoseconds_since_boot(item.at)); });
}

/// `pool` in the order of time.
std::optional<MetricSummary> summary_of_pool(const std::vector<PooledValue>& pool, const MetricScope& scope) {
    if (pool.empty()) return std::nullopt;
    const auto sorted = sorted_values(pool);
    const auto moments = moments_of(sorted);
    const auto intervals = block_bootstrap_intervals(time_blocks(pool, scope), kPercentiles, scope.seed);
    MetricSummary summary;
    summary.n = moments.n;
    set_moments(summary, moments, sorted.front().value, sorted.back().value);
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
        const double p = kPercentiles[i];
        PercentileValue value{p, percentile(sorted, p), std::nullopt, false};
        if (!intervals.empty()) {
            value.ci95 = intervals[i];
            value.certified = is_pool_certified(p, *value.value, pool);
        }
        summary.percentiles.push_back(value);
    }
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
    return summary_of_values(values_of(metric, scope.requests));
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
