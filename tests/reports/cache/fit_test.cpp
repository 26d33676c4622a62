#include "reports/cache/fit.h"

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

TEST(TtftFit, needs_four_lengths) {
    std::vector<FitPoint> few;
    for (int i = 0; i < 30; ++i) few.push_back({static_cast<double>(i % 3), 1.0});
    EXPECT_FALSE(fit_of(few));
    EXPECT_FALSE(fit_of({}));
}

}  // namespace
}  // namespace paretoken::reports
