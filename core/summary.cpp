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
    ++counts.by_outcome[name];
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
        counts.unstreamed += record.first_event ? 0 : 1;
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

/// Blocks of at least a quarter of a median request; 0 when too few fit.
std::size_t evidence_blocks(TimeSpan window, std::optional<double> median_e2e_s) {
    constexpr double kMost = 512;
    constexpr double kFewest = 20;
    if (!median_e2e_s) return 0;
    const double fitting =
        std::min(kMost, std::floor(seconds(window.length()) / std::max(*median_e2e_s / 4, 1e-9)));
    return fitting < kFewest ? 0 : static_cast<std::size_t>(fitting);
}

/// What the load as a whole remembers, classes and warm-up together.
LoadMemory memory_of_load(std::span<const RequestRecord> records, TimeSpan window,
                          const SummaryOptions& options) {
    std::vector<Stay> stays;
    stays.reserve(records.size());
    for (const auto& record : records)
        stays.push_back({seconds(record.scheduled - window.begin), seconds(end_of(record) - window.begin)});
    std::sort(stays.begin(), stays.end(), [](const auto& a, const auto& b) { return a.begin_s < b.begin_s; });
    const bool closed_loop = !options.open_loop && options.concurrency;
    return memory_of(stays, {0, seconds(window.length())}, closed_loop);
}

MetricScope metric_scope_of(std::span<const RequestRecord> records, const SteadyWindow& window,
                            const LoadMemory& memory) {
    MetricScope scope;
    scope.window = window.span;
    scope.steady = window.steady;
    scope.memory = memory;
    for (const auto& record : records) {
        if (!is_counted(record)) continue;
        if (scope.window.contains(record.scheduled)) scope.requests.push_back(&record);
        if (record.outcome == Outcome::ok) scope.streams.push_back(&record);
    }
    std::stable_sort(scope.requests.begin(), scope.requests.end(),
                     [](const auto* a, const auto* b) { return a->scheduled < b->scheduled; });
    scope.blocks = evidence_blocks(scope.window, median_e2e(scope.requests));
    return scope;
}

Window report_of(const SteadyWindow& window, TimeSpan run) {
    return {seconds(window.span.begin - run.begin), seconds(window.span.end - run.begin),
            seconds(run.length()), window.steady, window.how};
}

/// Totals and figures of the window; intervals only where it is steady.
void measure_window(std::span<const RequestRecord> records, const SteadyWindow& window,
                    std::optional<double> median_e2e_s, const SummaryOptions& options, Scope& scope) {
    if (window.span.length() <= Duration{}) return;
    const std::size_t count =
        window.steady && median_e2e_s ? interval_blocks(window.span, std::max(*median_e2e_s, 1e-9)) : 0;
    const auto blocks = blocks_of(records, window.span, count, options);
    for (const Totals& block : blocks) scope.totals += block;
    scope.totals.seconds = seconds(window.span.length());
    scope.throughput = figures_of(scope.totals, blocks);
}

/// Everything of one scope: of all requests, or of those of one class.
Scope scope_of(std::span<const RequestRecord> records, TimeSpan run, const SteadyWindow& window,
               const LoadMemory& memory, const SummaryOptions& options) {
    Scope scope;
    scope.counts = counts_of(records, window.span);
    const auto summarised = metric_scope_of(records, window, memory);
    PooledBefore pooled;
    for (const auto& metric : metrics()) {
        if (auto held = summary_of(metric, summarised, pooled)) scope.metrics.push_back(std::move(*held));
    }
    measure_window(records, window, median_e2e(summarised.requests), options, scope);
    scope.whole_run_totals = totals_of(records, run, options);
    scope.whole_run = figures_of(scope.whole_run_totals);
    return scope;
}

/// The records of each class; empty when none carries a class.
std::map<std::string, std::vector<RequestRecord>> records_by_class(std::span<const RequestRecord> records) {
    std::map<std::string, std::vector<RequestRecord>> by_class;
    for (const auto& record : records)
        if (!record.request_class.empty()) by_class[record.request_class].push_back(record);
    return by_class;
}

/// Whether a figure depends on SLOs.
bool is_judgement(std::string_view key) {
    return key == figure::kGoodput || key == figure::kGoodputRatio || key == figure::kGoodOutputTokens;
}

/// Replaces what SLOs decide of one stretch.
void replace_judgements(const Totals& judged, const Figures& held, Totals& totals, Figures& kept) {
    totals.judged = judged.judged;
    totals.judged_good = judged.judged_good;
    totals.good_requests = judged.good_requests;
    totals.good_output_tokens = judged.good_output_tokens;
    Figures merged;
    for (const Figure& figure : figures()) {
        const Figures& from = is_judgement(figure.key) ? held : kept;
        if (const auto value = from.at(figure.key)) merged.set(figure.key, *value, from.interval(figure.key));
    }
    kept = std::move(merged);
}

void judge_scope(std::span<const RequestRecord> records, TimeSpan run, const SteadyWindow& window,
                 const SummaryOptions& options, Scope& scope) {
    Scope judged;
    const auto summarised = metric_scope_of(records, window, LoadMemory{});
    measure_window(records, window, median_e2e(summarised.requests), options, judged);
    replace_judgements(judged.totals, judged.throughput, scope.totals, scope.throughput);
    const Totals whole = totals_of(records, run, options);
    replace_judgements(whole, figures_of(whole), scope.whole_run_totals, scope.whole_run);
}

}  // namespace

RunSummary summarize(std::span<const RequestRecord> records, const SummaryOptions& options) {
    RunSummary summary;
    const auto window = steady_window_of(records, options);
    summary.run = run_of(records);
    const auto memory = memory_of_load(records, window.span, options);
    static_cast<Scope&>(summary) = scope_of(records, summary.run, window, memory, options);
    summary.window = window.span;
    summary.window_report = report_of(window, summary.run);
    for (const auto& [name, own] : records_by_class(records))
        summary.classes.emplace(name, scope_of(own, summary.run, window, memory, options));
    summary.series = series_of(records, summary.run);
    return summary;
}

void judge_anew(RunResult& result, std::span<const RequestRecord> records, TimePoint zero,
                const std::vector<Slo>& slos) {
    const auto at = [&](double since_start_s) {
        return zero + from_seconds(result.window.zero_s + since_start_s);
    };
    const SteadyWindow window{.span = {at(result.window.begin_s), at(result.window.end_s)},
                              .steady = result.window.steady,
                              .how = result.window.how};
    const TimeSpan run{at(0), at(result.window.run_s)};
    const SummaryOptions options{.open_loop = result.open_loop(),
                                 .concurrency = result.concurrency,
                                 .last_dispatch = {},
                                 .slos = slos};
    judge_scope(records, run, window, options, result);
    const auto by_class = records_by_class(records);
    for (auto& [name, scope] : result.classes) {
        if (const auto own = by_class.find(name); own != by_class.end())
            judge_scope(own->second, run, window, options, scope);
    }
}

}  // namespace paretoken
