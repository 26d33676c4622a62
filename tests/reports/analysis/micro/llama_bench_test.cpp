#include "reports/analysis/micro/llama_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/error.h"
#include "reports/analysis/micro/micro_compare.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;

std::string test_of(int prompt, int generated, double scale, const char* separator = "") {
    std::string samples;
    for (const double ms : {1000., 1001., 999., 1002., 998.})
        samples += fmt::format("{}{:.0f}", samples.empty() ? "" : ",", ms * 1e6 * scale);
    return fmt::format(
        R"({{"build_number":5163,"gpu_info":"NVIDIA H100","model_type":"llama 1B","n_threads":8,"n_batch":2048,)"
        R"("n_prompt":{},"n_gen":{},"n_depth":0,"test_time":"2026-11-21T08:03:25Z","samples_ns":[{}]}}{})",
        prompt, generated, samples, separator);
}

TEST(LlamaBench, becomes_a_row_for_each_test_with_the_spread_of_its_repetitions) {
    const std::string text = "[" + test_of(512, 0, 1, ",") + test_of(0, 128, 1) + "]";
    ASSERT_TRUE(is_llama_bench_result(text));
    const MicroFile file = llama_bench_rows(text, "a.json");
    ASSERT_EQ(file.rows.size(), 2U);
    EXPECT_EQ(file.rows[1].name, "llama-bench/pp:0/tg:128/depth:0/batch:2048");
    EXPECT_EQ(file.rows[1].median_s, 1);
    EXPECT_EQ(file.rows[1].p25_s, .999);
    EXPECT_EQ(file.devices.front().name, "NVIDIA H100");
    EXPECT_EQ(file.context.at("preset"), "llama 1B");
}

TEST(LlamaBench, is_compared_like_other_micro_results) {
    const MicroFile before = llama_bench_rows(test_of(0, 128, 1, "\n") + test_of(512, 0, 1, "\n"), "a.jsonl");
    const MicroFile after =
        llama_bench_rows(test_of(0, 128, 1.2, "\n") + test_of(512, 0, 1, "\n"), "b.jsonl");
    const MicroComparison comparison = comparison_of(before, after, .02);
    ASSERT_EQ(comparison.rows.size(), 2U);
    EXPECT_EQ(comparison.rows[0].verdict, MicroVerdict::slower);
    EXPECT_EQ(comparison.rows[1].verdict, MicroVerdict::same);
}

TEST(LlamaBench, without_repetitions_is_no_verdict) {
    const std::string one = R"({"n_prompt":1,"n_gen":0,"samples_ns":[5e8]})";
    const MicroFile file = llama_bench_rows(one, "a.jsonl");
    EXPECT_EQ(comparison_of(file, file, .02).rows.front().verdict, MicroVerdict::ambiguous);
}

TEST(LlamaBench, that_lacks_its_samples_is_refused_by_name) {
    EXPECT_THAT(
        message_of<UsageError>([] { llama_bench_rows(R"({"n_gen": 1, "samples_ns": "x"})", "a.jsonl"); }),
        HasSubstr("a.jsonl"));
}

}  // namespace
}  // namespace paretoken::reports
