#include "core/summary.h"

#include <algorithm>
#include <cmath>

#include "core/metric_summary.h"
#include "core/metrics.h"
#include "core/rates.h"
#include "core/statistics.h"
#include "core/window.h"

namespace paretoken {
namespace {

void count_failure(const RequestRecord& record, Counts& counts) {
    const std::string name(name_of(record.outcome));
    ++counts.failed;
    ++counts.by_class[name];
    if (!record.error.empty()) counts.example_errors.emplace(name, record.error);
}

void count_request(const RequestRecord& record, TimeSpan window, Counts& counts) {
    if (record.outcome == Outcome::cancelled) {
        ++counts.cancelled;
        return;
    }
    ++counts.requests;
    counts.in_window += window.contains(record.scheduled) ? 1 : 0;
    counts.resent += record.resent ? 1 : 0;
    if (record.outcome == Outcome::ok) {
        ++counts.ok;
    } else {
        count_failure(record, counts);
    }
}

Counts counts_of(std::span<const RequestRecord> records, TimeSpan window) {
    Counts counts;
    for (const auto& record : records) {
        if (record.warmup) {
            ++counts.warmup;
        } else {
            count_request(record, window, counts);
        }
    }
    return counts;
}

/// Median end-to-end time of successes, the natural unit of blocks of time; nothing without any.
std::optional<double> median_e2e(const std::vector<const RequestRecord*>& requests) {
    std::vector<double> values;
    for (const auto* request : requests) {
        const auto value = metric_named("e2e")->of_request(*request);
        if (request->outcome == Outcome::ok && value) values.push_back(*value);
    }
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    return percentile(values, 0.5);
}

/// Blocks of at least one median request, so that one request's gaps do not fill several; 0 when too few fit.
std::size_t bootstrap_blocks(TimeSpan window, std::optional<double> median_e2e_s) {
    constexpr double kMost = 50;
    constexpr double kFewest = 10;
    if (!median_e2e_s) return 0;
    const double fitting =
        std::min(kMost, std::floor(seconds(window.length()) / std::max(*median_e2e_s, 1e-9)));
    return fitting < kFewest ? 0 : static_cast<std::size_t>(fitting);
}

MetricScope scope_of(std::span<const RequestRecord> records, TimeSpan window, std::uint64_t seed) {
    MetricScope scope;
    scope.window = window;
    scope.seed = seed;
    for (const auto& record : records) {
        if (!is_counted(record)) continue;
        if (window.contains(record.scheduled)) scope.requests.push_back(&record);
        if (record.outcome == Outcome::ok) scope.streams.push_back(&record);
    }
    std::stable_sort(scope.requests.begin(), scope.requests.end(),
                     [](const auto* a, const auto* b) { return a->scheduled < b->scheduled; });
    scope.blocks = bootstrap_blocks(window, median_e2e(scope.requests));
    return scope;
}

Window report_of(const SteadyWindow& window, TimeSpan run) {
    return {seconds(window.span.begin - run.begin), seconds(window.span.end - run.begin),
            seconds(run.length()), window.steady, window.how};
}

Throughput steady_throughput(std::span<const RequestRecord> records, const SteadyWindow& window,
                             const MetricScope& scope, const SummaryOptions& options) {
    auto rates = throughput_of(records, window.span, options);
    const auto e2e = median_e2e(scope.requests);
    if (window.steady && e2e) {
        rates.output_tokens_per_s_ci95 = output_rate_interval(records, window.span, std::max(*e2e, 1e-9));
    }
    return rates;
}

}  // namespace

RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options) {
    RunSummary summary;
    const auto window = steady_window_of(records, options);
    summary.run = run_of(records);
    summary.window = window.span;
    summary.window_report = report_of(window, summary.run);
    summary.counts = counts_of(records, window.span);
    const auto scope = scope_of(records, window.span, options.seed);
    PooledBefore pooled;
    for (const auto& metric : metrics()) {
        if (auto held = summary_of(metric, scope, pooled)) summary.metrics.push_back(std::move(*held));
    }
    summary.throughput = steady_throughput(records, window, scope, options);
    summary.whole_run = throughput_of(records, summary.run, options);
    summary.series = series_of(records, summary.run);
    return summary;
}

}  // namespace paretoken
