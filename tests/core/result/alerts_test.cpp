#include "core/result/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

AlertRule full_cache() {
    return {.name = "full", .series = "kv_usage", .threshold = .9, .held_for = 2s};
}

AlertRule against_baseline(const std::string& series, AlertComparison comparison, double threshold) {
    return {.name = "against", .series = series, .comparison = comparison, .threshold = threshold};
}

/// Returns a run of 100 s with its KV usage once a second.
RunResult run_with(std::vector<double> kv_usage) {
    RunResult run;
    run.window = {.begin_s = 10, .end_s = 90, .run_s = 100, .how = {}};
    run.server = ServerFigures{.engine = "vllm",
                               .sources = {},
                               .window = {{"preemptions", 40}, {"prefix_hit_ratio", .3}},
                               .whole_run = {},
                               .asked = {},
                               .note = {}};
    Series series{.name = "kv_usage", .unit = "ratio", .source = "server", .times_s = {}, .values = {}};
    for (double usage : kv_usage) {
        series.times_s.push_back(static_cast<double>(series.times_s.size()));
        series.values.push_back(usage);
    }
    run.series.push_back(series);
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.n = 100;
    ttft.percentiles = {{.p = .95, .value = .5}};
    run.metrics.push_back(ttft);
    return run;
}

AlertResult judged(const RunResult& run, const AlertRule& rule, const AlertBaseline& baseline = {}) {
    return judged_alerts(run, std::span(&rule, 1), baseline).front();
}

TEST(Alerts, the_default_table_has_names_of_its_own_and_series_that_are_known) {
    std::set<std::string> names;
    for (const AlertRule& rule : default_alerts()) {
        EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
        EXPECT_NE(alert_series_named(rule.series), nullptr) << rule.series;
        EXPECT_EQ(rule.comparison == AlertComparison::risen_by, rule.over > 0s) << rule.name;
        EXPECT_THAT(text_of(rule), HasSubstr(rule.series));
    }
    EXPECT_GE(names.size(), 7U);
}

TEST(Alerts, every_name_of_an_enumerator_is_taken_back) {
    using enum AlertComparison;
    for (const AlertComparison comparison : {above, below, above_baseline_times, below_baseline_by, risen_by})
        EXPECT_EQ(alert_comparison_named(name_of(comparison)), comparison);
    for (const AlertState state :
         {AlertState::inactive, AlertState::pending, AlertState::firing, AlertState::unknown})
        EXPECT_EQ(alert_state_named(name_of(state)), state);
    for (const AlertSeverity severity : {AlertSeverity::warn, AlertSeverity::fail})
        EXPECT_EQ(alert_severity_named(name_of(severity)), severity);
    EXPECT_FALSE(alert_comparison_named("over"));
}

TEST(Alerts, a_condition_fires_when_it_has_held_for_long_enough_without_a_break) {
    AlertJudge judge(full_cache(), std::nullopt);
    EXPECT_EQ(judge.state(), AlertState::unknown);
    judge.add(0, .95);
    EXPECT_EQ(judge.state(), AlertState::pending);
    judge.add(1.9, .99);
    EXPECT_EQ(judge.state(), AlertState::pending);
    judge.add(2, .5);
    EXPECT_EQ(judge.state(), AlertState::inactive);
    judge.add(3, .92);
    judge.add(4, .93);
    EXPECT_FALSE(judge.has_fired()) << "the break counts from the beginning again";
    judge.add(5, .91);
    EXPECT_EQ(judge.state(), AlertState::firing);
    judge.add(6, .97);
    judge.add(7, .2);
    EXPECT_EQ(judge.state(), AlertState::inactive);
    const AlertResult result = judge.result();
    EXPECT_EQ(result.state, AlertState::firing) << "it fired at some time";
    EXPECT_EQ(result.at_s, 5);
    EXPECT_EQ(result.value, .97) << "the worst while it fired";
    EXPECT_EQ(result.threshold, .9);
}

