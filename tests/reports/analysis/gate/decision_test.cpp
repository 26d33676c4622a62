#include "reports/analysis/gate/decision/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/validity/validity.h"
#include "reports/analysis/gate/words.h"
#include "reports/pages/gate.h"
#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using sample::Factors;
using sample::gate_run;
using sample::gate_runs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

GateInput pairs_of(std::size_t n, const Factors& candidate, double noise = .005) {
    const GatePolicy policy = default_policy();
    return {.baseline = gate_runs(n, {}, noise, 1, "baseline"),
            .candidate = gate_runs(n, candidate, noise, 1, "candidate"),
            .design = GateDesign::pairs,
            .looks = looks_of(policy)};
}

GateReport report_of(const GateInput& input, const GatePolicy& policy = default_policy()) {
    return decided(policy, input);
}

const GateRow& row(const GateReport& report, const std::string& metric) {
    const auto found = std::find_if(report.rows.begin(), report.rows.end(),
                                    [&](const GateRow& r) { return r.metric == metric; });
    if (found == report.rows.end()) throw std::out_of_range(metric);
    return *found;
}

TEST(Gate, passes_equal_sides_as_soon_as_the_intervals_lie_within_the_tolerances) {
    const GateReport report = report_of(pairs_of(16, {}));
    EXPECT_EQ(report.verdict, GateVerdict::pass);
    EXPECT_LT(report.pairs, 16U);
    EXPECT_THAT(report.headline, HasSubstr("PASS"));
    EXPECT_THAT(report.why, IsEmpty());
    for (const GateRow& r : report.rows) EXPECT_GT(r.decided_at, 0U) << r.metric;
}

TEST(Gate, fails_what_is_worse_and_names_it_with_its_interval_and_what_it_points_to) {
    const GateReport report = report_of(
        pairs_of(16, {{"itl", 1.12}, {"tpot", 1.12}, {"e2e", 1.1}, {"output_tokens_per_s", 1 / 1.1}}));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "itl_p50").verdict, GateVerdict::fail);
    EXPECT_NE(row(report, "ttft_p50").verdict, GateVerdict::fail);
    EXPECT_NEAR(percent_of(row(report, "itl_p50").shift.value(), Better::lower), 12, 1);
    EXPECT_LE(row(report, "itl_p50").ci95->low, std::log(1.12));
    EXPECT_GE(row(report, "itl_p50").ci95->high, std::log(1.12) - .01);
    EXPECT_THAT(report.headline, HasSubstr("FAIL"));
    EXPECT_THAT(report.headline, HasSubstr("Output tokens: 9"));  // 1 − 1 ÷ 1.1 = 9.1 %
    EXPECT_THAT(report.headline, HasSubstr("% worse"));
    EXPECT_THAT(report.headline, HasSubstr("; the worst of them is Inter-token latency, p50: 1"));
    EXPECT_THAT(report.why, HasSubstr("ITL is worse and TTFT is not"));
}

TEST(Gate, counts_lower_throughput_and_higher_latency_as_worse_and_the_opposite_as_better) {
    const GateReport report = report_of(pairs_of(16, {{"output_tokens_per_s", 1.2}, {"ttft", .5}}));
    EXPECT_EQ(report.verdict, GateVerdict::pass);
    EXPECT_LT(row(report, "output_tokens_per_s").shift.value(), 0);
    EXPECT_LT(row(report, "ttft_p50").shift.value(), 0);
    EXPECT_THAT(report.headline, HasSubstr("Better: Output tokens ("));
    EXPECT_THAT(report.headline, HasSubstr("The closest to its tolerance is "));
}

TEST(Gate, says_by_how_many_percent_of_the_baseline_a_metric_is_worse) {
    EXPECT_NEAR(percent_of(std::log(100.0 / 58), Better::higher), 42, 1e-9);
    EXPECT_NEAR(percent_of(std::log(142.0 / 100), Better::lower), 42, 1e-9);
    for (const Better better : {Better::higher, Better::lower})
        EXPECT_NEAR(percent_of(shift_of_share(.05, better), better), 5, 1e-9);
    EXPECT_EQ(shift_of_share(1, Better::higher), std::numeric_limits<double>::infinity());
    GatePolicy policy;
    policy.metrics = {{.name = "output_tokens_per_s", .tolerance = 1.5}};
    EXPECT_THROW(check(policy), UsageError) << "a speed cannot fall by more than 100 %";
}

TEST(Gate, has_a_bound_of_each_shift_that_agrees_with_the_verdict) {
    for (const double noise : {.004, .03, .12})
        for (const double ttft : {.9, 1., 1.04, 1.2})
            for (const GateRow& r : report_of(pairs_of(16, {{"ttft", ttft}}, noise)).rows)
                if (r.at_most && r.verdict != GateVerdict::fail) {
                    EXPECT_EQ(r.verdict == GateVerdict::pass, *r.at_most <= r.limit) << r.metric << noise;
                }
}

TEST(Gate, of_a_missed_limit_has_the_values_of_both_sides) {
    GatePolicy policy = default_policy();
    policy.limits = {parse_limit("ttft_p95<100ms")};
    const GateReport both = report_of(pairs_of(16, {}, 0), policy);
    EXPECT_THAT(both.headline, HasSubstr("FAIL: Limit ttft_p95<100ms: 320 ms, missed in 16 of 16 runs; the "
                                         "baseline misses it, too (320 ms). The limit asks for more than"));
    policy.limits = {parse_limit("ttft_p95<330ms")};
    const GateReport one = report_of(pairs_of(16, {{"ttft", 2}}, 0), policy);
    EXPECT_THAT(one.rows.back().reason,
                HasSubstr("640 ms, missed in 16 of 16 runs; the baseline is within it"));
    EXPECT_THAT(one.headline, HasSubstr("Do not roll out"));
    EXPECT_THAT(one.headline, Not(HasSubstr("–")));
}

