#include "core/record/reported.h"

#include <gtest/gtest.h>

#include "core/run/result_of.h"

namespace paretoken {
namespace {

TEST(ReportedFigures, have_names_that_say_whose_they_are) {
    EXPECT_EQ(reported_title("ttft_p99_s", "vLLM bench"), "ttft_p99 as vLLM bench defines it");
    EXPECT_EQ(reported_title("output_tokens_per_s", "AIPerf"), "output_tokens_per_s as AIPerf defines it");
    EXPECT_EQ(reported_title("osl_mean_tokens", "AIPerf"), "osl_mean as AIPerf defines it");
}

TEST(ReportedFigures, have_a_unit_and_a_better_direction) {
    EXPECT_EQ(reported_key("ttft_p99_s").unit, "s");
    EXPECT_EQ(reported_key("ttft_p99_s").higher_is_better, false);
    EXPECT_EQ(reported_key("ttft_std_s").higher_is_better, std::nullopt);
    EXPECT_EQ(reported_key("total_tokens_per_s").higher_is_better, true);
    EXPECT_EQ(reported_key("total_tokens_per_s_per_gpu").unit, "tok/s per GPU");
    EXPECT_EQ(reported_key("interactivity_p50_tok_per_s").title, "interactivity_p50");
    EXPECT_EQ(reported_key("interactivity_p50_tok_per_s").higher_is_better, true);
    EXPECT_EQ(reported_key("isl_mean_tokens").higher_is_better, std::nullopt);
    EXPECT_EQ(reported_key("duration_s").higher_is_better, std::nullopt);
}

RunResult result_of_summary(std::optional<std::uint64_t> failed) {
    Recorded recorded;
    recorded.begun.provenance.measured_by = "vLLM bench serve";
    for (const FactText& fact : kFacts) recorded.begun.unknown_facts.push_back(fact.fact);
    recorded.begun.reported = Reported{.by = "vLLM bench",
                                       .requests = 10,
                                       .failed = failed,
                                       .figures = {{"ttft_p99_s", .5}, {"isl_mean_tokens", 64}}};
    return result_of(recorded, {});
}

TEST(ReportedFigures, are_the_only_figures_of_their_run) {
    const RunResult run = result_of_summary(2);
    EXPECT_EQ(run.reported->at("ttft_p99_s"), .5);
    EXPECT_EQ(run.metric("ttft_s"), nullptr);
    EXPECT_FALSE(run.throughput.at("output_tokens_per_s"));
    EXPECT_EQ(run.counts.requests, 10U);
    EXPECT_EQ(run.counts.failed, 2U);
    EXPECT_EQ(run.workload.achieved_input_tokens, 64);
}

TEST(ReportedFigures, make_a_run_that_warns_of_what_it_cannot_answer) {
    const Validity validity = result_of_summary(std::nullopt).validity;
    EXPECT_EQ(validity.verdict, Verdict::warn);
    ASSERT_EQ(validity.reasons.size(), 2U);
    EXPECT_EQ(validity.reasons[0].check, "foreign_client");
    EXPECT_EQ(validity.reasons[1].check, "summary_only");
    EXPECT_NE(validity.reasons[1].text.find("goodput, stalls"), std::string::npos);
    EXPECT_NE(validity.reasons[1].text.find("does not tell how many requests failed"), std::string::npos);
}

TEST(ReportedFigures, of_a_load_that_failed_altogether_make_an_invalid_run) {
    EXPECT_EQ(result_of_summary(10).validity.verdict, Verdict::invalid);
}

}  // namespace
}  // namespace paretoken
