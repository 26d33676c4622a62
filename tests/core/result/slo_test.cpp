#include "core/result/slo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

RequestRecord answered(Duration ttft, Duration e2e, std::int64_t tokens) {
    RequestRecord record;
    record.scheduled = TimePoint{} + 10s;
    record.sent = record.scheduled + 50ms;
    record.first_event = *record.sent + ttft;
    record.last_event = *record.sent + e2e;
    record.streamed_tokens = tokens;
    record.first_group_tokens = 1;
    return record;
}

std::string refusal_of(std::string_view text) {
    try {
        parse_slo(text);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(Slo, times_are_milliseconds_unless_they_carry_a_unit) {
    EXPECT_EQ(parse_slo("ttft:500"), (Slo{"ttft", 0.5}));
    EXPECT_EQ(parse_slo("ttft:5e2"), (Slo{"ttft", 0.5}));
    EXPECT_EQ(parse_slo("ttft:0.5s"), (Slo{"ttft", 0.5}));
    EXPECT_EQ(parse_slo("tpot:1.5"), (Slo{"tpot", 0.0015}));
    EXPECT_EQ(parse_slo("e2el:2000"), (Slo{"e2e", 2}));
    EXPECT_EQ(parse_slo("norm_latency:20ms"), (Slo{"norm_latency", 0.02}));
}

TEST(Slo, a_sign_may_stand_for_the_colon_if_it_points_the_way_of_the_metric) {
    EXPECT_EQ(parse_slo("ttft_p95<800ms"), parse_slo("ttft_p95:800"));
    EXPECT_EQ(parse_slo("ttft<=500"), parse_slo("ttft:500"));
    EXPECT_EQ(parse_slo("interactivity>35"), parse_slo("interactivity:35"));
    EXPECT_EQ(parse_request_slo("ttft<500ms"), parse_slo("ttft:500"));
    EXPECT_THAT(refusal_of("ttft_p95>800"), HasSubstr("ttft is better lower; write 'ttft_p95<800'"));
    EXPECT_THAT(refusal_of("interactivity<35"), HasSubstr("write 'interactivity>35'"));
}

TEST(Slo, other_limits_are_in_the_unit_of_their_metric) {
    EXPECT_EQ(parse_slo("cache_hit:0.8"), (Slo{"cache_hit", 0.8}));
    EXPECT_EQ(parse_slo("interactivity:35"), (Slo{"interactivity", 35}));
}

TEST(Slo, a_percentile_may_be_named) {
    EXPECT_EQ(parse_slo("ttft_p95:800"), (Slo{"ttft", 0.8, 0.95}));
    EXPECT_THAT(refusal_of("p95_ttft<200"), HasSubstr("did you mean ttft_p95?"));
    EXPECT_EQ(parse_slo("ttft_p999:1s"), (Slo{"ttft", 1, 0.999}));
    EXPECT_EQ(parse_slo("ttft_p99.9:1s"), (Slo{"ttft", 1, 0.999}));
    EXPECT_EQ(parse_slo("ttft_intended_p50:5"), (Slo{"ttft_intended", 0.005, 0.5}));
    EXPECT_EQ(name_of(parse_slo("e2el_p99:2000")), "e2e_p99");
    EXPECT_EQ(name_of(parse_slo("tpot:20")), "tpot_p90");
    EXPECT_THAT(refusal_of("ttft_p42:5"), HasSubstr("no percentile p42; known: p50, p75, p90"));
}

TEST(Slo, any_percentile_may_be_named_where_requests_are_folded_for_it) {
    const auto any = [](std::string_view text) { return parse_slo(text, SloPercentiles::any); };
    EXPECT_EQ(any("ttft_p97:800"), (Slo{"ttft", 0.8, 0.97}));
    EXPECT_EQ(any("ttft_p97.5:800"), (Slo{"ttft", 0.8, 0.975}));
    EXPECT_EQ(any("ttft_p975:800"), (Slo{"ttft", 0.8, 0.975}));
    EXPECT_EQ(any("ttft_p999:1s"), parse_slo("ttft_p999:1s"));
    EXPECT_EQ(name_of(any("ttft_p97.5:800")), "ttft_p975");
    EXPECT_EQ(any("ttft_p10:800"), (Slo{"ttft", 0.8, 0.10}));
    EXPECT_EQ(any("ttft_p97.50:800"), (Slo{"ttft", 0.8, 0.975}));
    for (const char* text : {"ttft_p5:5", "ttft_p05:5", "ttft_p100:5", "ttft_p1000:5", "ttft_p500:5",
                             "ttft_p100.5:5", "ttft_p9.75:5", "ttft_p99999999:5"})
        EXPECT_THROW(any(text), UsageError) << text;
}

TEST(Slo, several_may_stand_in_one_text_and_presets_stand_for_theirs) {
    EXPECT_EQ(slo_texts("ttft_p95:800  tpot:20"), (std::vector<std::string>{"ttft_p95:800", "tpot:20"}));
    EXPECT_EQ(slo_texts("@mlperf:llama3.1-8b:interactive"),
              (std::vector<std::string>{"ttft_p99:500", "tpot_p99:30"}));
    EXPECT_EQ(slo_texts("@mlperf:deepseek-r1 e2e:9000"),
              (std::vector<std::string>{"ttft_p99:2000", "tpot_p99:80", "e2e:9000"}));
    const auto chat = slo_texts("@chat");
    ASSERT_EQ(chat.size(), 2U);
    EXPECT_EQ(parse_slo(chat[0]), (Slo{"ttft", 1, 0.95}));
    EXPECT_EQ(parse_slo(chat[1]), (Slo{"interactivity", 30}));
    EXPECT_THROW(slo_texts("@mlperf"), UsageError);
    EXPECT_THROW(slo_texts("ttft_p95:800 nonsense:5"), UsageError);
}

TEST(SloResults, tell_the_evidence_of_each_limit_and_of_all_together) {
    RunResult run;
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.n = 3;
    ttft.max = 0.5;
    ttft.percentiles = {{.p = 0.95, .value = 0.5, .effective_n = 2.5, .decided = Interval{0.4, 0.6}}};
    run.metrics = {ttft};
    const std::vector<Slo> slos = {parse_slo("ttft_p95:700"), parse_slo("ttft_p95:300")};
    std::vector<SloResult> results = slo_results(run, slos);
    RequestRecord failed = answered(0ms, 0ms, 0);
    failed.outcome = Outcome::timed_out;
    for (const RequestRecord& record : {answered(500ms, 1s, 9), answered(200ms, 1s, 9), failed})
        count_over(results, slos, false, record);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0], (SloResult{.key = "ttft_p95",
                                     .p = 0.95,
                                     .limit = 0.7,
                                     .value = 0.5,
                                     .n = 3,
                                     .n_effective = 2.5,
                                     .over = 1,
                                     .worst = .5,
                                     .verdict = SloVerdict::met,
                                     .shown = true}));
    EXPECT_EQ(results[1].over, 2U);
    EXPECT_EQ(results[1].verdict, SloVerdict::missed);
    EXPECT_EQ(verdict_on_all(results), SloVerdict::missed);
    EXPECT_THAT(
        slo_text(run, results[1]),
        HasSubstr("misses the limit of 300 ms (2 of 3 requests miss it, the worst is at 167 % of it)"));
    results[1].shown = false;
    EXPECT_THAT(slo_text(run, results[1]), HasSubstr("over the limit of 300 ms, which is not shown at 99 %"));
    results[1].verdict = SloVerdict::within;
    results[1].times_enough = 4;
    EXPECT_EQ(verdict_on_all(results), SloVerdict::within);
    EXPECT_THAT(slo_text(run, results[1]),
                HasSubstr("within the limit of 300 ms, which is not shown at 99 %"));
    EXPECT_THAT(slo_text(run, results[1]), HasSubstr("about 9.6 times as many may decide"));
    results[1].times_enough = 470;
    EXPECT_THAT(slo_text(run, results[1]), HasSubstr("about 1128 times as many may decide"));
    results[1].verdict = SloVerdict::insufficient;
    EXPECT_EQ(verdict_on_all(results), SloVerdict::insufficient);
    EXPECT_EQ(verdict_on_all({results[0]}), SloVerdict::met);
    EXPECT_EQ(slo_text(run, results[0]),
              "ttft_p95 is 500 ms: meets the limit of 700 ms (1 of 3 requests miss it, because they failed; "
              "the worst "
              "of the others is at 71.4 % of it)");
    EXPECT_THAT(slo_text(run, results[1]), HasSubstr("too few requests to tell anything"));
    EXPECT_THAT(slo_text(run, results[1]), HasSubstr("3 requests count as 2 independent ones"));
    for (const SloVerdict verdict :
         {SloVerdict::met, SloVerdict::within, SloVerdict::missed, SloVerdict::insufficient})
        EXPECT_EQ(slo_verdict_named(name_of(verdict)), verdict);
    EXPECT_EQ(slo_verdict_named("pass"), SloVerdict::met) << "as earlier versions wrote it";
    EXPECT_EQ(slo_verdict_named("maybe"), std::nullopt);
}

