#include "core/result/alerts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "core/text/number_text.h"

namespace paretoken {
namespace {

template <class Value>
struct Named {
    Value value;
    std::string_view name;
};
template <class Value>
Named(Value, std::string_view) -> Named<Value>;

constexpr std::array kStates = {Named{AlertState::inactive, "inactive"},
                                Named{AlertState::pending, "pending"}, Named{AlertState::firing, "firing"},
                                Named{AlertState::unknown, "unknown"}};
constexpr std::array kSeverities = {Named{AlertSeverity::warn, "warn"}, Named{AlertSeverity::fail, "fail"}};
constexpr std::array kComparisons = {Named{AlertComparison::above, "above"},
                                     Named{AlertComparison::below, "below"},
                                     Named{AlertComparison::above_baseline_times, "above_baseline_times"},
                                     Named{AlertComparison::below_baseline_by, "below_baseline_by"},
                                     Named{AlertComparison::risen_by, "risen_by"}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
    for (const auto& entry : table)
        if (entry.value == value) return entry.name;
    return "";
}

template <class Value, std::size_t n>
std::optional<Value> named_in(const std::array<Named<Value>, n>& table, std::string_view name) {
    for (const auto& entry : table)
        if (entry.name == name) return entry.value;
    return std::nullopt;
}

constexpr AlertSeries percentile_row(std::string_view name, std::string_view tag, double p) {
    return {.name = name, .unit = "s", .source = AlertSource::percentile, .key = tag, .p = p};
}

constexpr std::array kSeries = {
    AlertSeries{.name = "running", .unit = "requests", .source = AlertSource::gauge, .key = "running"},
    AlertSeries{.name = "waiting", .unit = "requests", .source = AlertSource::gauge, .key = "waiting"},
    AlertSeries{.name = "kv_usage", .unit = "ratio", .source = AlertSource::gauge, .key = "kv_usage"},
    AlertSeries{.name = "prefix_hit_ratio",
                .unit = "ratio",
                .source = AlertSource::ratio,
                .key = "prefix_hits",
                .below = "prefix_queries"},
    AlertSeries{.name = "acceptance_ratio",
                .unit = "ratio",
                .source = AlertSource::ratio,
                .key = "accepted_tokens",
                .below = "draft_tokens"},
    AlertSeries{
        .name = "preemptions_per_s", .unit = "1/s", .source = AlertSource::rate, .key = "preemptions"},
    AlertSeries{.name = "output_tokens_per_s",
                .unit = "1/s",
                .source = AlertSource::rate,
                .key = "generation_tokens"},
    AlertSeries{.name = "requests_per_s", .unit = "1/s", .source = AlertSource::rate, .key = "requests"},
    AlertSeries{.name = "failed_ratio", .unit = "ratio", .source = AlertSource::failures, .key = {}},
    percentile_row("ttft_p50", "ttft", .5),
    percentile_row("ttft_p95", "ttft", .95),
    percentile_row("ttft_p99", "ttft", .99),
    percentile_row("itl_p50", "itl", .5),
    percentile_row("itl_p95", "itl", .95),
    percentile_row("itl_p99", "itl", .99),
    percentile_row("e2e_p50", "e2e", .5),
    percentile_row("e2e_p95", "e2e", .95),
    percentile_row("e2e_p99", "e2e", .99),
};

std::optional<double> value_at(const std::map<std::string, double>& figures, std::string_view key) {
    const auto found = figures.find(std::string(key));
    if (found == figures.end()) return std::nullopt;
    return found->second;
}

double window_length(const RunResult& run) {
    return run.window.end_s - run.window.begin_s;
}

/// Returns the growth per second; if the server has no such counter, the figure of that name from the
/// requests.
std::optional<double> rate_of(const RunResult& run, const AlertSeries& series) {
    const double length = window_length(run);
    if (run.server && length > 0)
        if (const auto grown = value_at(run.server->window, series.key)) return *grown / length;
    return run.throughput.at(series.name);
}

std::optional<double> percentile_of(const RunResult& run, const AlertSeries& series) {
    const MetricSummary* const metric = run.metric(headline_key(series.key, run.open_loop()));
    const PercentileValue* const held = metric == nullptr ? nullptr : metric->at(series.p);
    if (held == nullptr) return std::nullopt;
    if (held->value) return held->value;
    if (falls_among_failures(*metric, series.p)) return kInfinity;
    return std::nullopt;
}

std::string amount_text(double value, std::string_view unit) {
    if (std::isinf(value)) return "infinite (among failures)";
    if (unit == "s") return fmt::format("{} ms", number_text(value * 1e3));
    return number_text(value);
}

std::string_view unit_of(std::string_view series) {
    const AlertSeries* const known = alert_series_named(series);
    return known == nullptr ? std::string_view() : known->unit;
}

std::string why_unknown(const AlertRule& rule, std::optional<double> baseline, bool has_values) {
    if (!has_values) return fmt::format("{} was not measured", rule.series);
    if (needs_baseline(rule.comparison) && !baseline)
        return fmt::format("{} needs a baseline that has {} (--baseline)", rule.name, rule.series);
    return fmt::format("{} needs values of {}", rule.name, span_text(rule.over));
}

}  // namespace

std::string_view name_of(AlertState state) {
    return name_in(kStates, state);
}
std::optional<AlertState> alert_state_named(std::string_view name) {
    return named_in(kStates, name);
}
std::string_view name_of(AlertSeverity severity) {
    return name_in(kSeverities, severity);
}
std::optional<AlertSeverity> alert_severity_named(std::string_view name) {
    return named_in(kSeverities, name);
}
std::string_view name_of(AlertComparison comparison) {
    return name_in(kComparisons, comparison);
}
std::optional<AlertComparison> alert_comparison_named(std::string_view name) {
    return named_in(kComparisons, name);
}

bool needs_baseline(AlertComparison comparison) {
    return comparison == AlertComparison::above_baseline_times ||
           comparison == AlertComparison::below_baseline_by;
}

std::span<const AlertSeries> alert_series() {
    return kSeries;
}

const AlertSeries* alert_series_named(std::string_view name) {
    const auto* const found = std::ranges::find(kSeries, name, &AlertSeries::name);
    return found == kSeries.end() ? nullptr : found;
}

std::string known_alert_series() {
    std::string names;
    for (const AlertSeries& series : kSeries) names += (names.empty() ? "" : ", ") + std::string(series.name);
    return names;
}

std::vector<AlertRule> default_alerts() {
    using enum AlertComparison;
    using std::chrono::hours;
    using std::chrono::minutes;
    return {{.name = "kv_cache_full", .series = "kv_usage", .threshold = .9, .held_for = minutes(2)},
            {.name = "queue_long", .series = "waiting", .threshold = 50, .held_for = minutes(1)},
            {.name = "prefix_hits_low",
             .series = "prefix_hit_ratio",
             .comparison = below_baseline_by,
             .threshold = .1},
            {.name = "preemptions_rising", .series = "preemptions_per_s", .threshold = 0},
            {.name = "requests_failing",
             .series = "failed_ratio",
             .threshold = .05,
             .severity = AlertSeverity::fail},
            {.name = "ttft_high",
             .series = "ttft_p95",
             .comparison = above_baseline_times,
             .threshold = 2,
             .severity = AlertSeverity::fail},
            {.name = "itl_high",
             .series = "itl_p95",
             .comparison = above_baseline_times,
             .threshold = 3,
             .severity = AlertSeverity::fail},
            {.name = "ttft_rising",
             .series = "ttft_p95",
             .comparison = risen_by,
             .threshold = .5,
             .over = hours(4)}};
}

std::optional<double> threshold_of(const AlertRule& rule, std::optional<double> baseline,
                                   std::optional<double> before) {
    switch (rule.comparison) {
        case AlertComparison::above:
        case AlertComparison::below:
            return rule.threshold;
        case AlertComparison::above_baseline_times:
            return baseline ? std::optional(*baseline * rule.threshold) : std::nullopt;
        case AlertComparison::below_baseline_by:
            return baseline ? std::optional(*baseline - rule.threshold) : std::nullopt;
        case AlertComparison::risen_by:
            return before ? std::optional(*before * (1 + rule.threshold)) : std::nullopt;
    }
    return std::nullopt;
}

std::string span_text(Duration duration) {
    using namespace std::chrono;
    if (duration == Duration{}) return "0s";
    if (duration % 1h == Duration{}) return fmt::format("{}h", duration / 1h);
    if (duration % 1min == Duration{}) return fmt::format("{}m", duration / 1min);
    if (duration % 1s == Duration{}) return fmt::format("{}s", duration / 1s);
    return fmt::format("{}ms", duration_cast<milliseconds>(duration).count());
}

std::string text_of(const AlertRule& rule) {
    const std::string_view unit = unit_of(rule.series);
    std::string text = rule.series;
    switch (rule.comparison) {
        case AlertComparison::above:
            text += fmt::format(" above {}", amount_text(rule.threshold, unit));
            break;
        case AlertComparison::below:
            text += fmt::format(" below {}", amount_text(rule.threshold, unit));
            break;
        case AlertComparison::above_baseline_times:
            text += fmt::format(" above {} times the baseline", number_text(rule.threshold));
            break;
        case AlertComparison::below_baseline_by:
            text += fmt::format(" more than {} below the baseline", amount_text(rule.threshold, unit));
            break;
        case AlertComparison::risen_by:
            text +=
                fmt::format(" up by more than {} in {}", percent_text(rule.threshold), span_text(rule.over));
            break;
    }
    if (rule.held_for > Duration{}) text += fmt::format(" for {}", span_text(rule.held_for));
    return text;
}

// ---- judging

AlertBaseline alert_baseline_of(std::span<const RunResult> runs) {
    AlertBaseline baseline;
    for (const AlertSeries& series : kSeries) {
        std::vector<double> values;
        for (const RunResult& run : runs)
            if (const auto value = alert_value_of(run, series); value && std::isfinite(*value))
                values.push_back(*value);
        if (values.empty()) continue;
        std::ranges::sort(values);
        baseline.emplace(series.name, percentile(values, .5));
    }
    return baseline;
}

std::optional<double> alert_value_of(const RunResult& run, const AlertSeries& series) {
    switch (series.source) {
        case AlertSource::gauge:
        case AlertSource::ratio:
            return run.server ? value_at(run.server->window,
                                         series.source == AlertSource::gauge ? series.key : series.name)
                              : std::nullopt;
        case AlertSource::rate:
            return rate_of(run, series);
        case AlertSource::percentile:
            return percentile_of(run, series);
        case AlertSource::failures:
            if (run.counts.requests == 0) return std::nullopt;
            return static_cast<double>(run.counts.failed) / static_cast<double>(run.counts.requests);
    }
    return std::nullopt;
}

AlertJudge::AlertJudge(AlertRule rule, std::optional<double> baseline)
    : rule_(std::move(rule)), baseline_(baseline) {}

/// Returns the value `over` ago: the latest of those that are at least as old.
std::optional<double> AlertJudge::value_before(double at_s) {
    const double limit = at_s - seconds(rule_.over);
    while (history_.size() > 1 && history_[1].at_s <= limit) history_.pop_front();
    if (history_.empty() || history_.front().at_s > limit) return std::nullopt;
    return history_.front().value;
}

bool AlertJudge::holds(double value, double threshold) const {
    const bool is_below =
        rule_.comparison == AlertComparison::below || rule_.comparison == AlertComparison::below_baseline_by;
    return is_below ? value < threshold : value > threshold;
}

void AlertJudge::add(double at_s, double value) {
    last_ = value;
    std::optional<double> before;
    if (rule_.comparison == AlertComparison::risen_by) {
        constexpr double kMostPoints = 1024;
        before = value_before(at_s);
        const double spacing = seconds(rule_.over) / kMostPoints;
        if (std::isfinite(value) && (history_.empty() || at_s - history_.back().at_s >= spacing))
            history_.push_back({at_s, value});
    }
    threshold_ = threshold_of(rule_, baseline_, before);
    if (!threshold_) {
        state_ = AlertState::unknown;
        since_s_.reset();
        return;
    }
    if (!holds(value, *threshold_)) {
        state_ = AlertState::inactive;
        since_s_.reset();
        return;
    }
    if (!since_s_) since_s_ = at_s;
    constexpr double kRounding = 1e-6;  // of sums of times in seconds
    if (at_s - *since_s_ < seconds(rule_.held_for) - kRounding) {
        state_ = AlertState::pending;
        return;
    }
    state_ = AlertState::firing;
    if (!fired_at_s_) fired_at_s_ = at_s;
    const bool is_worse = !worst_ || (holds(value, *worst_) && value != *worst_);
    if (is_worse) {
        worst_ = value;
        worst_threshold_ = threshold_;
    }
}

AlertResult AlertJudge::result() const {
    AlertResult result{.name = rule_.name,
                       .series = rule_.series,
                       .severity = rule_.severity,
                       .state = has_fired() ? AlertState::firing : state_,
                       .value = worst_ ? worst_ : last_,
                       .threshold = worst_ ? worst_threshold_ : threshold_,
                       .at_s = fired_at_s_};
    if (result.value && std::isinf(*result.value)) result.value.reset();
    if (result.state == AlertState::unknown) result.note = why_unknown(rule_, baseline_, last_.has_value());
    return result;
}

void add_run(AlertJudge& judge, const RunResult& run, const Window& window, double begin_s) {
    const AlertSeries* const series = alert_series_named(judge.rule().series);
    if (series == nullptr) return;
    if (series->source == AlertSource::gauge) {
        for (const Series& readings : run.series) {
            if (readings.source != "server" || readings.name != series->key) continue;
            for (std::size_t i = 0; i < readings.values.size(); ++i)
                judge.add(begin_s + readings.times_s[i], readings.values[i]);
        }
    } else if (const auto value = alert_value_of(run, *series)) {
        judge.add(begin_s + window.begin_s, *value);
        judge.add(begin_s + window.end_s, *value);
    }
}

std::vector<AlertResult> judged_alerts(const RunResult& run, std::span<const AlertRule> rules,
                                       const AlertBaseline& baseline) {
    std::vector<AlertResult> results;
    for (const AlertRule& rule : rules) {
        const auto known = baseline.find(rule.series);
        AlertJudge judge(rule, known == baseline.end() ? std::nullopt : std::optional(known->second));
        add_run(judge, run, run.window, 0);
        results.push_back(judge.result());
    }
    return results;
}

std::string text_of(const AlertResult& alert) {
    const std::string_view unit = unit_of(alert.series);
    const auto amount = [&](double value) {
        return unit == "ratio" && std::isfinite(value) ? percent_text(value) : amount_text(value, unit);
    };
    std::string text =
        fmt::format("{}: {} is {}", alert.name, alert.series, amount(alert.value.value_or(kInfinity)));
    if (alert.threshold) text += fmt::format(" (threshold {})", amount(*alert.threshold));
    if (alert.at_s) text += fmt::format(" since {} s", number_text(*alert.at_s));
    return alert.state == AlertState::firing ? text : fmt::format("{} ({})", text, name_of(alert.state));
}

}  // namespace paretoken
