#include "core/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random.h"

namespace paretoken {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> one_to(int n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 1.0);
    return values;
}

std::vector<double> noise(std::size_t n, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> values(n);
    for (double& value : values) value = random.normal();
    return values;
}

/// Returns an autoregressive series: each value is `memory` times the one before plus noise.
std::vector<double> correlated(std::size_t n, double memory, std::uint64_t seed) {
    auto values = noise(n, seed);
    for (std::size_t i = 1; i < n; ++i) values[i] += memory * values[i - 1];
    return values;
}

// ---- percentiles

TEST(Percentile, interpolates_as_type_7) {
    EXPECT_DOUBLE_EQ(percentile(one_to(5), 0.5), 3);
    EXPECT_DOUBLE_EQ(percentile(one_to(4), 0.5), 2.5);
    EXPECT_DOUBLE_EQ(percentile(one_to(10), 0.9), 9.1);
    EXPECT_DOUBLE_EQ(percentile(one_to(21), 0.95), 20);
    EXPECT_DOUBLE_EQ(percentile(one_to(10), 0), 1);
    EXPECT_DOUBLE_EQ(percentile(one_to(10), 1), 10);
    EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7.0}, 0.99), 7);
}

TEST(Percentile, is_infinite_when_a_neighbour_that_counts_is_and_not_otherwise) {
    EXPECT_DOUBLE_EQ(percentile(std::vector<double>{1, 2, kInfinity}, 0.5), 2);
    EXPECT_EQ(percentile(std::vector<double>{1, 2, kInfinity}, 0.51), kInfinity);
    EXPECT_EQ(percentile(std::vector<double>{kInfinity, kInfinity, kInfinity}, 0.5), kInfinity);
    std::vector<double> values = one_to(20);
    values.push_back(kInfinity);
    EXPECT_DOUBLE_EQ(percentile(values, 0.95), 20);
}

TEST(PercentileInterval, uses_the_order_statistics_of_the_binomial_tables) {
    // The median of 20 values lies between the 6th and the 15th with probability .959.
    EXPECT_EQ(percentile_interval(one_to(20), 0.5), (Interval{6, 15}));
    EXPECT_EQ(percentile_interval(one_to(100), 0.5), (Interval{40, 61}));
}

TEST(PercentileInterval, is_absent_when_the_sample_cannot_bound_it) {
    EXPECT_FALSE(percentile_interval(one_to(5), 0.5));
    EXPECT_TRUE(percentile_interval(one_to(6), 0.5));
    EXPECT_FALSE(percentile_interval(one_to(367), 0.99));
    EXPECT_TRUE(percentile_interval(one_to(368), 0.99));
    EXPECT_FALSE(percentile_interval({}, 0.5));
}

TEST(PercentileInterval, has_an_infinite_end_among_failures) {
    auto values = one_to(400);
    for (std::size_t i = 398; i < 400; ++i) values[i] = kInfinity;
    EXPECT_EQ(percentile_interval(values, 0.99)->high, kInfinity);
    EXPECT_LT(percentile_interval(values, 0.99)->low, kInfinity);
}

TEST(PercentileInterval, covers_the_truth_as_often_as_it_says) {
    for (const double p : {0.5, 0.9}) {
        int covered = 0;
        for (std::uint64_t round = 0; round < 1000; ++round) {
            Random random(derived_seed(1, "coverage", round));
            std::vector<double> values(150);
            for (double& value : values) value = random.uniform();
            std::sort(values.begin(), values.end());
            const auto interval = percentile_interval(values, p);
            covered += interval->low <= p && p <= interval->high ? 1 : 0;
        }
        EXPECT_GE(covered, 935) << p;
    }
}

// ---- moments, Student

TEST(Moments, leave_out_what_is_not_finite) {
    const auto moments = moments_of(std::vector<double>{2, 4, kInfinity, 6.0});
    EXPECT_EQ(moments.n, 3U);
    EXPECT_DOUBLE_EQ(moments.mean, 4);
    EXPECT_DOUBLE_EQ(moments.standard_deviation, 2);
    EXPECT_EQ(moments_of(std::vector<double>{}), Moments{});
    EXPECT_EQ(moments_of(std::vector<double>{3.0}), (Moments{1, 3, 0}));
}