/// A run of 100 requests with these percentiles of TTFT.
RunResult run_with(std::vector<PercentileValue> percentiles) {
    RunResult run;
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.n = 100;
    ttft.percentiles = std::move(percentiles);
    run.metrics = {ttft};
    return run;
}

SloVerdict verdict_of(const RunResult& run, std::string_view slo) {
    return finding_on(run, parse_slo(slo)).verdict;
}

TEST(Slo, of_a_percentile_is_found_from_what_the_run_decided) {
    RunResult run = run_with({{.p = 0.95, .value = 0.5, .decided = Interval{0.4, 0.6}}});
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::met);
    EXPECT_TRUE(finding_on(run, parse_slo("ttft_p95:700")).shown);
    EXPECT_EQ(verdict_of(run, "ttft_p95:300"), SloVerdict::missed);
    EXPECT_TRUE(finding_on(run, parse_slo("ttft_p95:300")).shown);
    EXPECT_EQ(verdict_of(run, "ttft_p95:550"), SloVerdict::within);
    EXPECT_EQ(verdict_of(run, "ttft_p95:450"), SloVerdict::missed);
    EXPECT_FALSE(finding_on(run, parse_slo("ttft_p95:450")).shown);
    EXPECT_EQ(finding_on(run, parse_slo("ttft_p95:550")).value, 0.5);
    EXPECT_EQ(verdict_of(run, "tpot_p95:500"), SloVerdict::insufficient) << "not measured";
    run.request_rate = 4;  // an open loop is judged from the intended start, which this run lacks
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::insufficient);
}

