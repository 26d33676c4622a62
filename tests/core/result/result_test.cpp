#include "core/result/result.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(Result, verdicts_are_found_by_their_names) {
    for (const auto verdict : {Verdict::valid, Verdict::warn, Verdict::invalid}) {
        EXPECT_EQ(verdict_named(name_of(verdict)), verdict);
    }
    EXPECT_FALSE(verdict_named("good"));
}

TEST(Result, metrics_and_percentiles_are_looked_up_and_may_be_absent) {
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.percentiles = {{0.5, 1.0, {}, false}, {0.999, 2.0, {}, false}};
    RunResult result;
    result.metrics = {ttft};
    ASSERT_NE(result.metric("ttft_s"), nullptr);
    EXPECT_EQ(result.metric("ttft_s")->at(0.999)->value, 2.0);
    EXPECT_EQ(result.metric("ttft_s")->at(0.9), nullptr);
    EXPECT_EQ(result.metric("itl_s"), nullptr);
}

}  // namespace
}  // namespace paretoken
