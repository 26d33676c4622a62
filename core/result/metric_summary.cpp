#include "core/result/metric_summary.h"

#include <cmath>

#include "core/radix_sort.h"
#include "core/record/client_delays.h"
#include "core/statistics.h"
#include "core/units.h"

namespace paretoken {
namespace {

std::optional<double> if_finite(double value) {
    if (!std::isfinite(value)) return std::nullopt;
    return value;
}

void set_moments(MetricSummary& summary, const Moments& moments, double lowest, double highest) {
    summary.mean = moments.mean;
    summary.std = moments.standard_deviation;
    summary.min = lowest;
    summary.max = highest;
}

// ---- per request

struct Values {
    std::vector<double> in_order;  ///< failures and abandoned requests are infinite
    std::vector<double> waits;     ///< of abandoned requests whose value is only known to be longer
    /// Smaller values that single requests may truly have: place in `in_order` and value.
    std::vector<std::pair<std::size_t, double>> earlier = {};
};

void add_earlier(const Metric& metric, const EarliestTimes& earliest, Values& values) {
    const double measured = values.in_order.back();
    const double least = std::min(metric.of_request(earliest.all).value_or(measured),
                                  metric.of_request(earliest.last_only).value_or(measured));
    if (least < measured) values.earlier.emplace_back(values.in_order.size() - 1, std::max(least, 0.0));
}

/// Returns the value of an abandoned request if its answer had begun and ended when it was given up; nothing
/// if that has no meaning for the metric.
std::optional<double> wait_of(const Metric& metric, RequestRecord request) {
    request.first_event = request.first_answer = request.last_event = request.closed;
    return metric.of_request(request);
}

void add_abandoned(const Metric& metric, const RequestRecord& request, Values& values) {
    const auto value = metric.of_request(request);
    if (value && metric.known_at_first_token) {
        values.in_order.push_back(*value);
    } else if (metric.elapsed) {
        const auto wait = wait_of(metric, request);
        if (!wait) return;
        values.in_order.push_back(kInfinity);
        values.waits.push_back(*wait);
    }
}

/// Adds the value of a request. A failure is infinite, or absent if that would make it look good.
void add(const Metric& metric, const RequestRecord& request, const EarliestTimes& earliest, Values& values) {
    if (request.outcome == Outcome::abandoned) return add_abandoned(metric, request, values);
    if (request.outcome != Outcome::ok) {
        if (metric.better == Better::lower) values.in_order.push_back(kInfinity);
        return;
    }
    const auto value = metric.of_request(request);
    if (!value) return;
    values.in_order.push_back(*value);
    if (earliest.differ && metric.better == Better::lower) add_earlier(metric, earliest, values);
}

/// Returns whether a summary of the metric is computed from its own value of each request.
bool has_values(const Metric& metric) {
    return metric.of_request != nullptr;
}

/// Returns the values of every metric in the order of metrics(), each in the order of the requests; empty for
/// a metric that has none of its own. One pass over the requests serves all, because reading a request takes
/// longer than computing most of its values; all values together take about 100 bytes per request.
std::vector<Values> values_of(const RequestRows& requests) {
    std::vector<Values> values(metrics().size());
    for (std::size_t i = 0; i < values.size(); ++i)
        if (has_values(metrics()[i])) values[i].in_order.reserve(requests.size());
    EarliestTimes earliest;
    requests.for_each([&](const RequestRecord& request) {
        earliest.set(request);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (has_values(metrics()[i])) add(metrics()[i], request, earliest, values[i]);
    });
    return values;
}

std::vector<double> finite_part(std::span<const double> sorted) {
    const auto end = std::find(sorted.begin(), sorted.end(), kInfinity);
    return {sorted.begin(), end};
}

/// Returns the number of different values; every failure counts.
double distinct_samples(std::span<const double> sorted) {
    const auto failed = std::ranges::count(sorted, kInfinity);
    double distinct = static_cast<double>(failed);
    for (std::size_t i = 0; i + static_cast<std::size_t>(failed) < sorted.size(); ++i)
        distinct += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
    return distinct;
}

Interval with(Interval interval, double value) {
    return {std::min(interval.low, value), std::max(interval.high, value)};
}

/// Gives percentiles of a closed loop their intervals and the limits that they decide, from the values of the
/// rounds that count. Both hold the percentile's value, which is that of the whole window. Percentiles whose
/// effective sample is too small for order statistics get an interval from blocks of rounds.
void add_evidence_of_rounds(std::vector<PercentileValue>& percentiles, std::span<const double> in_order,
                            const LoadMemory& memory) {
    std::vector<double> sorted(in_order.begin(), in_order.end());
    radix_sort(sorted);
    std::vector<double> levels;
    std::vector<PercentileValue*> sparse;
    for (PercentileValue& held : percentiles) {
        const double value = held.value.value_or(kInfinity);
        held.decided = with(exact_limits(sorted, held.p, *held.effective_n), value);
        if (const auto interval = effective_interval(sorted, held.p, *held.effective_n))
            held.ci95 = with(*interval, value);
        if (!held.value || *held.effective_n >= samples_for_interval(held.p)) continue;
        levels.push_back(held.p);
        sparse.push_back(&held);
    }
    if (levels.empty()) return;
    const auto intervals = sectioned_intervals(in_order, levels, memory.rounds);
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (intervals[i]) sparse[i]->ci95 = with(*intervals[i], *sparse[i]->value);
}

/// The same for loads without rounds, from the values of the whole window. One that is too short decides no
/// limit.
void add_evidence(std::vector<PercentileValue>& percentiles, std::span<const double> sorted,
                  const LoadMemory& memory) {
    for (PercentileValue& held : percentiles) {
        held.ci95 = effective_interval(sorted, held.p, memory.counted_share() * *held.effective_n);
        if (memory.is_enough() && memory.decides())
            held.decided = decided_limits(sorted, held.p, *held.effective_n);
    }
}

std::vector<PercentileValue> percentiles_of(std::span<const double> in_order, std::span<const double> sorted,
                                            const MetricScope& scope) {
    std::vector<PercentileValue> percentiles;
    for (const double p : scope.percentiles)
        percentiles.push_back({.p = p, .value = if_finite(percentile(sorted, p))});
    if (!scope.steady) return percentiles;
    const auto n = static_cast<double>(sorted.size());
    const LoadMemory& memory = scope.memory;
    const double distinct = distinct_samples(sorted);
    const auto effective = effective_samples(scope.percentiles, [&](std::size_t i) {
        const double limit = percentiles[i].value.value_or(kInfinity);
        return std::min(distinct, effective_sample_above(in_order, limit, memory));
    });
    for (std::size_t i = 0; i < percentiles.size(); ++i)
        percentiles[i].effective_n = std::max(effective[i], std::min(memory.round_samples, n));
    if (memory.is_enough() && memory.rounds > 0) {
        const auto kept = static_cast<std::size_t>(std::round(memory.round_share * n));
        if (kept > 0) add_evidence_of_rounds(percentiles, in_order.last(kept), memory);
    } else if (memory.counted_share() > 0) {
        add_evidence(percentiles, sorted, memory);
    }
    for (PercentileValue& held : percentiles)
        if (!held.ci95 || !memory.is_enough() || !memory.decides())
            held.enough_n = enough_values(held.p, n, *held.effective_n, memory);
    set_certified(percentiles, memory.is_enough());
    return percentiles;
}

/// Returns the percentiles of values of which some are only known to be above a wait, by the estimator of
/// Kaplan and Meier: the share of each wait is divided equally among all values above it. A percentile is the
/// smallest value at or below which its share lies; nothing where it lies among failures or beyond the last
/// value. `finite` is sorted, and `failures` infinite values follow it.
/// Source: E. Kaplan, P. Meier, "Nonparametric Estimation from Incomplete Observations", JASA 53 (1958).
std::vector<std::optional<double>> censored_percentiles(std::span<const double> finite, std::size_t failures,
                                                        std::vector<double> waits,
                                                        std::span<const double> percentiles) {
    radix_sort(waits);
    std::vector<std::optional<double>> found(percentiles.size());
    auto at_risk = static_cast<double>(finite.size() + failures + waits.size());
    double above = 1;  // share of the values that are above those seen so far
    std::size_t wait = 0;
    std::size_t next = 0;
    for (const double value : finite) {
        for (; wait < waits.size() && waits[wait] < value; ++wait) at_risk -= 1;
        above *= 1 - 1 / at_risk;
        at_risk -= 1;
        constexpr double kRounding = 1e-9;
        for (; next < percentiles.size() && 1 - above >= percentiles[next] - kRounding; ++next)
            found[next] = value;
    }
    return found;
}

/// Sets PercentileValue::instrument of percentiles whose values are in `values`.
void set_instrument(std::vector<PercentileValue>& percentiles, const Values& values) {
    if (values.earlier.empty()) return;
    std::vector<double> sorted = values.in_order;
    for (const auto& [place, value] : values.earlier) sorted[place] = value;
    radix_sort(sorted);
    for (PercentileValue& held : percentiles) {
        const double earlier = percentile(sorted, held.p);
        if (held.value && earlier < *held.value) held.instrument = *held.value - earlier;
    }
}

/// Summarises values; returns nothing when no success has a value.
std::optional<MetricSummary> summary_of_values(const Values& values, const MetricScope& scope) {
    auto sorted = values.in_order;
    radix_sort(sorted);
    const auto finite = finite_part(sorted);
    if (finite.empty()) return std::nullopt;
    MetricSummary summary;
    summary.n = sorted.size();
    const std::size_t failures = sorted.size() - finite.size() - values.waits.size();
    summary.failed_mass = static_cast<double>(failures) / static_cast<double>(sorted.size());
    set_moments(summary, moments_of(finite), finite.front(), finite.back());
    summary.percentiles = percentiles_of(values.in_order, sorted, scope);
    set_instrument(summary.percentiles, values);
    if (values.waits.empty()) return summary;
    const double shortest = *std::ranges::min_element(values.waits);
    const auto censored = censored_percentiles(finite, failures, values.waits, scope.percentiles);
    for (std::size_t i = 0; i < summary.percentiles.size(); ++i) {
        PercentileValue& held = summary.percentiles[i];
        // Above the shortest wait the value is an estimate without an interval and without a certificate.
        if (held.value.value_or(kInfinity) > shortest) held = {.p = held.p, .value = censored[i]};
    }
    return summary;
}

// ---- inverse

std::size_t place_of(std::string_view tag) {
    return static_cast<std::size_t>(metric_named(tag) - metrics().data());
}

double inverse_of(double value) {
    return value > 0 ? 1 / value : kInfinity;
}  // 1/∞ is 0: the speed of a failure is 0

PercentileValue inverted(PercentileValue percentile) {
    if (percentile.value && percentile.instrument)
        percentile.instrument =
            inverse_of(*percentile.value - *percentile.instrument) - inverse_of(*percentile.value);
    // A missing value means ∞, which is a percentile that falls among failures.
    percentile.value = if_finite(inverse_of(percentile.value.value_or(kInfinity)));
    if (percentile.ci95)
        percentile.ci95 = Interval{inverse_of(percentile.ci95->high), inverse_of(percentile.ci95->low)};
    if (percentile.decided)
        percentile.decided =
            Interval{inverse_of(percentile.decided->high), inverse_of(percentile.decided->low)};
    return percentile;
}

/// Inverts the percentiles of the base metric, which has these values. Moments and extremes are computed from
/// the inverted values.
std::optional<MetricSummary> inverse_summary(const Values& values, const MetricScope& scope) {
    auto summary = summary_of_values(values, scope);
    if (!summary) return std::nullopt;
    std::vector<double> inverses;
    for (const double value : values.in_order) {
        if (std::isfinite(value) && value > 0) inverses.push_back(1 / value);
    }
    if (inverses.empty()) return std::nullopt;
    const auto [lowest, highest] = std::minmax_element(inverses.begin(), inverses.end());
    set_moments(*summary, moments_of(inverses), *lowest, *highest);
    std::transform(summary->percentiles.begin(), summary->percentiles.end(), summary->percentiles.begin(),
                   inverted);
    return summary;
}

}  // namespace

std::optional<std::uint64_t> enough_values(double p, double n, double effective_n, const LoadMemory& memory) {
    if (!(effective_n > 0)) return std::nullopt;
    const double longer =
        std::max(samples_for_interval(p) / effective_n,
                 memory.window_s > 0 ? std::max(memory.enough_s, memory.decides_s) / memory.window_s : 1);
    return static_cast<std::uint64_t>(std::ceil(n * std::max(1.0, longer)));
}

bool is_from_blocks(const PercentileValue& percentile) {
    return percentile.ci95 && percentile.effective_n &&
           *percentile.effective_n < samples_for_interval(percentile.p);
}

void set_certified(std::vector<PercentileValue>& percentiles, bool is_long_enough) {
    bool lower = is_long_enough;
    for (auto& held : percentiles) {
        held.certified = lower && held.ci95 && held.effective_n && !is_from_blocks(held) &&
                         *held.effective_n >= static_cast<double>(samples_to_certify(held.p));
        lower = held.certified;
    }
}

std::vector<std::optional<MetricSummary>> summaries_of(const MetricScope& scope) {
    const std::vector<Values> values = values_of(scope.requests);
    std::vector<std::optional<MetricSummary>> summaries(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Metric& metric = metrics()[i];
        if (metric.pool != nullptr || metric.of_jobs) continue;
        summaries[i] = metric.inverse_of.empty()
                           ? summary_of_values(values[i], scope)
                           : inverse_summary(values[place_of(metric.inverse_of)], scope);
        if (summaries[i]) summaries[i]->key = key_of(metric);
    }
    return summaries;
}

}  // namespace paretoken