TEST(Alerts, a_value_on_the_threshold_is_no_alert) {
    AlertRule rule = full_cache();
    rule.held_for = 0s;
    AlertJudge judge(rule, std::nullopt);
    judge.add(0, .9);
    EXPECT_EQ(judge.state(), AlertState::inactive);
}

TEST(Alerts, the_worst_of_one_that_is_below_is_the_lowest) {
    AlertJudge judge(
        {.name = "low", .series = "prefix_hit_ratio", .comparison = AlertComparison::below, .threshold = .5},
        std::nullopt);
    for (const double value : {.4, .2, .3}) judge.add(1, value);
    EXPECT_EQ(judge.result().value, .2);
}

TEST(Alerts, one_that_compares_with_a_baseline_is_unknown_without_it_and_says_so) {
    const AlertRule slow = against_baseline("ttft_p95", AlertComparison::above_baseline_times, 2);
    const RunResult run = run_with({});
    const AlertResult without = judged(run, slow);
    EXPECT_EQ(without.state, AlertState::unknown);
    EXPECT_THAT(without.note, HasSubstr("--baseline"));
    EXPECT_EQ(judged(run, slow, {{"ttft_p95", .26}}).state, AlertState::inactive);
    const AlertResult with = judged(run, slow, {{"ttft_p95", .2}});
    EXPECT_EQ(with.state, AlertState::firing);
    EXPECT_EQ(with.threshold, .4);
    const AlertRule misses = against_baseline("prefix_hit_ratio", AlertComparison::below_baseline_by, .1);
    EXPECT_EQ(judged(run, misses, {{"prefix_hit_ratio", .45}}).state, AlertState::firing);
    EXPECT_EQ(judged(run, misses, {{"prefix_hit_ratio", .35}}).state, AlertState::inactive);
}

TEST(Alerts, gauges_are_judged_reading_by_reading_and_all_else_over_the_window) {
    const AlertResult gauge = judged(run_with({.1, .95, .95, .95, .95, .1}), full_cache());
    EXPECT_EQ(gauge.state, AlertState::firing);
    EXPECT_EQ(gauge.at_s, 3);
    EXPECT_EQ(judged(run_with({.95, .95}), full_cache()).state, AlertState::pending);
    AlertRule preempted{.name = "preempted", .series = "preemptions_per_s", .threshold = .4};
    EXPECT_EQ(judged(run_with({}), preempted).state, AlertState::firing) << "40 in 80 s";
    preempted.held_for = 60s;
    EXPECT_EQ(judged(run_with({}), preempted).state, AlertState::firing) << "a window of 80 s holds for 60 s";
    preempted.held_for = 90s;
    EXPECT_EQ(judged(run_with({}), preempted).state, AlertState::pending);
    preempted.threshold = .6;
    EXPECT_EQ(judged(run_with({}), preempted).state, AlertState::inactive);
}

TEST(Alerts, a_percentile_among_failures_is_above_every_threshold_and_has_no_value) {
    RunResult run = run_with({});
    run.metrics.front().percentiles.front().value.reset();
    run.metrics.front().failed_mass = .3;
    const AlertResult alert = judged(run, {.name = "slow", .series = "ttft_p95", .threshold = 100});
    EXPECT_EQ(alert.state, AlertState::firing);
    EXPECT_FALSE(alert.value);
    EXPECT_THAT(text_of(alert), HasSubstr("among failures"));
    run.metrics.front().failed_mass = .05;  // 5 of 100 failed, and p95 lies between the 95th and the 96th
    EXPECT_EQ(judged(run, {.name = "slow", .series = "ttft_p95", .threshold = 100}).state,
              AlertState::firing);
    run.metrics.front().failed_mass = .04;
    EXPECT_EQ(judged(run, {.name = "slow", .series = "ttft_p95", .threshold = 100}).state,
              AlertState::unknown);
}

