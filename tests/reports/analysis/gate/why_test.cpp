#include "reports/analysis/gate/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/gate/words.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// Returns a row whose interval lies above its limit of 5 % if it failed, around 0 if it passed, and on both
/// sides of the limit if it is undecided.
GateRow row(const std::string& metric, GateVerdict verdict) {
    GateRow of{.metric = metric, .title = metric, .unit = "s"};
    of.verdict = verdict;
    of.limit = .05;
    of.shift = verdict == GateVerdict::pass ? 0 : .42;
    const double half = verdict == GateVerdict::inconclusive ? .4 : .02;
    of.ci95 = Interval{*of.shift - half, *of.shift + half};
    return of;
}

constexpr auto kPass = GateVerdict::pass;
constexpr auto kFail = GateVerdict::fail;
constexpr auto kUndecided = GateVerdict::inconclusive;

std::string why(const std::vector<GateRow>& rows) {
    return why_of(rows, {});
}

TEST(GateWhy, names_no_cause_for_metrics_that_are_undecided) {
    EXPECT_THAT(why({row("ttft_p50", kUndecided), row("itl_p50", kPass)}), IsEmpty());
    EXPECT_THAT(why({row("itl_p50", kUndecided), row("output_tokens_per_s", kUndecided)}), IsEmpty());
}

TEST(GateWhy, says_that_the_other_metric_is_not_worse_only_if_all_its_rows_passed) {
    EXPECT_THAT(why({row("itl_p50", kFail), row("ttft_p50", kPass), row("ttft_p95", kPass)}),
                StartsWith("ITL is worse and TTFT is not: the cause is the decode step"));
    EXPECT_THAT(why({row("ttft_p50", kFail), row("itl_p50", kPass)}),
                StartsWith("TTFT is worse and ITL is not: the cause is the prefill"));
    EXPECT_THAT(why({row("itl_p50", kFail), row("ttft_p50", kPass), row("ttft_p95", kUndecided)}),
                Not(HasSubstr("is not")));
}

TEST(GateWhy, names_the_percentile_that_is_worse) {
    EXPECT_THAT(why({row("itl_p50", kPass), row("tpot_p95", kFail), row("ttft_p50", kPass)}),
                StartsWith("TPOT p95 is worse and TTFT is not: the cause is the decode step"));
    EXPECT_THAT(why({row("itl_p50", kPass), row("tpot_p95", kFail), row("ttft_p95", kFail)}),
                StartsWith("TTFT p95 and TPOT p95 are both worse"));
}

TEST(GateWhy, takes_an_undecided_metric_by_its_interval_if_that_is_on_one_side_of_the_limit) {
    const auto undecided = [](const char* metric, double low, double high) {
        GateRow of = row(metric, kUndecided);
        of.limit = .05;
        of.ci95 = Interval{low, high};
        return of;
    };
    const GateRow throughput = row("output_tokens_per_s", kFail);
    EXPECT_THAT(why({throughput, undecided("itl_p50", .1, .11), row("ttft_p50", kPass)}),
                StartsWith("ITL is worse and TTFT is not"));
    EXPECT_THAT(why({throughput, undecided("itl_p50", .04, .11), row("ttft_p50", kPass)}),
                StartsWith("Throughput is worse"));
    EXPECT_THAT(why({row("itl_p50", kFail), undecided("ttft_p50", -.01, .03)}),
                StartsWith("ITL is worse and TTFT is not"));
    EXPECT_THAT(why({undecided("itl_p50", .1, .11)}), IsEmpty()) << "nothing failed";
}

TEST(GateWhy, of_a_metric_beside_an_undecided_one_names_the_cause_in_each_case) {
    EXPECT_THAT(why({row("itl_p50", kFail), row("ttft_p50", kUndecided)}),
                AllOf(StartsWith("ITL is worse and TTFT is undecided: if only ITL is worse, the cause is the "
                                 "decode step"),
                      HasSubstr(". If TTFT is worse too, the whole server is slower.")));
    EXPECT_THAT(
        why({row("ttft_p95", kFail), row("itl_p50", kPass), row("tpot_p95", kUndecided)}),
        StartsWith("TTFT p95 is worse and ITL is undecided: if only TTFT p95 is worse, the cause is the "
                   "prefill"));
}