TEST(Gate, names_no_figure_for_a_shift_that_data_of_three_pairs_cannot_show) {
    EXPECT_EQ(detectable_text(std::log(1.12), Better::lower),
              "only a change of 12 % or more would have failed with this data");
    EXPECT_EQ(detectable_text(18.9, Better::lower),
              "not even a tenfold change would have failed with this data");
}

TEST(Gate, is_inconclusive_when_the_noise_is_too_large_and_tells_what_would_decide) {
    const GateReport report = report_of(pairs_of(16, {}, .12));
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_EQ(report.pairs, 16U);
    EXPECT_THAT(report.notes, Contains(HasSubstr("metrics and all looks share")));
    EXPECT_THAT(ended_by_time(report).headline,
                HasSubstr(" --max-time ended the gate after 16 of at most 16 p"));
    const GateRow& throughput = row(report, "output_tokens_per_s");
    EXPECT_EQ(throughput.verdict, GateVerdict::inconclusive);
    EXPECT_GT(throughput.detectable.value(), std::log(1.05));
    EXPECT_THAT(report.headline, HasSubstr("INCONCLUSIVE"));
    EXPECT_THAT(report.headline, HasSubstr("metrics are undecided"));
}

TEST(Gate, detects_less_the_smaller_the_part_of_the_errors_is_that_its_last_look_holds) {
    const auto detectable = [](double last_alpha) {
        GateInput input = pairs_of(16, {}, .12);
        input.looks = {{.pairs = 12, .alpha = .01 - last_alpha, .beta = .04},
                       {.pairs = 16, .alpha = last_alpha, .beta = .01}};
        return row(report_of(input), "output_tokens_per_s").detectable.value();
    };
    EXPECT_GT(detectable(.0005), detectable(.005));
}

TEST(Gate, that_ends_early_says_what_this_look_would_have_found) {
    for (const double noise : {.002, .005, .01, .02, .05}) {
        const GateReport report = report_of(pairs_of(16, {{"ttft", 3}, {"e2e", 1.08}}, noise));
        for (const GateRow& row : report.rows) {
            if (row.verdict != GateVerdict::inconclusive || !row.shift || !row.detectable) continue;
            EXPECT_LT(*row.shift, *row.detectable) << row.metric << " with noise " << noise;
        }
    }
}

TEST(Gate, of_fewer_pairs_than_the_first_look_is_inconclusive) {
    EXPECT_EQ(report_of(pairs_of(2, {{"ttft", 3}})).verdict, GateVerdict::inconclusive);
    EXPECT_EQ(report_of(pairs_of(2, {})).pairs, 0U);
}

TEST(Gate, that_the_time_ended_before_the_first_look_says_how_many_pairs_were_measured) {
    const GateReport one = report_of(pairs_of(1, {}));
    EXPECT_EQ(one.headline, "INCONCLUSIVE: only 1 pair was measured, and at least 3 are needed.");
    const GateReport ended = ended_by_time(one);
    const std::string text =
        "only 1 pair was measured within --max-time, and at least 3 are needed: allow more "
        "time (--max-time) or use shorter runs";
    EXPECT_EQ(ended.headline, "INCONCLUSIVE: " + text + ".");
    for (const GateRow& r : ended.rows) {
        EXPECT_EQ(r.reason, text) << r.metric;
        EXPECT_TRUE(r.baseline && r.candidate) << r.metric;
        EXPECT_NE(shift_text(r), "no value") << r.metric;
        EXPECT_THAT(line_of(ended, r), HasSubstr(text));
    }
    EXPECT_EQ(design_text(ended), "1 interleaved pair, of at most 16");
    const GateReport decided = report_of(pairs_of(16, {}));
    EXPECT_EQ(ended_by_time(decided), decided);
}

TEST(Gate, does_not_fail_a_tail_that_moved_by_less_than_its_floor) {
    // stall p95 is 80 ms, so 14 % are more than the floor of 2 ms; 14 % of a stall of 8 ms are less than it.
    EXPECT_EQ(row(report_of(pairs_of(16, {{"stall", 1.14}})), "stall_p95").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report_of(pairs_of(16, {{"tpot", 1.14}})), "tpot_p95").verdict, GateVerdict::fail);
    GateInput small = pairs_of(16, {{"stall", .114}});
    for (GateRun& run : small.baseline)
        for (MetricSummary& metric : run.result.metrics)
            if (metric.key == "stall_s")
                for (PercentileValue& p : metric.percentiles) *p.value *= .1;
    const GateRow stall = row(report_of(small), "stall_p95");
    EXPECT_EQ(stall.verdict, GateVerdict::pass);
    EXPECT_GT(stall.limit, std::log(1.1));
}

TEST(GateValue, is_not_among_failures_if_too_few_requests_failed_for_that) {
    GateRun run = gate_run({});
    for (MetricSummary& metric : run.result.metrics) {
        metric.failed_mass = .01;  // one in a hundred failed, and p50 is missing for another reason
        for (PercentileValue& held : metric.percentiles) held.value.reset();
    }
    EXPECT_EQ(value_of(quantity_named("ttft_p50"), run.result), GateValue{});
    EXPECT_TRUE(value_of(quantity_named("ttft_p99"), run.result).among_failures);
}

TEST(Gate, fails_a_percentile_that_falls_among_failures_on_the_candidates_side_only) {
    GateInput input = pairs_of(4, {});
    const auto lose = [](std::vector<GateRun>& runs) {
        for (GateRun& run : runs)
            for (MetricSummary& metric : run.result.metrics)
                if (metric.key == "ttft_s") {
                    metric.failed_mass = .07;
                    metric.percentiles[2].value.reset();
                }
    };
    lose(input.candidate);
    EXPECT_EQ(row(report_of(input), "ttft_p95").verdict, GateVerdict::fail);
    lose(input.baseline);
    EXPECT_EQ(row(report_of(input), "ttft_p95").verdict, GateVerdict::inconclusive) << "on both sides";
    GateInput better = pairs_of(4, {});
    lose(better.baseline);
    EXPECT_EQ(row(report_of(better), "ttft_p95").verdict, GateVerdict::pass);
}

