#include "experiments/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CachePlan, cuts_a_range_of_prefixes_at_what_the_context_holds) {
    CachePlan plan;
    EXPECT_THAT(fitting_prefixes(plan, 2000), ElementsAre(256, 512, 1024));
    EXPECT_THAT(fitting_prefixes(plan, std::nullopt), ElementsAre(256, 512, 1024, 2048, 4096, 8192));
    plan.cut_prefixes = false;
    EXPECT_THAT(fitting_prefixes(plan, 8400), ::testing::SizeIs(6));
    const auto refusal = [&](std::int64_t context) -> std::string {
        try {
            (void)fitting_prefixes(plan, context);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(refusal(2000), HasSubstr("has 2000 tokens. A prefix of 8192"));
    plan.cut_prefixes = true;
    EXPECT_THAT(refusal(300), HasSubstr("the longest prefix that fits has 156"));
}

TEST(CachePlan, has_enough_samples_for_the_number_of_its_comparisons) {
    CachePlan plan;
    plan.samples = 6;
    EXPECT_NO_THROW(require_enough_samples(plan, {512}));
    try {
        require_enough_samples(plan, plan.prefixes);
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--samples 6: at least 8 are needed"));
        EXPECT_THAT(error.what(), HasSubstr("the 31 comparisons"));
    }
    plan.samples = 8;
    EXPECT_NO_THROW(require_enough_samples(plan, plan.prefixes));
}

TEST(CachePlan, makes_one_closed_loop_of_every_level) {
    CachePlan plan;
    plan.samples = 10;
    plan.asked.salt = "mine";
    const LoadPlan one = plan_of_level(plan, {256, 512}, 8);
    EXPECT_EQ(one.classes.front().concurrency, 8U);
    EXPECT_EQ(one.classes.front().dataset.name, "prefix_arms");
    EXPECT_EQ(one.classes.front().dataset.fields.at("prefixes"), "256;512");
    EXPECT_EQ(one.stop.requests, 11U * (2 * 7 + 2));
    EXPECT_EQ(one.salt, "mine-c8") << "a level must not find what the one before it sent";
    plan.concurrency = {8};
    EXPECT_EQ(plan_of_level(plan, {256, 512}, 8).salt, "mine");
}

}  // namespace
}  // namespace paretoken::experiments