TEST(GateWhy, says_of_a_metric_without_rows_that_it_is_not_judged) {
    EXPECT_THAT(why({row("itl_p50", kFail)}), StartsWith("ITL is worse and TTFT is not judged: if only"));
    EXPECT_THAT(why({row("stall_p95", kFail), row("ttft_p50", kPass)}),
                StartsWith("The longest gaps between tokens are worse, but TTFT is not and ITL is not "
                           "judged: the server pauses"));
}

TEST(GateWhy, of_pauses_does_not_name_the_decode_step_if_the_median_is_not_worse) {
    EXPECT_THAT(
        why({row("stall_p95", kFail), row("tpot_p95", kFail), row("itl_p50", kPass), row("ttft_p50", kPass)}),
        StartsWith("The longest gaps between tokens are worse, but the median inter-token latency is "
                   "not: the server pauses"));
}

TEST(GateHeadline, of_an_undecided_gate_names_a_stall_that_is_beyond_its_tolerance) {
    GateReport report{.verdict = GateVerdict::inconclusive,
                      .rows = {row("itl_p50", kUndecided), row("stall_p95", kUndecided)}};
    GateRow& stall = report.rows[1];
    stall.may_stay_undecided = true;
    EXPECT_FALSE(stall.keeps_open());
    stall.title = "Longest stall, p95";
    stall.shift = 1.9;
    stall.limit = .1;
    stall.ci95 = Interval{.7, 3.1};
    EXPECT_TRUE(stall.keeps_open());
    EXPECT_THAT(headline_of(report),
                AllOf(HasSubstr("Longest stall, p95: probably"), HasSubstr("2 of 2 metrics")));
    report.design = GateDesign::stored;
    report.pairs = 6;
    EXPECT_THAT(headline_of(report), AllOf(HasSubstr("adds runs of the baseline's build"),
                                           Not(HasSubstr("--accept-inconclusive"))));
}

TEST(GateWhy, of_longer_gaps_names_the_prefix_cache_that_holds_less) {
    GateInput input;
    input.baseline.resize(1);
    input.candidate.resize(1);
    input.baseline.front().result.throughput.set(figure::kCachedPromptRatio, .8);
    input.candidate.front().result.throughput.set(figure::kCachedPromptRatio, 0);
    EXPECT_THAT(why_of(std::vector{row("stall_p95", kFail), row("ttft_p50", kUndecided)}, input),
                StartsWith("The longest gaps between tokens are worse, but TTFT is undecided and ITL is not "
                           "judged: the prefix cache held 80 % of the prompt tokens"));
}

GateRun run_with(double ttft_s, std::map<std::string, double> of_server) {
    GateRun run;
    MetricSummary& ttft = run.result.metrics.emplace_back();
    ttft.key = "ttft_s";
    ttft.mean = ttft_s;
    run.result.throughput.set(figure::kRequests, 10);
    run.result.server.emplace().window = std::move(of_server);
    return run;
}

TEST(GateWhy, of_ttft_is_the_queue_if_it_became_longer_by_most_of_what_ttft_did) {
    const std::vector rows{row("ttft_p50", kFail), row("itl_p50", kPass)};
    const auto why_between = [&](GateRun before, GateRun after) {
        GateInput input;
        input.baseline.push_back(std::move(before));
        input.candidate.push_back(std::move(after));
        return why_of(rows, input);
    };
    GateRun before = run_with(.05, {{"queue_mean_s", .003}});
    GateRun after = run_with(.9, {{"queue_mean_s", .82}});
    EXPECT_THAT(
        why_between(before, after),
        StartsWith("TTFT is worse and ITL is not: requests wait 820 ms in the queue on average, and 3 ms "
                   "in the baseline. Compare the load"));
    EXPECT_THAT(why_between(before, run_with(.9, {{"queue_mean_s", .01}})),
                StartsWith("TTFT is worse and ITL is not: the cause is the prefill, the queue before it"));
    EXPECT_THAT(why_between(run_with(.05, {{"waiting", 0}}), run_with(.9, {{"waiting", 8}})),
                HasSubstr("requests wait 800 ms in the queue on average, and 0 ms in the baseline."))
        << "8 requests wait, and 10 arrive per second";
    before.result.throughput.set(figure::kCachedPromptRatio, .5);
    after.result.throughput.set(figure::kCachedPromptRatio, .4);
    EXPECT_THAT(
        why_between(before, after),
        AllOf(HasSubstr("requests wait 820 ms in the queue"),
              HasSubstr("; the prefix cache held 50 % of the prompt tokens in the baseline and 40 %")));
}