TEST(Moments, of_weighted_values_are_those_of_the_values_written_out) {
    RunningMoments running;
    running.add(2, 3);
    running.add(5, 1);
    running.add(9, 0);
    running.add(7, 2);
    const Moments weighted = running.result();
    const auto written_out = moments_of(std::vector<double>{2, 2, 2, 5, 7, 7});
    EXPECT_EQ(weighted.n, 6U);
    EXPECT_DOUBLE_EQ(weighted.mean, written_out.mean);
    EXPECT_DOUBLE_EQ(weighted.standard_deviation, written_out.standard_deviation);
}

TEST(StudentT, matches_the_tables) {
    EXPECT_NEAR(student_t(0.95, 1), 12.7062, 1e-4);
    EXPECT_NEAR(student_t(0.95, 9), 2.26216, 1e-5);
    EXPECT_NEAR(student_t(0.99, 9), 3.24984, 1e-5);
    EXPECT_NEAR(student_t(0.90, 30), 1.69726, 1e-5);
    EXPECT_NEAR(student_t(0.95, 1e6), 1.95997, 1e-5);
}

// ---- certificates

TEST(EarlyStopping, needs_the_published_number_of_samples) {
    EXPECT_EQ(samples_to_certify(0.90), 44U);
    EXPECT_EQ(samples_to_certify(0.99), 459U);
    EXPECT_EQ(samples_to_certify(0.99, 1), 662U);
    EXPECT_EQ(samples_to_certify(0.999), 4603U);
}

TEST(EarlyStopping, allows_the_largest_number_over_that_still_certifies) {
    EXPECT_FALSE(allowed_over(0.99, 458));
    EXPECT_EQ(allowed_over(0.99, 459), 0U);
    EXPECT_EQ(allowed_over(0.99, 661), 0U);
    EXPECT_EQ(allowed_over(0.99, 662), 1U);
    EXPECT_FALSE(allowed_over(0.99, 0));
    for (const double p : {0.5, 0.9, 0.99}) {
        for (const std::uint64_t over : {0U, 1U, 5U, 40U}) {
            const auto n = samples_to_certify(p, over);
            EXPECT_EQ(allowed_over(p, n), over);
            EXPECT_TRUE(over == 0 || allowed_over(p, n - 1) == over - 1);
        }
    }
}

TEST(EarlyStopping, certifies_falsely_at_most_as_often_as_it_says) {
    const auto n = samples_to_certify(0.9, 2);  // the limit is exactly p90, so every certificate is false
    int certified = 0;
    for (std::uint64_t round = 0; round < 20'000; ++round) {
        Random random(derived_seed(2, "early stopping", round));
        int over = 0;
        for (std::uint64_t i = 0; i < n; ++i) over += random.uniform() >= 0.9 ? 1 : 0;
        certified += over <= 2 ? 1 : 0;
    }
    EXPECT_LE(certified, 240);  // 1 % of 20,000 and three deviations
    EXPECT_GE(certified, 120);  // and the rule is not more careful than necessary
}

// ---- correlation

