#include "reports/analysis/cost/job_cost.h"

#include <gtest/gtest.h>

#include "cards/price.h"
#include "reports/analysis/cost/cost.h"

namespace paretoken::reports {
namespace {

/// A job of three agents. The main agent has a prompt of 1,000 tokens and an answer of 200, and later a
/// prompt of 1,600 tokens, of which 1,000 come from a cache, and an answer of 100. Its two helpers have a
/// prompt of 500 tokens and an answer of 50 each: 2,600 fresh, 1,000 cached and 400 output tokens.
constexpr JobTokens kThreeAgents{.fresh = 1000 + 600 + 2 * 500, .cached = 1000, .output = 200 + 100 + 2 * 50};

TEST(JobCost, OfThreeAgentsIsTheHourOverTheJobsOfTheHour) {
    JobResults jobs;
    jobs.tokens = {kThreeAgents};
    jobs.jobs_per_hour = 120;
    // $3.60 an hour ÷ 120 jobs an hour = $0.03 a job.
    const auto cost = deployed_job_cost(3.6, jobs, {.fresh = 1, .cached = .1, .output = 4});
    ASSERT_TRUE(cost);
    EXPECT_DOUBLE_EQ(cost->mean, .03);
    EXPECT_DOUBLE_EQ(cost->p50, .03);
    EXPECT_DOUBLE_EQ(cost->p95, .03);
}

TEST(JobCost, JobsShareTheHourByTheirTokensAtTheRatiosOfThePrices) {
    JobResults jobs;
    // At 1 : 0.1 : 4 the jobs weigh 2,600 + 100 + 1,600 = 4,300 and 900 + 0 + 800 = 1,700.
    jobs.tokens = {kThreeAgents, {.fresh = 900, .cached = 0, .output = 200}};
    jobs.jobs_per_hour = 120;
    const auto cost = deployed_job_cost(3.6, jobs, {.fresh = 1, .cached = .1, .output = 4});
    ASSERT_TRUE(cost);
    EXPECT_DOUBLE_EQ(cost->mean, .03);
    EXPECT_NEAR(cost->p50, .03, 1e-12) << "the median of two is their mean";
    const double small = .06 * 1700 / 6000;
    const double large = .06 * 4300 / 6000;
    EXPECT_NEAR(cost->p95, small + .95 * (large - small), 1e-12);
}

TEST(JobCost, AtAnApiIsThatOfItsTokens) {
    JobResults jobs;
    jobs.tokens = {kThreeAgents};
    cards::ApiPrice api;
    api.input = 3;
    api.output = 15;
    api.cache_read = .3;
    const auto cost = api_job_cost(api, jobs, 900);
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->mean, (2600 * 3 + 1000 * .3 + 400 * 15) / 1e6, 1e-12);  // $0.0141
    cards::ApiPrice long_only = api;
    long_only.min_cache_tokens = 1024;
    EXPECT_NEAR(api_job_cost(long_only, jobs, 900)->mean, (3600 * 3 + 400 * 15) / 1e6, 1e-12)
        << "prompts of 900 tokens are too short for its cache";
}

TEST(JobCost, IsUnknownWithoutJobsThatEndedWell) {
    JobResults none;
    none.jobs_per_hour = 0;
    EXPECT_FALSE(deployed_job_cost(3.6, none, {.fresh = 1, .cached = .1, .output = 4}));
    EXPECT_FALSE(api_job_cost(cards::ApiPrice(), none, 900));
}

}  // namespace
}  // namespace paretoken::reports