TEST(Gate, does_not_pass_failures_that_began_after_the_first_look) {
    GateInput input = pairs_of(8, {}, .1);  // so that speeds are undecided and the gate goes on
    for (GateRun& run : input.baseline) run.result.counts.requests = 80;
    for (GateRun& run : input.candidate) run.result.counts.requests = 80;
    for (const std::size_t late : {3, 5}) input.candidate[late].result.counts.failed = 1;
    const GateReport report = report_of(input);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_EQ(row(report, "failures").verdict, GateVerdict::inconclusive);
    EXPECT_EQ(row(report, "failures").decided_at, 0U);
    EXPECT_THAT(row(report, "failures").reason, HasSubstr("2 of 640 failed, and 0 of 640 before"));
    EXPECT_TRUE(row(report, "failures").pairs_to_decide);
}

TEST(Gate, says_how_many_pairs_would_decide_whether_more_requests_fail) {
    GateInput input = pairs_of(6, {}, 0);
    input.looks = {{.pairs = 6, .alpha = .05, .beta = .05}};
    for (GateRun& run : input.baseline) run.result.counts.requests = 60;
    for (GateRun& run : input.candidate) {
        run.result.counts.requests = 60;
        run.result.counts.failed = 1;
    }
    const GateReport report = report_of(input);
    const GateRow& failures = row(report, "failures");
    ASSERT_TRUE(failures.pairs_to_decide);
    EXPECT_GT(*failures.pairs_to_decide, 6U);
    EXPECT_LE(*failures.pairs_to_decide, 14U);
    EXPECT_THAT(report.headline,
                HasSubstr("Failed requests: probably worse, from 0 % to 1.67 % (6 of 360 failed, and "
                          "0 of 360 before)"));
    EXPECT_THAT(report.headline, Not(HasSubstr("larger tolerance")));
}

TEST(Gate, fails_more_failures_by_an_exact_test) {
    GateInput input = pairs_of(4, {});
    for (GateRun& run : input.candidate) run.result.counts.failed = 12;
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "failures").verdict, GateVerdict::fail);
    EXPECT_THAT(report.headline, HasSubstr("from 0 % to 3 %"));
    for (GateRun& run : input.baseline) run.result.counts.failed = 12;
    EXPECT_EQ(row(report_of(input), "failures").verdict, GateVerdict::pass) << "no more than before";
}

TEST(Gate, fails_answers_of_half_the_length_or_of_twice_it) {
    EXPECT_EQ(row(report_of(pairs_of(4, {{"output_length", .5}})), "output_length").verdict,
              GateVerdict::fail);
    EXPECT_EQ(row(report_of(pairs_of(4, {{"output_length", 2}})), "output_length").verdict,
              GateVerdict::fail);
    EXPECT_EQ(row(report_of(pairs_of(16, {{"output_length", 1.02}})), "output_length").verdict,
              GateVerdict::pass);
}

TEST(Gate, fails_another_mix_of_finish_reasons) {
    GateInput input = pairs_of(4, {});
    for (GateRun& run : input.candidate) run.finish_reasons = {{"length", 300}, {"stop", 100}};
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "finish_reasons").verdict, GateVerdict::fail);
    EXPECT_THAT(report.why, HasSubstr("Answers end at different places"));
}

TEST(Gate, leaves_out_what_neither_side_measured) {
    GateInput input = pairs_of(16, {});
    for (auto* side : {&input.baseline, &input.candidate})
        for (GateRun& run : *side)
            std::erase_if(run.result.metrics, [](const MetricSummary& m) { return m.key == "itl_s"; });
    const GateReport report = report_of(input);
    EXPECT_EQ(report.verdict, GateVerdict::pass);
    EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr(" of the 14 metrics of the policy are judged."),
                                             HasSubstr("either side: itl_p50, goodput_ratio, quality"))));
    EXPECT_THROW((void)row(report, "goodput_ratio"), std::out_of_range);
}

/// Makes runs those of an open loop that did not keep up and served `served` of 27 requests/s.
void overload(std::vector<GateRun>& runs, double served) {
    for (GateRun& run : runs) {
        run.result.request_rate = 27;
        run.result.window.overloaded = true;
        run.result.throughput.set(figure::kRequests, served);
    }
}

TEST(Gate, does_not_pass_a_candidate_that_does_not_keep_up) {
    GateInput input = pairs_of(16, {});
    overload(input.baseline, 13.9);
    overload(input.candidate, 13.8);
    const GateReport report = report_of(input);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_TRUE(metrics_are_decided(report)) << "more pairs do not help";
    EXPECT_THAT(report.headline, HasSubstr("the candidate does not keep up with the arrivals"));
    EXPECT_EQ(
        report.why,
        "Neither side keeps up with 27 req/s (13.9 served in the baseline, 13.8 in the candidate): only "
        "their capacity can be compared. Lower the rate to judge latency.");
    GatePolicy policy = default_policy();
    policy.limits = {parse_limit("itl_p95<400ms")};
    EXPECT_EQ(report_of(input, policy).verdict, GateVerdict::fail) << "its limits are missed";
    for (GateRun& run : input.candidate) run.result.window.overloaded = false;
    EXPECT_EQ(report_of(input).verdict, GateVerdict::pass);
    EXPECT_THAT(report_of(input).why, HasSubstr("the baseline does not keep up with 27 req/s"));
}