TEST(Alerts, failed_requests_fire_and_a_run_without_requests_does_not) {
    const AlertRule rule{.name = "failing", .series = "failed_ratio", .threshold = .05};
    RunResult run = run_with({});
    EXPECT_EQ(judged(run, rule).state, AlertState::unknown);
    run.counts = {.requests = 100, .ok = 94, .failed = 6, .by_outcome = {}, .example_errors = {}};
    EXPECT_EQ(judged(run, rule).state, AlertState::firing);
    run.counts.failed = 5;
    EXPECT_EQ(judged(run, rule).state, AlertState::inactive);
}

TEST(Alerts, runs_one_after_the_other_are_one_stretch_of_time) {
    AlertJudge judge(full_cache(), std::nullopt);
    add_run(judge, run_with({.1, .95}), {}, 0);
    EXPECT_EQ(judge.state(), AlertState::pending);
    add_run(judge, run_with({.95, .95}), {}, 2);
    EXPECT_EQ(judge.result().at_s, 3);
}

TEST(Alerts, the_value_of_an_interval_holds_from_its_begin_to_its_end) {
    AlertJudge judge({.name = "failing", .series = "failed_ratio", .threshold = .05, .held_for = 1200ms},
                     std::nullopt);
    RunResult run = run_with({});
    run.counts = {.requests = 100, .ok = 90, .failed = 10, .by_outcome = {}, .example_errors = {}};
    add_run(judge, run, {.end_s = .6, .how = {}}, .7);
    EXPECT_EQ(judge.state(), AlertState::pending);
    add_run(judge, run, {.end_s = .6, .how = {}}, 1.3);
    EXPECT_EQ(judge.state(), AlertState::firing);
}

TEST(Alerts, percentiles_that_were_withheld_say_nothing) {
    RunResult run = run_with({});
    run.metrics.front().percentiles.front().value.reset();
    EXPECT_EQ(judged(run, {.name = "slow", .series = "ttft_p95", .threshold = .1}).state,
              AlertState::unknown);
}

TEST(Alerts, a_series_that_nobody_measured_is_unknown) {
    const AlertResult alert = judged(RunResult{}, full_cache());
    EXPECT_EQ(alert.state, AlertState::unknown);
    EXPECT_THAT(alert.note, HasSubstr("kv_usage was not measured"));
}

TEST(Alerts, a_rise_is_held_against_the_value_of_so_long_ago) {
    const AlertRule rule{.name = "rising",
                         .series = "ttft_p95",
                         .comparison = AlertComparison::risen_by,
                         .threshold = .5,
                         .over = 4h};
    AlertJudge judge(rule, std::nullopt);
    for (int minute = 0; minute < 240; ++minute) {
        judge.add(60.0 * minute, minute < 100 ? 1.0 : 1.4);
        EXPECT_EQ(judge.state(), AlertState::unknown) << minute;
    }
    EXPECT_THAT(judge.result().note, HasSubstr("needs values of 4h"));
    judge.add(60.0 * 240, 1.4);
    EXPECT_EQ(judge.state(), AlertState::inactive);
    judge.add(60.0 * 241, 1.6);
    EXPECT_EQ(judge.state(), AlertState::firing);
    judge.add(60.0 * 345, 1.6);
    EXPECT_EQ(judge.state(), AlertState::inactive) << "four hours ago it was 1.4 already";
}

TEST(Alerts, a_baseline_is_the_median_of_what_its_runs_came_to) {
    std::vector<RunResult> runs(3, run_with({}));
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].metrics.front().percentiles.front().value = static_cast<double>(i * i);
    const AlertBaseline baseline = alert_baseline_of(runs);
    EXPECT_EQ(baseline.at("ttft_p95"), 1);
    EXPECT_EQ(baseline.at("preemptions_per_s"), .5);
    EXPECT_FALSE(baseline.contains("kv_usage"));
}

}  // namespace
}  // namespace paretoken