TEST(Slo, that_most_requests_miss_is_shown_to_be_missed_whatever_the_window_says) {
    const RunResult run =
        run_with({{.p = 0.5, .value = 0.6}, {.p = 0.75, .value = 0.7}, {.p = 0.95, .value = 0.9}});
    EXPECT_TRUE(finding_on(run, parse_slo("ttft_p95:500")).shown);
    EXPECT_TRUE(finding_on(run, parse_slo("ttft_p75:500")).shown);
    EXPECT_FALSE(finding_on(run, parse_slo("ttft_p95:800")).shown) << "the median is within the limit";
    EXPECT_FALSE(finding_on(run, parse_slo("ttft_p50:500")).shown)
        << "half of the requests show nothing of p50";
    EXPECT_EQ(verdict_of(run, "ttft_p50:500"), SloVerdict::missed);
    RunResult all_over = run;
    all_over.metrics.front().min = 0.55;
    EXPECT_TRUE(finding_on(all_over, parse_slo("ttft_p50:500")).shown) << "no request is within it";
}

TEST(Slo, that_no_request_comes_near_is_met_although_the_run_may_lack_excursions) {
    RunResult run = run_with({{.p = 0.95, .value = 0.2, .effective_n = 200.0}});
    run.window.steady = true;
    run.metrics.front().max = 0.3;
    EXPECT_TRUE(finding_on(run, parse_slo("ttft_p95:700")).shown);
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::met);
    EXPECT_EQ(verdict_of(run, "ttft_p95:500"), SloVerdict::within) << "the worst is more than half of it";
    EXPECT_EQ(verdict_of(run, "ttft_p99:700"), SloVerdict::insufficient) << "that was not computed";
    run.counts.failed = 1;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::within);
    run.counts.failed = 0;
    run.window.steady = false;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::within);
}

TEST(SloResults, close_to_the_capacity_promise_nothing_of_a_longer_run) {
    RunResult run = run_with({{.p = 0.95, .value = 0.5, .effective_n = 8.0, .decided = Interval{0.4, 0.8}}});
    run.window.steady = true;
    run.request_rate = 45;
    run.metrics.front().key = "ttft_intended_s";
    const std::vector<Slo> slos = {parse_slo("ttft_p95:700")};
    for (const std::uint64_t n : {3900, 4100}) {
        run.metrics.front().n = n;
        const SloResult result = slo_results(run, slos).front();
        EXPECT_EQ(result.verdict, SloVerdict::within);
        EXPECT_EQ(result.times_enough.has_value(), n < 4000);
        EXPECT_EQ(slo_text(run, result).find("close to what the server can serve") != std::string::npos,
                  n > 4000);
    }
}