TEST(Gate, of_lower_throughput_of_a_candidate_that_does_not_keep_up_names_its_capacity) {
    GateInput input = pairs_of(16, {{"output_tokens_per_s", 1 / 1.8}});
    overload(input.baseline, 13.9);
    overload(input.candidate, 7.7);
    const GateReport report = report_of(input);
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_THAT(report.why, AllOf(HasSubstr("7.7 in the candidate"), HasSubstr("capacity is lower: compare"),
                                  Not(HasSubstr("start later"))));
}

TEST(Gate, names_the_queue_when_ttft_moved_and_itl_improved) {
    const GateReport report = report_of(pairs_of(16, {{"ttft", 6}, {"itl", .5}, {"tpot", .5}}));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_THAT(report.why, HasSubstr("queue"));
}

TEST(Gate, names_the_batch_when_itl_moved_and_ttft_improved) {
    const GateReport report = report_of(pairs_of(16, {{"ttft", .4}, {"itl", 2}, {"tpot", 2}}));
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    EXPECT_THAT(report.why, HasSubstr("larger batch"));
}

TEST(Gate, names_prefill_when_the_prefix_cache_holds_less) {
    GateInput input = pairs_of(16, {{"ttft", 3}, {"itl", 3}});
    for (GateRun& run : input.baseline) run.result.throughput.set(figure::kCachedPromptRatio, .8);
    for (GateRun& run : input.candidate) run.result.throughput.set(figure::kCachedPromptRatio, 0);
    EXPECT_THAT(report_of(input).why, HasSubstr("TTFT and ITL are worse: the prefix cache held 80 %"));
}

TEST(Gate, says_whether_answers_became_shorter_or_longer) {
    EXPECT_THAT(report_of(pairs_of(4, {{"output_length", .5}})).headline, HasSubstr(": 50 % lower"));
    EXPECT_THAT(report_of(pairs_of(4, {{"output_length", 2}})).headline, HasSubstr(": 100 % higher"));
}

TEST(Gate, does_not_take_unknown_cached_tokens_for_none) {
    GateInput input = pairs_of(16, {{"ttft", 3}, {"itl", 1.3}});
    for (GateRun& run : input.baseline) run.result.throughput.set(figure::kCachedPromptRatio, .8);
    EXPECT_THAT(report_of(input).why, HasSubstr("the candidate reports no cached tokens"));
}

TEST(Gate, tells_what_the_servers_say_of_themselves_where_it_differs) {
    GateInput input = pairs_of(16, {{"ttft", 3}});
    const auto say = [](std::vector<GateRun>& runs, double waiting, double preemptions) {
        for (GateRun& run : runs) {
            run.result.server.emplace();
            run.result.server->window = {{"waiting", waiting}, {"preemptions", preemptions}, {"running", 8}};
        }
    };
    say(input.baseline, .1, 0);
    say(input.candidate, 6.25, 0);
    EXPECT_THAT(report_of(input).why,
                HasSubstr("The servers' own metrics: requests waiting 0.1 before, 6.25 now."));
    say(input.candidate, .2, 0);
    EXPECT_THAT(report_of(input).why, Not(HasSubstr("own metrics"))) << "the same";
}

TEST(Gate, of_two_sets_says_that_drift_cannot_be_excluded_and_needs_three_runs_a_side) {
    const GatePolicy policy = default_policy();
    GateInput input{.baseline = gate_runs(6, {}, .003, 1, "b"),
                    .candidate = gate_runs(5, {{"ttft", 1.5}}, .003, 1, "c"),
                    .design = GateDesign::two_sets,
                    .looks = one_look(policy, 5)};
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "ttft_p50").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "output_tokens_per_s").verdict, GateVerdict::pass);
    EXPECT_THAT(report.notes, Contains(HasSubstr("drift")));
    input.candidate.resize(2);
    input.looks = one_look(policy, 2);
    const GateReport few = report_of(input);
    EXPECT_EQ(few.verdict, GateVerdict::inconclusive);
    EXPECT_THAT(row(few, "ttft_p50").reason, HasSubstr("3 of each are needed"));
    EXPECT_THAT(few.headline, HasSubstr("needed: measure 1 more of the candidate."));
}

/// A stored baseline of the seeds 0 to 4, and a candidate that repeats them. The work of a seed changes every
/// figure by a factor, which the seeds from 50 on do not have in common with others.
GateInput stored_input(std::size_t runs, std::uint64_t first_seed, double worse) {
    const auto run_of = [](std::uint64_t seed, double factor, std::uint64_t draw) {
        Random of_work(derived_seed(seed, "work"));
        Random of_run(derived_seed(draw, "run"));
        const double work = std::exp(.1 * of_work.normal());
        sample::Factors factors;
        for (const std::string metric : {"ttft", "itl", "tpot", "e2e", "stall"})
            factors[metric] = work * factor * std::exp(.004 * of_run.normal());
        factors["output_tokens_per_s"] = std::exp(.002 * of_run.normal()) / work / factor;
        GateRun run = gate_run(factors);
        run.result.workload.seed = seed;
        return run;
    };
    GateInput input{.baseline = {}, .candidate = {}, .design = GateDesign::stored, .looks = {}};
    for (std::uint64_t i = 0; i < 5; ++i) input.baseline.push_back(run_of(i, 1, i));
    for (std::uint64_t i = 0; i < runs; ++i)
        input.candidate.push_back(run_of(first_seed + i % 5, worse, 100 + i));
    input.looks = looks_of(default_policy());
    return input;
}