GateInput latencies(double ttft_s, double tpot_s) {
    GateInput input{.baseline = std::vector<GateRun>(1), .candidate = std::vector<GateRun>(1)};
    const auto set = [](GateRun& run, const char* key, double mean) {
        MetricSummary& metric = run.result.metrics.emplace_back();
        metric.key = key;
        metric.mean = mean;
    };
    for (auto* run : {&input.baseline[0], &input.candidate[0]}) set(*run, "output_tokens_tok", 101);
    set(input.baseline[0], "ttft_s", .1);
    set(input.baseline[0], "tpot_s", .01);
    set(input.candidate[0], "ttft_s", ttft_s);
    set(input.candidate[0], "tpot_s", tpot_s);
    return input;
}

/// A row that passed and is nevertheless certainly worse, with a limit of 5 %.
GateRow slightly_worse(const char* metric) {
    GateRow of = row(metric, kPass);
    of.shift = .03;
    of.ci95 = Interval{.029, .031};
    return of;
}

TEST(GateWhy, of_throughput_names_the_latency_that_explains_it_within_its_tolerance) {
    GateRow throughput = row("output_tokens_per_s", kFail);
    throughput.shift = .0277;
    const auto why_of_latencies = [&](double ttft_s, double tpot_s, const std::vector<GateRow>& others) {
        std::vector<GateRow> rows{throughput};
        rows.insert(rows.end(), others.begin(), others.end());
        return why_of(rows, latencies(ttft_s, tpot_s));
    };
    const std::vector<GateRow> itl{row("ttft_p50", kPass), slightly_worse("itl_p50")};
    EXPECT_THAT(why_of_latencies(.1, .0103, itl),
                StartsWith("ITL is 3 % worse on average, which the tolerance allows, and this explains why "
                           "throughput is 2.73 % worse: the cause is the decode step"));
    EXPECT_THAT(why_of_latencies(.13, .01, {slightly_worse("ttft_p50"), row("itl_p50", kPass)}),
                StartsWith("TTFT is 30 % worse on average, which the tolerance allows"));
    EXPECT_THAT(why_of_latencies(.12, .0102, itl),
                AllOf(HasSubstr("TTFT is 20 % worse and ITL is 2 % worse"), HasSubstr(": the whole server")));
    EXPECT_THAT(why_of_latencies(.1, .0101, itl),
                StartsWith("Throughput is worse, but neither TTFT nor ITL is beyond its tolerance:"))
        << "1 % explains less than half of it";
    throughput.metric = "e2e_p50";
    EXPECT_THAT(why_of_latencies(.1, .0103, itl), HasSubstr("explains why E2E is 2.81 % worse"));
}

TEST(GateWhy, says_of_a_metric_that_is_slightly_worse_that_it_is_not_beyond_its_tolerance) {
    EXPECT_THAT(
        why({row("itl_p50", kFail), slightly_worse("ttft_p50")}),
        StartsWith("ITL is worse and TTFT is not beyond its tolerance: the cause is the decode step"));
}

TEST(GateWhy, of_throughput_says_what_is_known_of_ttft_and_itl) {
    EXPECT_THAT(why({row("output_tokens_per_s", kFail), row("ttft_p50", kPass), row("itl_p50", kPass)}),
                StartsWith("Throughput is worse, but neither TTFT nor ITL is: requests may start later"));
    EXPECT_THAT(why({row("output_tokens_per_s", kFail), row("ttft_p50", kUndecided), row("itl_p50", kPass)}),
                StartsWith("Throughput is worse, but TTFT is undecided and ITL is not: requests may start "
                           "later"));
}

