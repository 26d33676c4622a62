#include "reports/analysis/cache/fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace paretoken::reports {
namespace {

std::vector<FitPoint> points(double base, double slope, double square, double noise, std::uint64_t seed = 1) {
    Random random(seed);
    std::vector<FitPoint> all;
    for (const double tokens : {64.0, 320.0, 1088.0, 4160.0, 8256.0})
        for (int i = 0; i < 30; ++i)
            all.push_back(
                {tokens, base + slope * tokens + square * tokens * tokens + noise * random.normal()});
    return all;
}

TEST(TtftFit, finds_the_line_that_the_points_lie_on) {
    const auto fit = fit_of(points(0.01, 2e-5, 0, 1e-4));
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->n, 150U);
    EXPECT_NEAR(fit->base_s.value, 0.01, 1e-4);
    EXPECT_NEAR(fit->per_token_s.value, 2e-5, 1e-7);
    EXPECT_FALSE(fit->per_token2_s);
}

TEST(TtftFit, has_a_square_only_where_the_data_demand_it) {
    const auto fit = fit_of(points(0.01, 2e-5, 1e-9, 1e-4));
    ASSERT_TRUE(fit);
    ASSERT_TRUE(fit->per_token2_s);
    EXPECT_NEAR(fit->per_token2_s->value, 1e-9, 1e-10);
    EXPECT_NEAR(fit->per_token_s.value, 2e-5, 1e-6);
}

TEST(TtftFit, has_intervals_that_hold_the_true_slope) {
    int held = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto fit = fit_of(points(0.01, 2e-5, 0, 5e-3, seed));
        ASSERT_TRUE(fit);
        if (fit->per_token2_s) continue;
        held += fit->per_token_s.ci95.low <= 2e-5 && 2e-5 <= fit->per_token_s.ci95.high ? 1 : 0;
    }
    EXPECT_GE(held, 182);
    EXPECT_LE(held, 199);
}

TEST(LastTokens, take_the_slope_of_a_line_at_any_length) {
    const auto last = last_tokens_of(points(0.01, 2e-5, 0, 1e-4), 1000);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->longest_tokens, 8256);
    const auto fit = fit_of(points(0.01, 2e-5, 0, 1e-4));
    EXPECT_DOUBLE_EQ(last->per_token_s.value, fit->per_token_s.value);
    EXPECT_NEAR(last->per_token_s.ci95.low, fit->per_token_s.ci95.low, 1e-12);
}

TEST(LastTokens, take_more_than_the_first_ones_if_the_time_has_a_square) {
    const auto last = last_tokens_of(points(0.01, 2e-5, 1e-9, 1e-4), 1000);
    ASSERT_TRUE(last);
    const double expected = 2e-5 + 1e-9 * (2 * 8256 - 1000);
    EXPECT_NEAR(last->per_token_s.value, expected, .02 * expected);
    const auto whole = last_tokens_of(points(0.01, 2e-5, 1e-9, 1e-4), 1e6);
    EXPECT_NEAR(whole->per_token_s.value, 2e-5 + 1e-9 * 8256, 1e-6) << "the mean of all tokens";
}

TEST(LastTokens, have_intervals_that_hold_the_true_time) {
    int held = 0;
    int curved = 0;
    const double expected = 2e-5 + 1e-9 * (2 * 8256 - 1000);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto all = points(0.01, 2e-5, 1e-9, 5e-3, seed);
        if (!fit_of(all)->per_token2_s) continue;
        ++curved;
        const Interval ci95 = last_tokens_of(all, 1000)->per_token_s.ci95;
        held += ci95.low <= expected && expected <= ci95.high ? 1 : 0;
    }
    EXPECT_GE(curved, 150);
    EXPECT_GE(held, static_cast<int>(.9 * curved));
    EXPECT_LT(held, curved);
}

TEST(TtftFit, needs_four_lengths) {
    std::vector<FitPoint> few;
    for (int i = 0; i < 30; ++i) few.push_back({static_cast<double>(i % 3), 1.0});
    EXPECT_FALSE(fit_of(few));
    EXPECT_FALSE(fit_of({}));
    EXPECT_FALSE(last_tokens_of(few, 1000));
}

}  // namespace
}  // namespace paretoken::reports
