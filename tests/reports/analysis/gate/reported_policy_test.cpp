#include "reports/analysis/gate/reported_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/error.h"
#include "reports/analysis/gate/decision/decision.h"
#include "reports/analysis/gate/same_work.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

GateRun summary_run(int number, double factor, const std::string& side) {
    GateRun run;
    run.directory = fmt::format("{}/{}", side, number);
    run.result.provenance.run_id = run.directory;
    run.result.provenance.measured_by = "vLLM bench serve";
    const double noise = 1 + .001 * (number % 3);
    run.result.reported = Reported{.by = "vLLM bench",
                                   .requests = 100,
                                   .failed = 0,
                                   .figures = {{"ttft_p50_s", .1 * noise},
                                               {"ttft_p99_s", .2 * noise},
                                               {"itl_p50_s", .01 * factor * noise},
                                               {"output_tokens_per_s", 800 / factor / noise}}};
    run.result.counts.requests = run.result.counts.ok = 100;
    return run;
}

std::vector<GateRun> side_of(std::size_t n, double factor, const std::string& side) {
    std::vector<GateRun> runs;
    for (std::size_t i = 0; i < n; ++i) runs.push_back(summary_run(static_cast<int>(i), factor, side));
    return runs;
}

GateReport judged(std::size_t n, double factor) {
    const GatePolicy policy = default_policy();
    return decided(policy, {.baseline = side_of(n, 1, "baseline"),
                            .candidate = side_of(n, factor, "candidate"),
                            .design = GateDesign::two_sets,
                            .looks = one_look(policy, n)});
}

TEST(GateOnSummaries, judges_the_statistics_that_all_files_have_under_their_own_names) {
    const GateReport report = judged(3, 1.08);
    EXPECT_EQ(report.verdict, GateVerdict::fail);
    std::vector<std::string> titles;
    for (const GateRow& row : report.rows) titles.push_back(row.title);
    EXPECT_THAT(titles, Contains("itl_p50 as vLLM bench defines it"));
    EXPECT_THAT(titles, Contains("ttft_p99 as vLLM bench defines it")) << "there is no p95";
    EXPECT_THAT(titles, Contains("Failed requests"));
    EXPECT_THAT(report.notes, Contains(HasSubstr("stall_p95")));
    EXPECT_THAT(report.notes, Contains(HasSubstr("ignore_eos")));
}

TEST(GateOnSummaries, is_inconclusive_on_one_file_each) {
    EXPECT_EQ(judged(1, 1.5).verdict, GateVerdict::inconclusive);
}

TEST(GateOnSummaries, leaves_the_policy_alone_if_a_run_has_requests) {
    std::vector<std::string> notes;
    std::vector<GateRun> candidate = side_of(1, 1, "candidate");
    candidate.front().result.reported.reset();
    EXPECT_EQ(policy_of_summaries(default_policy(), side_of(1, 1, "baseline"), candidate, notes),
              default_policy());
    EXPECT_TRUE(notes.empty());
}

TEST(GateOnSummaries, refuses_another_program_a_file_with_requests_and_other_prompts) {
    const RunResult first = summary_run(0, 1, "a").result;
    RunResult other = summary_run(1, 1, "b").result;
    EXPECT_FALSE(difference_of_work(first, other, {}));
    other.provenance.measured_by = "AIPerf 0.13.0";
    EXPECT_EQ(difference_of_work(first, other, {}), "measured by: vLLM bench serve and AIPerf 0.13.0");
    other = first;
    other.reported.reset();
    EXPECT_EQ(difference_of_work(first, other, {}), "requests: only a summary and every one");
    other = first;
    other.workload.achieved_input_tokens = 100;
    RunResult longer = first;
    longer.workload.achieved_input_tokens = 128;
    EXPECT_EQ(difference_of_work(other, longer, {}), "mean tokens of a prompt: 100 and 128");
}

}  // namespace
}  // namespace paretoken::reports