TEST(GateHeadline, names_the_undecided_metrics_whose_number_of_pairs_is_unknown) {
    GateReport report{.rows = {row("itl_p50", kUndecided), row("ttft_p50", kUndecided), row("e2e", kPass)}};
    report.rows[0].pairs_to_decide = 12;
    EXPECT_THAT(headline_of(report),
                EndsWith("The number of pairs that would decide is unknown or above 1000 for ttft_p50: "
                         "measure more or longer runs, or give this metric a larger tolerance in a policy "
                         "(--print-policy writes one). About 12 "
                         "pairs would decide the other undecided metric."));
    report.rows[1].pairs_to_decide = 30;
    EXPECT_THAT(headline_of(report), EndsWith("About 30 pairs would decide (--max-pairs 30)."));
    for (GateRow& of : report.rows) of.pairs_to_decide = {};
    EXPECT_THAT(
        headline_of(report),
        HasSubstr("above 1000 for itl_p50; ttft_p50: measure more or longer "
                  "runs, or give these metrics a larger tolerance in a policy (--print-policy writes one)."));
}

TEST(GateHeadline, does_not_advise_to_look_within_a_summary) {
    GateReport report{.rows = {row("reported/ttft_p50_s", kUndecided)}, .design = GateDesign::two_sets};
    report.runs.resize(2);
    report.runs[1].of_candidate = true;
    EXPECT_THAT(headline_of(report), EndsWith("or give files with details and --within-run."));
    report.design = GateDesign::within_runs;
    EXPECT_THAT(headline_of(report), HasSubstr("A summary has no requests: files with details, or three"));
    report.rows = {row("ttft_p50", kUndecided)};
    EXPECT_THAT(headline_of(report), HasSubstr("Longer runs (--num-prompts)"));
}

TEST(GateHeadline, names_more_runs_only_if_the_gate_does_not_allow_them_already) {
    GateReport report{.rows = {row("itl_p50", kUndecided), row("ttft_p50", kUndecided)},
                      .design = GateDesign::stored,
                      .pairs = 3,
                      .looks = {{.pairs = 3, .alpha = 0, .beta = 0}, {.pairs = 16, .alpha = 0, .beta = 0}}};
    for (GateRow& of : report.rows) of.pairs_to_decide = 4;
    EXPECT_THAT(headline_of(report), EndsWith("About 4 runs of the candidate would decide."));
    report.rows[0].pairs_to_decide = 30;
    EXPECT_THAT(headline_of(report),
                EndsWith("About 30 runs of the candidate would decide (--max-pairs 30)."));
    report.rows[0].pairs_to_decide = {};
    report.pairs = 4;
    EXPECT_THAT(headline_of(report),
                AllOf(HasSubstr("It is not known yet whether more runs of the candidate decide itl_p50."),
                      Not(HasSubstr("do not decide")), Not(HasSubstr("--max-pairs"))));
    for (GateRow& of : report.rows) of.ci95 = Interval{-.02, .8};  // none is probably worse
    report.pairs = 6;
    EXPECT_THAT(headline_of(report),
                HasSubstr("More runs of the candidate do not decide itl_p50: the stored"));
    EXPECT_THAT(headline_of(report),
                HasSubstr("Add many runs (`paretoken baseline update NAME DIR --accept-inconclusive` adds "
                          "those of this gate in DIR), or "));
    report.rows[0].stored_to_decide = 12;
    report.runs.resize(6);  // of the baseline
    EXPECT_THAT(
        headline_of(report),
        AllOf(HasSubstr("About 15 stored runs of this length would: add runs (`paretoken baseline update "),
              HasSubstr(
                  "DIR), measure both sides in pairs, or give this metric a larger tolerance in a policy")));
    report.rows[0].stored_to_decide = 40;
    EXPECT_THAT(headline_of(report), HasSubstr("--accept-inconclusive --keep 57` adds those"));
}

TEST(GateProgress, says_what_is_open_and_not_what_would_decide) {
    const GateReport report{.rows = {row("itl_p50", kUndecided), row("ttft_p50", kPass)},
                            .design = GateDesign::stored,
                            .pairs = 6,
                            .looks = {{.pairs = 16, .alpha = 0, .beta = 0}}};
    EXPECT_THAT(headline_of(report), HasSubstr("do not decide"));
    EXPECT_THAT(progress_of(report),
                AllOf(StartsWith("itl_p50: "), EndsWith("1 of 2 metrics is undecided.")));
    EXPECT_THAT(progress_of(GateReport{.rows = report.rows}), StartsWith("INCONCLUSIVE"));
}