TEST(Lag1Autocorrelation, sees_memory_alternation_and_neither) {
    EXPECT_NEAR(lag1_autocorrelation(correlated(10'000, 0.6, 1)), 0.6, 0.03);
    EXPECT_NEAR(lag1_autocorrelation(noise(10'000, 1)), 0, 0.03);
    EXPECT_LT(lag1_autocorrelation(std::vector<double>{1, -1, 1, -1, 1, -1}), -0.8);
    EXPECT_EQ(lag1_autocorrelation(std::vector<double>{1, 2}), 0);
    EXPECT_EQ(lag1_autocorrelation(std::vector<double>{2, 2, 2, 2}), 0);
}

TEST(Trend, a_line_is_found_and_its_change_is_from_first_to_last) {
    const auto trend = trend_of(one_to(11));
    EXPECT_DOUBLE_EQ(trend.change, 10);
    EXPECT_LT(trend.p_value, 1e-9);
    EXPECT_EQ(trend_of(std::vector<double>(20, 1.0)), Trend{});
    EXPECT_EQ(trend_of(one_to(4)), Trend{});
}

TEST(Trend, noise_is_significant_no_more_often_than_chance_even_when_it_is_correlated) {
    for (const double memory : {0.0, 0.4}) {
        int significant = 0;
        for (std::uint64_t seed = 0; seed < 2000; ++seed) {
            significant += trend_of(correlated(20, memory, seed)).p_value < 0.01 ? 1 : 0;
        }
        EXPECT_LE(significant, memory == 0 ? 40 : 80) << memory;
    }
}

TEST(Trend, a_slope_in_noise_is_found) {
    auto series = noise(20, 5);
    for (std::size_t i = 0; i < series.size(); ++i) series[i] += 0.5 * static_cast<double>(i);
    EXPECT_LT(trend_of(series).p_value, 0.001);
    EXPECT_NEAR(trend_of(series).change, 9.5, 2);
}

// ---- blocks

TEST(RankSum, HasTheSignificanceOfMannAndWhitney) {
    // 1..10 against 6..15: the ranks of the first add up to 67.5 with five ties of two.
    const auto first = one_to(10);
    std::vector<double> second = first;
    for (double& value : second) value += 5;
    EXPECT_NEAR(rank_sum_p_value(first, second), 0.00503, 0.0003);
    EXPECT_DOUBLE_EQ(rank_sum_p_value(first, second), rank_sum_p_value(second, first));
    EXPECT_NEAR(rank_sum_p_value(first, first), 1, 1e-9);
    EXPECT_EQ(rank_sum_p_value(first, {}), 1);
    EXPECT_EQ(rank_sum_p_value(std::vector<double>(5, 1.0), std::vector<double>(5, 1.0)), 1);
}

TEST(LevelShift, FindsTheChangePointOfPettittsTest) {
    // K of a series that is 10 times low, then 10 times high, is 10 × 10 (Pettitt 1979).
    std::vector<double> series(10, 1.0);
    series.insert(series.end(), 10, 2.0);
    const auto shift = level_shift_of(series);
    EXPECT_EQ(shift.at, 10U);
    EXPECT_DOUBLE_EQ(shift.statistic, 100);
    EXPECT_DOUBLE_EQ(shift.change, 1);
    EXPECT_NEAR(shift.p_value, 2 * std::exp(-60000.0 / 8400), 1e-12);
    EXPECT_EQ(level_shift_of(std::vector<double>(20, 1.0)), LevelShift{});
    EXPECT_EQ(level_shift_of(one_to(4)), LevelShift{});
}

TEST(StartToCut, is_as_long_as_the_values_differ_from_the_rest) {
    Random random(2);
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i) values.push_back((i < 200 ? 10.0 * i / 200 : 10) + random.uniform());
    EXPECT_GE(start_to_cut(values), 150U);
    EXPECT_LE(start_to_cut(values), 260U);
    EXPECT_EQ(start_to_cut({}), 0U);
    EXPECT_EQ(start_to_cut(std::vector<double>(100, 1.5)), 0U);
}

TEST(BetaQuantile, inverts_known_distributions) {
    EXPECT_NEAR(beta_quantile(0.3, 1, 1), 0.3, 1e-9);
    EXPECT_NEAR(beta_quantile(0.975, 1, 10), 1 - std::pow(0.025, 0.1), 1e-9);
}

TEST(RefutingOver, is_the_fewest_that_chance_explains_in_one_case_of_a_hundred_only) {
    EXPECT_EQ(refuting_over(0.99, 1), 1U);  // one of one is over: that happens in 1 of 100 cases
    EXPECT_FALSE(refuting_over(0.5, 5));    // five of five: in 1 of 32
    EXPECT_EQ(refuting_over(0.5, 7), 7U);   // in 1 of 128
    EXPECT_EQ(refuting_over(0.9, 10), 5U);  // five or more: .0016, four or more: .0128
}

}  // namespace
}  // namespace paretoken
