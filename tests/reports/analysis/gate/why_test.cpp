#include "reports/analysis/gate/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
    EXPECT_THAT(why({row("ttft_p95", kFail), row("itl_p50", kPass), row("tpot_p95", kUndecided)}),
                StartsWith("TTFT is worse and ITL is undecided: if only TTFT is worse, the cause is the "
                           "prefill"));
}

TEST(GateWhy, says_of_a_metric_without_rows_that_it_is_not_judged) {
    EXPECT_THAT(why({row("itl_p50", kFail)}), StartsWith("ITL is worse and TTFT is not judged: if only"));
    EXPECT_THAT(why({row("stall_p95", kFail), row("ttft_p50", kPass)}),
                StartsWith("The longest gaps between tokens are worse, but TTFT is not and ITL is not "
                           "judged: the server pauses"));
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
                         "measure more or longer runs, or give this metric a larger tolerance. About 12 "
                         "pairs would decide the other undecided metric."));
    report.rows[1].pairs_to_decide = 30;
    EXPECT_THAT(headline_of(report), EndsWith("About 30 pairs would decide (--max-pairs 30)."));
    for (GateRow& of : report.rows) of.pairs_to_decide = {};
    EXPECT_THAT(headline_of(report), HasSubstr("above 1000 for itl_p50, ttft_p50: measure more or longer "
                                               "runs, or give these metrics a larger tolerance."));
}

TEST(GateHeadline, names_at_most_three_metrics_whose_number_of_pairs_is_unknown) {
    GateReport report;
    for (const char* metric : {"a", "b", "c", "d", "e"}) report.rows.push_back(row(metric, kUndecided));
    EXPECT_THAT(headline_of(report), HasSubstr("above 1000 for a, b, c and 2 more: measure"));
}

}  // namespace
}  // namespace paretoken::reports
