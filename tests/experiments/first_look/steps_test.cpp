#include "experiments/first_look/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace paretoken::experiments {
namespace {

using reports::SpeedOfCrowd;

TEST(FirstLookSteps, AnswersAreAsLongAsTheTimeAllows) {
    EXPECT_EQ(answer_tokens_for({.per_token_s = .01}, 2), 128u);
    EXPECT_EQ(answer_tokens_for({.per_token_s = .02}, 2), 64u);
    EXPECT_EQ(answer_tokens_for({.per_token_s = .05}, 2), 32u);
    EXPECT_EQ(answer_tokens_for({.per_token_s = 9}, 2), 16u);
}

TEST(FirstLookSteps, TheEstimateGrowsWithThePromptAndTheAnswer) {
    const Pace pace{.prompt_tokens = 128, .first_token_s = .1, .per_token_s = .01};
    EXPECT_DOUBLE_EQ(estimated_s(pace, 128, 10), .2);
    double before = 0;
    for (std::uint64_t prompt = 64; prompt <= 65536; prompt *= 2) {
        const double s = estimated_s(pace, prompt, 64);
        EXPECT_GT(s, prompt <= 128 ? 0 : before);
        EXPECT_GE(s, pace.first_token_s * std::max(1., static_cast<double>(prompt) / 128));
        before = s;
    }
}

TEST(FirstLookSteps, RequestsNeverTakeMoreThanTheTime) {
    for (double each = .1; each < 10; each *= 1.7)
        for (double left = 0; left < 30; left += .7) {
            const auto requests = requests_within(each, left, 4);
            EXPECT_LE(requests, 4u);
            EXPECT_LE(static_cast<double>(requests) * each, left + 1e-9);
        }
    EXPECT_EQ(requests_within(0, 1, 4), 4u);
    EXPECT_EQ(requests_within(1, -1, 4), 0u);
}

TEST(FirstLookSteps, DepthsBeyondTheContextAreLeftOut) {
    const std::vector<std::uint64_t> depths = {128, 512, 2048};
    EXPECT_EQ(depths_within(depths, 128, {}), depths);
    EXPECT_EQ(depths_within(depths, 128, 2048), (std::vector<std::uint64_t>{128, 512}));
    EXPECT_EQ(depths_within(depths, 128, 2048 + 128 + 64), depths);
    EXPECT_EQ(depths_within(depths, 128, 16), (std::vector<std::uint64_t>{128})) << "one is always tried";
}

/// Measures as a first look does, on a server that is half as fast at `half` people, and returns the levels.
std::vector<SpeedOfCrowd> looked(double half, std::uint64_t most) {
    const auto measured = [&](std::uint64_t people) {
        return SpeedOfCrowd{
            .people = people, .answer_s = 1 + static_cast<double>(people) / half, .tok_per_s = {}};
    };
    // One person takes 1 + 1/half, so that half speed is at half + 2 people.
    std::vector<SpeedOfCrowd> crowds = {measured(1)};
    while (const auto people = next_people(crowds, most)) {
        EXPECT_LE(*people, most);
        for (const SpeedOfCrowd& crowd : crowds) EXPECT_NE(crowd.people, *people) << "measured twice";
        crowds.push_back(measured(*people));
        std::sort(crowds.begin(), crowds.end(),
                  [](const auto& a, const auto& b) { return a.people < b.people; });
    }
    return crowds;
}

TEST(FirstLookSteps, TheSearchForHalfSpeedEndsNearIt) {
    for (const double half : {1.5, 3., 7., 20., 33., 100.}) {
        const auto crowds = looked(half, 256);
        const auto found = reports::people_at_half_speed(crowds);
        ASSERT_TRUE(found) << half;
        EXPECT_NEAR(*found / (half + 2), 1, .1);
        EXPECT_LE(crowds.size(), 13u);
    }
}

TEST(FirstLookSteps, TheSearchEndsAtTheMostPeople) {
    const auto crowds = looked(1000, 64);
    EXPECT_EQ(crowds.back().people, 64u);
    EXPECT_FALSE(reports::people_at_half_speed(crowds));
}

TEST(FirstLookSteps, ALevelWhoseRequestsFailEndsTheDoubling) {
    const std::vector<SpeedOfCrowd> crowds = {{.people = 1, .answer_s = 1}, {.people = 2}};
    EXPECT_FALSE(next_people(crowds, 256));
}

}  // namespace
}  // namespace paretoken::experiments