TEST(GateReport, ends_early_only_if_no_number_of_runs_near_the_largest_one_would_decide) {
    GateReport report{.rows = {row("itl_p50", kUndecided)},
                      .design = GateDesign::stored,
                      .pairs = 8,
                      .looks = {{.pairs = 19, .alpha = 0, .beta = 0}}};
    EXPECT_TRUE(more_runs_do_not_decide(report));
    report.rows[0].pairs_to_decide = 36;
    EXPECT_FALSE(more_runs_do_not_decide(report)) << "an estimate from 8 runs is not exact";
    report.rows[0].pairs_to_decide = 40;
    EXPECT_TRUE(more_runs_do_not_decide(report));
}

/// The headline of a report with these rows.
std::string headline(GateVerdict verdict, std::vector<GateRow> rows) {
    return headline_of({.verdict = verdict, .rows = std::move(rows)});
}

GateRow with_interval(const char* metric, GateVerdict verdict, double low, double high, double limit = .05) {
    GateRow of = row(metric, verdict);
    of.limit = limit;
    of.shift = (low + high) / 2;
    of.ci95 = Interval{low, high};
    of.pairs_to_decide = 12;
    return of;
}

TEST(GateHeadline, of_an_undecided_gate_begins_with_what_is_probably_worse) {
    const std::vector rows{with_interval("e2e_p50", kUndecided, -.2, .3),
                           with_interval("itl_p50", kUndecided, .01, .08),
                           with_interval("ttft_p95", kUndecided, .065, .11),
                           with_interval("output_tokens_per_s", kPass, -.45, -.35)};
    EXPECT_THAT(
        headline(kUndecided, rows),
        StartsWith("INCONCLUSIVE: ttft_p95: probably 9.14 % worse (95 % interval of the change: 6.72 to "
                   "11.6 %; tolerance: 5.13 %). Probably worse, too: itl_p50 (4.6 % worse). 3 of 4 "
                   "metrics are undecided. Better: output_tokens_per_s (49.2 % higher). About 12 pairs"));
    EXPECT_THAT(headline(kUndecided, {rows[0], rows[3]}),
                StartsWith("INCONCLUSIVE: 1 of 2 metrics is undecided, and none is clearly worse. The least "
                           "certain one is e2e_p50: 5.13 % worse (95 % interval"));
}

/// Returns the row of a share in points, and of a percentile that falls among failures.
GateRow failures_row(GateVerdict verdict) {
    GateRow of{.metric = "failures", .title = "Failed requests", .unit = "ratio", .points = true};
    of.verdict = verdict;
    of.baseline = 0;
    of.candidate = of.shift = .133;
    of.limit = .002;
    of.reason = "2 of 15 failed, and 0 of 15 before";
    return of;
}
GateRow among_failures(const char* metric, GateVerdict verdict) {
    GateRow of = row(metric, verdict);
    of.shift.reset();
    of.ci95.reset();
    of.reason = "no value in 2 of 3 pairs";
    return of;
}

TEST(GateHeadline, of_percentiles_among_failures_names_the_failures_and_no_pauses) {
    const std::vector rows{row("ttft_p50", kPass), among_failures("ttft_p95", kFail),
                           among_failures("stall_p95", kFail), failures_row(kUndecided)};
    EXPECT_EQ(
        headline(kFail, rows),
        "FAIL: Failed requests: from 0 % to 13.3 % (2 of 15 failed, and 0 of 15 before); the percentiles of "
        "2 other metrics fall among the failed requests. Do not roll out the candidate; find the cause "
        "first.");
    GateRun failing;
    failing.result.counts.by_outcome = {{"http_error", 2}};
    failing.result.counts.example_errors = {{"http_error", "HTTP 503: busy"}};
    const std::string text = why_of(rows, {.baseline = {GateRun{}}, .candidate = {failing}});
    EXPECT_THAT(text, HasSubstr("More requests fail than before (2 http_error, e.g. HTTP 503: busy)."));
    EXPECT_THAT(text, Not(HasSubstr("pauses")));
    EXPECT_THAT(headline(kUndecided, {among_failures("ttft_p95", kUndecided), failures_row(kUndecided)}),
                AllOf(HasSubstr("The percentiles of 1 metric fall among the failed requests of a run"),
                      Not(HasSubstr("above 1000 for ttft_p95"))));
}