TEST(Gate, beside_a_stored_baseline_compares_runs_with_the_same_requests) {
    const GateReport equal = report_of(stored_input(16, 0, 1));
    EXPECT_EQ(equal.verdict, GateVerdict::pass) << equal.headline;
    EXPECT_LT(equal.pairs, 16U);
    EXPECT_THAT(equal.notes, Contains(HasSubstr("Runs with the same requests (seeds) are compared")));
    const GateReport slower = report_of(stored_input(16, 0, 1.08));
    EXPECT_EQ(slower.verdict, GateVerdict::fail) << slower.headline;
    EXPECT_NEAR(*row(slower, "ttft_p50").shift, std::log(1.08), .01);
    const GateReport others = report_of(stored_input(16, 50, 1));
    EXPECT_EQ(others.verdict, GateVerdict::inconclusive) << "other requests, which differ by 10 %";
    EXPECT_THAT(others.notes, Contains(HasSubstr("The requests differ (other seeds)")));
}

TEST(Gate, names_a_number_of_stored_runs_that_decides) {
    GatePolicy policy = default_policy();
    policy.metrics = {{.name = "ttft_p50", .tolerance = .05}};
    GateInput input{.baseline = gate_runs(4, {}, .05, 1, "b"),
                    .candidate = gate_runs(16, {}, .05, 2, "c"),
                    .design = GateDesign::stored,
                    .looks = looks_of(policy)};
    const GateReport report = report_of(input, policy);
    const GateRow open = row(report, "ttft_p50");
    ASSERT_EQ(open.verdict, GateVerdict::inconclusive);
    ASSERT_FALSE(open.pairs_to_decide);
    ASSERT_TRUE(open.stored_to_decide);
    EXPECT_GT(*open.stored_to_decide, 4U);
    const auto more = *open.stored_to_decide;
    while (input.baseline.size() < more) input.baseline.push_back(input.baseline[input.baseline.size() % 4]);
    EXPECT_EQ(row(report_of(input, policy), "ttft_p50").verdict, GateVerdict::pass);
}

TEST(Gate, names_a_number_of_runs_that_decides_when_it_is_allowed) {
    GatePolicy policy = default_policy();
    policy.metrics = {{.name = "ttft_p50", .tolerance = .05}};
    policy.max_pairs = 6;
    GateInput input{.baseline = gate_runs(20, {}, .05, 1, "b"),
                    .candidate = gate_runs(6, {{"ttft", 1.03}}, .05, 2, "c"),
                    .design = GateDesign::stored,
                    .looks = looks_of(policy)};
    const GateRow open = row(report_of(input, policy), "ttft_p50");
    ASSERT_EQ(open.verdict, GateVerdict::inconclusive);
    ASSERT_TRUE(open.pairs_to_decide);
    EXPECT_GT(*open.pairs_to_decide, 6U);
    policy.max_pairs = *open.pairs_to_decide;
    // More runs with the same mean and spread.
    while (input.candidate.size() < policy.max_pairs)
        input.candidate.push_back(input.candidate[input.candidate.size() % 6]);
    input.looks = looks_of(policy);
    EXPECT_EQ(row(report_of(input, policy), "ttft_p50").verdict, GateVerdict::pass);
}

TEST(Gate, says_if_the_prefix_caches_of_its_sides_were_not_equally_warm) {
    GateInput input = pairs_of(6, {});
    const auto cached = [](std::vector<GateRun>& runs, double share) {
        for (GateRun& run : runs) {
            run.result.throughput.set(figure::kCachedPromptRatio, share);
            run.result.validity.reasons.push_back({Verdict::warn, "warm_cache", "was sent before"});
        }
    };
    cached(input.candidate, .91);
    cached(input.baseline, .9);
    EXPECT_THAT(report_of(input).notes, Not(Contains(HasSubstr("prefix caches"))));
    for (GateRun& run : input.baseline) run.result.validity.reasons.clear();
    cached(input.baseline, .09);
    input.baseline.front().result.validity.reasons.clear();
    EXPECT_THAT(report_of(input).notes,
                Contains(AllOf(HasSubstr("5 of 6 runs (9 % of the tokens cached) of the baseline"),
                               HasSubstr("6 of 6 runs (91 % of the tokens cached) of the candidate"))));
}

TEST(Gate, names_the_warnings_of_its_runs_the_most_frequent_first) {
    GateInput input = pairs_of(3, {});
    EXPECT_THAT(report_of(input).notes, Not(Contains(HasSubstr("carry warnings"))));
    const auto warn = [](GateRun& run, const std::string& check) {
        run.result.validity.verdict = Verdict::warn;
        run.result.validity.reasons.push_back({Verdict::warn, check, "why"});
    };
    warn(input.candidate.front(), "hiccups");
    for (GateRun& run : input.baseline) warn(run, "in_step");
    EXPECT_THAT(report_of(input).notes,
                Contains("4 of 6 runs carry warnings: in_step (3 runs), hiccups (1 run). `paretoken help "
                         "in_step` says what to do."));
}

TEST(Gate, passes_with_an_undecided_metric_if_the_policy_allows_it) {
    GateInput input = pairs_of(16, {});
    double times = 8;
    for (GateRun& run : input.candidate) {
        times = 1 / times;  // an eighth, and 8 times as long
        for (MetricSummary& metric : run.result.metrics)
            if (metric.key == "stall_s")
                for (PercentileValue& p : metric.percentiles) *p.value *= times;
    }
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "stall_p95").verdict, GateVerdict::inconclusive);
    EXPECT_EQ(report.verdict, GateVerdict::pass);
    EXPECT_THAT(report.headline,
                AllOf(HasSubstr("PASS: none of"), HasSubstr("is shown to be worse than its tolerance"),
                      HasSubstr("Longest stall, p95 is undecided, which the policy allows: ")));
    EXPECT_THAT(gate_junit(report), AllOf(HasSubstr("<skipped type=\"inconclusive\""),
                                          HasSubstr("skipped=\"1\""), HasSubstr("errors=\"0\"")));
    GatePolicy strict = default_policy();
    for (GateMetric& metric : strict.metrics) metric.may_stay_undecided = false;
    EXPECT_EQ(decided(strict, input).verdict, GateVerdict::inconclusive);
    GatePolicy nothing_else = default_policy();
    std::erase_if(nothing_else.metrics, [](const GateMetric& metric) { return metric.name != "stall_p95"; });
    const GateReport undecided = decided(nothing_else, input);
    EXPECT_EQ(undecided.verdict, GateVerdict::inconclusive);
    EXPECT_EQ(undecided.pairs, 16U) << "the gate went on";
    EXPECT_EQ(undecided.headline, "INCONCLUSIVE: none of 1 metric is decided.");
}