TEST(Slo, is_insufficient_only_with_next_to_no_requests) {
    RunResult run = run_with({{.p = 0.95, .value = 0.5}});
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::within) << "a window that is not steady";
    run.concurrency = 128;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::insufficient) << "not one answer per slot";
    run.concurrency.reset();
    run.metrics.front().n = 19;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::insufficient);
    EXPECT_EQ(verdict_of(run, "ttft_p95:300"), SloVerdict::missed);
}

TEST(Slo, without_a_value_is_missed_where_the_server_failed_or_did_not_keep_up) {
    RunResult run = run_with({{.p = 0.5, .value = 0.1}, {.p = 0.95, .value = {}}});
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::insufficient)
        << "unknown, as beyond what users waited";
    run.window.overloaded = true;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::missed);
    run.request_rate = 4;
    run.metrics.front().key = "ttft_intended_s";
    run.metrics.front().percentiles.back().value = .3;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::missed) << "the wait grows with the load";
    run.request_rate.reset();
    run.metrics.front().key = "ttft_s";
    run.metrics.front().percentiles.back().value.reset();
    run.window.overloaded = false;
    run.metrics.front().failed_mass = .2;
    EXPECT_EQ(verdict_of(run, "ttft_p95:700"), SloVerdict::missed);
    EXPECT_FALSE(finding_on(run, parse_slo("ttft_p95:700")).shown);
}

TEST(Slo, at_a_load_that_the_server_does_not_keep_up_with_is_missed_whatever_was_measured) {
    RunResult run = run_with({{.p = 0.9, .value = 0.009, .decided = Interval{0.008, 0.01}}});
    run.metrics.front().key = "tpot_s";
    run.request_rate = 20;
    run.throughput.set(figure::kRequests, 13.1);
    const Slo slo = parse_slo("tpot_p90:20");
    EXPECT_EQ(finding_on(run, slo).verdict, SloVerdict::met);
    run.window.overloaded = true;
    EXPECT_EQ(finding_on(run, slo).verdict, SloVerdict::missed);
    EXPECT_TRUE(finding_on(run, slo).shown);
    EXPECT_EQ(slo_text(run, slo_results(run, {slo}).front()),
              "tpot_p90 is 9 ms: counts as missing the limit of 20 ms, because the server does not keep up "
              "with the arrivals (served 13.1 of 20 req/s)");
    run.window.overloaded = false;
    run.stop = StopReason{.rule = "diverging", .at_s = 22, .text = "late"};
    run.metrics.front().percentiles.front() = {.p = 0.9};
    EXPECT_THAT(slo_text(run, slo_results(run, {slo}).front()),
                HasSubstr("tpot_p90 has no value: counts as missing the limit of 20 ms, because the server"));
}

TEST(Slo, that_is_undecided_says_how_many_times_the_requests_would_probably_decide_it) {
    RunResult run;
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.percentiles = {{.p = 0.95, .value = 0.5, .effective_n = 100.0, .decided = Interval{0.4, 0.7}}};
    run.metrics = {ttft};
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 4);  // from .2 down to .1
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:450")).value(), 4);
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:900")).value(), 1.1) << "decided already";
    run.metrics.front().max = 0.58;
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 1.1) << "no request misses it";
    run.metrics.front().max.reset();
    run.metrics.front().percentiles.front().decided.reset();
    run.metrics.front().percentiles.front().effective_n = 22.5;
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 4) << "90 certify p95";
    run.metrics.front().n = 1000;
    run.metrics.front().percentiles.front().enough_n = 1200;
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 1.2);
    run.metrics.front().percentiles.front().effective_n = .05;
    run.metrics.front().percentiles.front().enough_n = 1'000'000;
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 90) << "at least one counts";
    run.concurrency = 50;
    EXPECT_DOUBLE_EQ(times_enough(run, parse_slo("ttft_p95:600")).value(), 4.5) << "20 rounds";
    run.concurrency.reset();
    EXPECT_FALSE(times_enough(run, parse_slo("tpot_p95:600"))) << "not measured";
    run.metrics.front().percentiles.front().effective_n = 400;
    EXPECT_FALSE(times_enough(run, parse_slo("ttft_p95:600"))) << "not steady, with enough requests";
    run.metrics.front().percentiles.front().effective_n.reset();
    run.metrics.front().percentiles.front().enough_n.reset();
    EXPECT_FALSE(times_enough(run, parse_slo("ttft_p95:600"))) << "nothing is known of their independence";
}