TEST(GateHeadline, of_a_fail_names_what_became_better_and_large_changes_as_multiples) {
    const double by = std::log(160.);
    EXPECT_THAT(
        headline(kFail, {with_interval("ttft_p50", kFail, by - .1, by + .1),
                         with_interval("output_tokens_per_s", kFail, by - .1, by + .1),
                         with_interval("e2e_p50", kPass, -by - .1, -by + .1),
                         with_interval("itl_p50", kPass, -.03, -.01)}),
        AllOf(StartsWith("FAIL: ttft_p50: 160 times as long (95 % interval of the change: 145 to 177 "
                         "times; tolerance: 5.13 %); 1 other metric failed too: output_tokens_per_s: "),
              HasSubstr(" Better: e2e_p50 (0.625 % of the baseline). Do not"), Not(HasSubstr("itl_p50"))));
    EXPECT_THAT(headline(kFail, {with_interval("output_tokens_per_s", kFail, by - .1, by + .1)}),
                StartsWith("FAIL: output_tokens_per_s: 0.625 % of the baseline (95 % interval of the change: "
                           "0.566 to 0.691 %"));
}

TEST(GateHeadline, of_a_pass_names_what_became_better_with_its_figure) {
    EXPECT_EQ(
        headline(kPass,
                 {with_interval("ttft_p50", kPass, -.8, -.6), with_interval("itl_p50", kPass, .01, .03)}),
        "PASS: none of 2 metrics is worse than its tolerance allows. Better: ttft_p50 (50.3 % lower). The "
        "closest to its tolerance is itl_p50: 2.02 % worse (5.13 % is tolerated). Roll out.");
}

TEST(GateHeadline, of_summaries_that_do_not_tell_failures_rolls_out_only_under_a_condition) {
    GateRow rate = row("reported/output_tokens_per_s", kPass);
    EXPECT_THAT(
        headline(kPass, {rate}),
        EndsWith("Roll out if no more requests failed than before, which these metrics do not tell."));
    EXPECT_THAT(headline(kPass, {rate, row("failures", kPass)}), EndsWith("Roll out."));
    const std::string text = why({row("failures", kFail)});
    EXPECT_EQ(text, "More requests fail than before. The server's log may have the reasons.");
}

TEST(GateHeadline, of_sets_with_too_few_runs_says_how_many_are_missing) {
    GateReport report{.rows = {row("ttft_p50", kUndecided)}, .design = GateDesign::two_sets};
    report.rows[0].shift = {};
    report.rows[0].ci95 = {};
    report.runs.resize(2);
    report.runs[1].of_candidate = true;
    EXPECT_THAT(headline_of(report),
                EndsWith("3 runs of each side are needed: measure 2 more of the baseline and 2 more of the "
                         "candidate, or compare single runs with --within-run."));
    report.runs.resize(4);
    EXPECT_THAT(headline_of(report), EndsWith("needed: measure 2 more of the candidate."));
}

TEST(GateHeadline, names_at_most_three_metrics_whose_number_of_pairs_is_unknown) {
    GateReport report;
    for (const char* title : {"a", "b", "c", "d", "e"}) {
        report.rows.push_back(row("itl_p50", kUndecided));
        report.rows.back().title = title;
    }
    EXPECT_THAT(headline_of(report), HasSubstr("above 1000 for a; b; c and 2 more: measure"));
}

TEST(ChangeText, names_the_floor_where_it_replaces_the_tolerance) {
    GateRow row{.metric = "tpot_p95", .title = "TPOT, p95", .unit = "s", .tolerance = .1, .floor = .002};
    row.shift = .25;
    row.ci95 = Interval{.2, .3};
    row.limit = .18;
    EXPECT_THAT(change_text(row),
                HasSubstr("%, the 2 ms that the policy allows however small the baseline is)"));
    row.limit = .09;
    EXPECT_THAT(change_text(row), Not(HasSubstr("2 ms")));
}

}  // namespace
}  // namespace paretoken::reports