TEST(Gate, within_runs_uses_their_own_intervals_and_says_what_they_do_not_hold) {
    const GatePolicy policy = default_policy();
    const GateInput input{.baseline = {gate_run({})},
                          .candidate = {gate_run({{"ttft", 1.5}})},
                          .design = GateDesign::within_runs,
                          .looks = one_look(policy, 1)};
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "ttft_p50").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "itl_p50").verdict, GateVerdict::pass);
    EXPECT_THAT(report.notes, Contains(HasSubstr("from run to run")));
}

TEST(Gate, needs_longer_runs_and_not_more_pairs_where_only_a_limit_is_undecided) {
    GatePolicy policy = default_policy();
    policy.limits = {parse_limit("ttft_p95<321ms")};
    const GateReport report = report_of(pairs_of(16, {}, 0), policy);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_TRUE(metrics_are_decided(report));
    EXPECT_THAT(report.headline, HasSubstr("would decide it. Each run must certify the limit"));
    EXPECT_THAT(report.headline, HasSubstr("320 ms, certified in 0 of "));
    GateInput stored = pairs_of(16, {}, 0);
    stored.design = GateDesign::stored;
    EXPECT_THAT(report_of(stored, policy).headline,
                HasSubstr("would decide it: store a baseline of such runs (--create-baseline)."));
    EXPECT_FALSE(metrics_are_decided(report_of(pairs_of(3, {}, .3), policy)));
}

TEST(Gate, holds_the_candidate_to_limits_that_every_run_must_certify) {
    GatePolicy policy = default_policy();
    policy.limits = {parse_limit("ttft_p95<400ms"), parse_limit("ttft_p95<300ms"),
                     parse_limit("ttft_p95<321ms"), parse_limit("output_tokens_per_s>3000")};
    GateInput input = pairs_of(16, {}, 0);
    const GateReport report = report_of(input, policy);  // ttft p95 is 320 ms, decided between 314 and 326
    EXPECT_EQ(row(report, "ttft_p95<400ms").verdict, GateVerdict::pass);
    EXPECT_EQ(row(report, "ttft_p95<300ms").verdict, GateVerdict::fail);
    EXPECT_EQ(row(report, "ttft_p95<321ms").verdict, GateVerdict::inconclusive);
    EXPECT_EQ(row(report, "output_tokens_per_s>3000").verdict, GateVerdict::pass);
    EXPECT_EQ(report.verdict, GateVerdict::fail);
}

TEST(Gate, judges_a_metric_of_a_class_and_refuses_a_class_that_no_run_has) {
    GatePolicy policy = default_policy();
    policy.metrics = {{.name = "interactive/ttft_p95", .tolerance = .1}};
    GateInput input = pairs_of(4, {{"ttft", 2}});
    EXPECT_THROW(report_of(input, policy), UsageError);
    for (auto* side : {&input.baseline, &input.candidate})
        for (GateRun& run : *side) run.result.classes["interactive"] = run.result;
    EXPECT_EQ(row(report_of(input, policy), "interactive/ttft_p95").verdict, GateVerdict::fail);
}

TEST(Gate, fails_equal_sides_at_most_once_in_a_hundred_and_a_real_shift_nearly_always) {
    int false_fails = 0;
    int found = 0;
    constexpr int kGates = 300;
    for (std::uint64_t seed = 0; seed < kGates; ++seed) {
        const auto verdict = [&](const Factors& factors) {
            return report_of({.baseline = gate_runs(16, {}, .01, 2 * seed, "b"),
                              .candidate = gate_runs(16, factors, .01, 2 * seed, "c"),
                              .design = GateDesign::pairs,
                              .looks = looks_of(default_policy())})
                .verdict;
        };
        false_fails += verdict({}) == GateVerdict::fail ? 1 : 0;
        found += verdict({{"output_tokens_per_s", .93}}) == GateVerdict::fail ? 1 : 0;
    }
    EXPECT_LE(false_fails, 3);
    EXPECT_GE(found, kGates * .9);
}

// ---- same work