TEST(Slo, an_unknown_tag_is_refused_and_the_known_ones_are_named) {
    EXPECT_THAT(refusal_of("latency:5"), HasSubstr("no metric 'latency'; known: ttft, "));
    EXPECT_THAT(refusal_of("itl:5"), HasSubstr("pooled"));
    EXPECT_THAT(refusal_of("ttft"), HasSubstr("expected TAG:LIMIT"));
    EXPECT_THAT(refusal_of("ttft:fast"), HasSubstr("not a duration"));
    EXPECT_THAT(refusal_of("cache_hit:high"), HasSubstr("not a number"));
}

TEST(Slo, on_jobs_has_a_short_name_and_judges_no_single_request) {
    EXPECT_EQ(parse_goodput_slo("job:60s"), (Slo{.tag = "job_time", .limit = 60}));
    EXPECT_EQ(parse_slo("job_p95<=60s"), (Slo{.tag = "job_time", .limit = 60, .p = .95}));
    EXPECT_EQ(name_of(parse_slo("job_p95:60s")), "job_time_p95");
    EXPECT_EQ(parse_slo("job_busy_p50:1500").limit, 1.5);
    EXPECT_THROW((void)parse_request_slo("job:60s"), UsageError);
    EXPECT_THROW((void)parse_goodput_slo("job_p95:60s"), UsageError);
}

TEST(Slo, on_jobs_counts_jobs_and_is_missed_where_the_server_did_not_keep_up) {
    RunResult result;
    MetricSummary time;
    time.key = "job_time_s";
    time.n = 40;
    time.percentiles = {{.p = .5, .value = 8}, {.p = .95, .value = 10}};
    result.metrics.push_back(time);
    const Slo slo = parse_slo("job_p95:12s");
    EXPECT_EQ(finding_on(result, slo).verdict, SloVerdict::within);
    std::vector<SloResult> found = slo_results(result, {slo});
    EXPECT_THAT(slo_text(result, found.front()), HasSubstr("0 of 40 jobs miss it"));
    result.window.overloaded = true;
    EXPECT_EQ(finding_on(result, slo).verdict, SloVerdict::missed);
}

TEST(Slo, a_request_is_good_when_it_meets_every_limit) {
    const auto record = answered(100ms, 600ms, 11);
    EXPECT_TRUE(is_good(record, {}, false));
    EXPECT_TRUE(is_good(record, {{"ttft", 0.1}, {"tpot", 0.05}, {"e2e", 0.6}}, false));
    EXPECT_FALSE(is_good(record, {{"ttft", 0.1}, {"tpot", 0.049}}, false));
    EXPECT_FALSE(is_good(record, {{"ttft", 0.099}, {"tpot", 0.05}}, false));
}

TEST(Slo, a_limit_on_what_should_be_high_is_a_floor) {
    const auto record = answered(100ms, 950ms, 20);  // 20 tokens in 1 s since it was scheduled
    EXPECT_TRUE(is_good(record, {{"interactivity", 19.9}}, false));
    EXPECT_FALSE(is_good(record, {{"interactivity", 20.1}}, false));
}

TEST(Slo, a_failure_is_never_good_and_an_undefined_metric_passes) {
    auto record = answered(100ms, 100ms, 1);
    EXPECT_TRUE(is_good(record, {{"tpot", 0.001}}, false));
    record.outcome = Outcome::truncated;
    EXPECT_FALSE(is_good(record, {}, false));
}

TEST(Slo, an_open_loop_judges_from_the_scheduled_start) {
    const auto record = answered(100ms, 600ms, 11);
    EXPECT_FALSE(is_good(record, {{"ttft", 0.12}}, true));
    EXPECT_TRUE(is_good(record, {{"ttft", 0.15}}, true));
    EXPECT_FALSE(is_good(record, {{"e2e", 0.62}}, true));
}

TEST(ShownOn, needs_a_limit_beyond_what_the_values_decide) {
    PercentileValue p90{.p = 0.9, .value = 1.0};
    EXPECT_EQ(shown_on(p90, 2, false), std::nullopt);
    p90.decided = Interval{0.8, 1.2};
    EXPECT_EQ(shown_on(p90, 1.2, false), true);
    EXPECT_EQ(shown_on(p90, 1.1, false), std::nullopt);
    EXPECT_EQ(shown_on(p90, 0.8, false), std::nullopt);
    EXPECT_EQ(shown_on(p90, 0.7, false), false);
    EXPECT_EQ(shown_on(p90, 0.8, true), true);
    EXPECT_EQ(shown_on(p90, 1, true), std::nullopt);
    EXPECT_EQ(shown_on(p90, 1.3, true), false);
}

}  // namespace
}  // namespace paretoken