TEST(SameWork, is_refused_with_the_part_that_differs) {
    const GateRun first = gate_run({}, "a");
    GateRun second = gate_run({}, "b");
    const auto refused = [&](const std::set<Across>& across = {}) {
        try {
            require_comparable(std::span(&first, 1), std::span(&second, 1), across);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused(), "");
    second.result.plan["temperature"] = "0.7";
    second.result.workload.fingerprint = "1111111111111111";
    EXPECT_THAT(refused({Across::model, Across::hardware, Across::load}),
                HasSubstr("--temperature: not given and 0.7"));
    second = gate_run({}, "b");
    second.result.plan["seed"] = "7";
    second.result.plan["salt"] = "s";
    second.result.plan["url"] = "http://other";
    EXPECT_EQ(refused(), "") << "what differs from run to run on purpose";
    second.result.plan["concurrency"] = "16";
    EXPECT_THAT(refused(), HasSubstr("--concurrency: 8 and 16"));
    EXPECT_EQ(refused({Across::load}), "");
    second = gate_run({}, "b");
    second.result.provenance.model = "qwen";
    EXPECT_THAT(refused(), HasSubstr("model: llama and qwen"));
    EXPECT_EQ(refused({Across::model}), "");
    second = gate_run({}, "b");
    second.result.provenance.hardware_count = 2;
    EXPECT_THAT(refused(), HasSubstr("2 x h100-sxm"));
    EXPECT_EQ(refused({Across::hardware}), "");
    second.result.provenance.model = "qwen";
    EXPECT_THAT(refused(), HasSubstr("model: llama and qwen; hardware: h100-sxm and 2 x h100-sxm (--across "
                                     "model,hardware)"));
}

TEST(SameWork, on_the_simulator_is_not_changed_by_what_is_compared) {
    GateRun first = gate_run({});
    GateRun second = gate_run({});
    first.result.provenance.hardware = "sim:llama3-8b-h100-bf16";
    second.result.provenance.hardware = "sim:llama3-8b-h100-bf16?prefix_cache=0";
    EXPECT_EQ(difference_of_work(first.result, second.result, {}), std::nullopt);
    second.result.provenance.hardware = "sim:llama3-8b-h100-fp8";
    EXPECT_THAT(difference_of_work(first.result, second.result, {}).value_or(""), HasSubstr("hardware"));
}

TEST(SameWork, may_be_compared_across_what_is_named) {
    EXPECT_EQ(parse_across("model,load"), (std::set<Across>{Across::model, Across::load}));
    EXPECT_THROW(parse_across("workload"), UsageError);
}

TEST(SpoiledRun, is_one_that_only_the_clients_host_made_invalid) {
    const auto of = [](std::vector<Reason> reasons) {
        RunResult run;
        run.validity = {Verdict::invalid, std::move(reasons)};
        return spoiled_by_instrument(run);
    };
    const Reason host{Verdict::invalid, "instrument", "the client may have read late"};
    const Reason rate{Verdict::invalid, "refill_lag", "the client was late"};
    const Reason server{Verdict::invalid, "errors", "requests failed"};
    EXPECT_TRUE(of({host, rate}));
    EXPECT_TRUE(of({host, {Verdict::warn, "errors", "few failed"}}));
    EXPECT_FALSE(of({host, server}));
    EXPECT_FALSE(spoiled_by_instrument({}));
}

TEST(SpoiledRun, makes_a_gate_inconclusive_with_the_reason_first) {
    const GateReport before = report_of(pairs_of(2, {}));
    ASSERT_EQ(before.verdict, GateVerdict::inconclusive);
    const GateReport after = ended_by_instrument(before, "pairs/03/candidate: the client was late");
    EXPECT_EQ(after.verdict, GateVerdict::inconclusive);
    EXPECT_THAT(after.headline, ::testing::StartsWith("INCONCLUSIVE: the load generator's host spoiled"));
    EXPECT_THAT(after.headline, HasSubstr("pairs/03/candidate: the client was late"));
    GateReport failed = before;
    failed.verdict = GateVerdict::fail;
    EXPECT_EQ(ended_by_instrument(failed, "x").headline, before.headline) << "a fail stays a fail";
}

TEST(Unusable, is_an_invalid_run_unless_the_candidates_requests_failed) {
    RunResult run = gate_run({}).result;
    EXPECT_EQ(why_unusable(run, true), "");
    run.validity = {Verdict::invalid, {{Verdict::invalid, "errors", "failed requests: 20 %"}}};
    EXPECT_EQ(why_unusable(run, true), "") << "that is what a gate is about";
    EXPECT_THAT(why_unusable(run, false), HasSubstr("20 %"));
    run.validity.reasons.push_back({Verdict::invalid, "hiccups", "time lost to the host: 30 %"});
    EXPECT_THAT(why_unusable(run, true), HasSubstr("30 %"));
    run = gate_run({}).result;
    run.partial = true;
    EXPECT_THAT(why_unusable(run, true), HasSubstr("interrupted"));
    try {
        const GateRun bad{.directory = "runs/7", .result = run, .finish_reasons = {}};
        const GateRun good = gate_run({});
        require_comparable(std::span(&good, 1), std::span(&bad, 1), {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::measurement_invalid);
        EXPECT_THAT(error.what(), HasSubstr("runs/7"));
    }
}

// ---- policy

TEST(GatePolicy, names_figures_percentiles_and_counts) {
    EXPECT_NO_THROW(check(default_policy()));
    EXPECT_EQ(quantity_named("output_tokens_per_s").better, Better::higher);
    EXPECT_EQ(quantity_named("ttft_p95").p, .95);
    EXPECT_EQ(quantity_named("batch/interactivity_p90").request_class, "batch");
    for (const std::string name :
         {"ttft", "ttft_p42", "p95", "send_lag_p50", "mean_in_flight", "/ttft_p50", ""})
        EXPECT_THROW((void)quantity_named(name), UsageError) << name;
}

TEST(GatePolicy, refuses_what_cannot_be) {
    const auto refused = [](auto change) {
        GatePolicy policy = default_policy();
        change(policy);
        EXPECT_THROW(check(policy), UsageError);
    };
    refused([](GatePolicy& p) { p.alpha = 0; });
    refused([](GatePolicy& p) { p.beta = .6; });
    refused([](GatePolicy& p) { p.max_pairs = 2; });
    refused([](GatePolicy& p) { p.metrics.front().tolerance = -.1; });
    refused([](GatePolicy& p) { p.metrics.front().floor = std::nan(""); });
    refused([](GatePolicy& p) { p.metrics.clear(); });
    refused([](GatePolicy& p) { p.metrics.push_back({.name = "failures", .tolerance = 2}); });
}

TEST(GateLimit, has_times_in_milliseconds_or_with_a_unit_and_points_the_right_way) {
    EXPECT_EQ(parse_limit("ttft_p95<800"), (GateLimit{"ttft_p95", true, .8}));
    EXPECT_EQ(parse_limit("ttft_p95:800"), parse_limit("ttft_p95<800ms"));
    EXPECT_EQ(parse_limit("output_tokens_per_s:2k"), parse_limit("output_tokens_per_s>2k"));
    EXPECT_EQ(parse_limit("ttft_p95<=0.8s"), (GateLimit{"ttft_p95", true, .8}));
    EXPECT_EQ(parse_limit("output_tokens_per_s>2k"), (GateLimit{"output_tokens_per_s", false, 2000}));
    EXPECT_EQ(parse_limit(text_of(parse_limit("e2e_p99<2s"))), parse_limit("e2e_p99<2s"));
    EXPECT_EQ(text_of(parse_limit("interactivity_p90>35")), "interactivity_p90>35");
    for (const std::string text : {"ttft_p95", "ttft_p95>800ms", "<5", "failures<1", "ttft_p95<x"})
        EXPECT_THROW(parse_limit(text), UsageError) << text;
}

// ---- what the answers say

/// Gives a run answers to `n` questions, of which the first `right` are right.
void ask(GateRun& run, std::size_t n, std::size_t right, const std::string& probe = "recall") {
    run.result.quality = ProbeScore{.probe = probe, .score = double(right) / double(n), .n = n};
    for (std::size_t i = 0; i < n; ++i)
        run.probe.push_back(
            {.question = i, .right = i < right, .expected = "number 1", .answer = i < right ? "1" : "two"});
}

TEST(GateQuality, FailsWhenMoreAnswersWereLostThanChanceExplains) {
    GateInput input = pairs_of(16, {});
    ask(input.baseline[0], 100, 98);
    ask(input.candidate[0], 100, 60);
    const GateReport report = report_of(input);
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    const GateRow& quality = row(report, "quality");
    EXPECT_EQ(quality.verdict, GateVerdict::fail);
    EXPECT_NEAR(quality.shift.value(), .38, 1e-9) << "positive is worse";
    EXPECT_THAT(quality.reason, HasSubstr("60 of 100 answers are right, and 98 of 100 before: 38 were lost"));
    EXPECT_THAT(quality.reason, HasSubstr("question 60, number 1: \"two\""));
    EXPECT_THAT(report.headline, HasSubstr("Right answers to the probe: from 98 % to 60 %"));
    EXPECT_THAT(report.why, HasSubstr("answers are worse"));
}

TEST(GateQuality, ComparesOnlyQuestionsThatBothSidesAnswered) {
    GateInput input = pairs_of(16, {});
    ask(input.baseline[0], 100, 98);
    ask(input.candidate[0], 100, 98);
    for (std::size_t i = 0; i < 40; ++i) {
        input.candidate[0].probe[i].right = false;
        input.candidate[0].probe[i].failed = true;
    }
    input.candidate[0].result.quality->n = 60;
    const GateReport report = report_of(input);
    const GateRow& quality = row(report, "quality");
    EXPECT_THAT(quality.reason, HasSubstr("58 of 60 answers are right, and 98 of 100 before: 0 were lost"));
    EXPECT_EQ(quality.verdict, GateVerdict::pass);
}

TEST(GateQuality, IsOpenWhereADropMayBeChanceAndSaysThatMoreQuestionsDecide) {
    GateInput input = pairs_of(16, {});
    ask(input.baseline[0], 20, 20);
    ask(input.candidate[0], 20, 18);
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "quality").verdict, GateVerdict::inconclusive);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_THAT(report.headline, HasSubstr("which 20 questions cannot distinguish from chance"));
}

TEST(GateQuality, PassesADropWithinTheToleranceAndAnyGain) {
    GateInput input = pairs_of(16, {});
    ask(input.baseline[0], 100, 90);
    ask(input.candidate[0], 100, 89);
    EXPECT_EQ(row(report_of(input), "quality").verdict, GateVerdict::pass);
    input.candidate[0].probe.clear();
    ask(input.candidate[0], 100, 100);
    EXPECT_EQ(row(report_of(input), "quality").verdict, GateVerdict::pass);
}

TEST(GateQuality, IsLeftOutWithANoteWhereTheSidesWereNotAskedTheSame) {
    GateInput input = pairs_of(16, {});
    ask(input.baseline[0], 20, 20);
    GateReport report = report_of(input);
    EXPECT_THROW(row(report, "quality"), std::out_of_range);
    EXPECT_THAT(report.notes, Contains(HasSubstr("measured for the baseline only")));
    ask(input.candidate[0], 20, 20, "other questions");
    report = report_of(input);
    EXPECT_THROW(row(report, "quality"), std::out_of_range);
    EXPECT_THAT(report.notes, Contains(HasSubstr("different questions (recall and other questions)")));
}

TEST(GateAnswers, FailWhenTheyRepeatATextThatTheBaselineDoesNot) {
    GateInput input = pairs_of(16, {});
    input.baseline[0].answers = {.answers = 60, .empty = 0, .repeated = 1};
    input.candidate[0].answers = {
        .answers = 60, .empty = 0, .repeated = 40, .repeated_example = "request 3: \" the the\""};
    const GateReport report = report_of(input);
    EXPECT_EQ(row(report, "repeated_answers").verdict, GateVerdict::fail);
    EXPECT_THAT(row(report, "repeated_answers").reason,
                HasSubstr("40 of 60 repeat a text, and 1 of 60 before; for example request 3"));
    EXPECT_EQ(row(report, "empty_answers").verdict, GateVerdict::pass);
    input.candidate[0].answers = {.answers = 60, .empty = 30, .empty_example = "request 9"};
    EXPECT_EQ(row(report_of(input), "empty_answers").verdict, GateVerdict::fail);
    input.baseline[0].answers = input.candidate[0].answers;
    EXPECT_EQ(report_of(input).verdict, GateVerdict::pass) << "both sides do the same";
    input.baseline[0].answers = {};
    EXPECT_THAT(report_of(input).notes,
                Contains(HasSubstr("candidate only and is not judged: the baseline's")));
}

}  // namespace
}  // namespace paretoken::reports
