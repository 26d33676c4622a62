#include "core/evidence/sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"

namespace paretoken {
namespace {

std::vector<double> noise(std::size_t n, double deviation, double mean, std::uint64_t seed) {
    Random random(derived_seed(seed, "noise"));
    std::vector<double> values(n);
    for (double& value : values) value = mean + deviation * random.normal();
    return values;
}

// ---- looks

TEST(Looks, come_at_3_4_6_8_12_and_16_pairs_and_always_at_the_most) {
    const auto pairs_of = [](std::uint64_t most) {
        std::vector<std::uint64_t> pairs;
        for (const Look& look : planned_looks(most, .01, .05)) pairs.push_back(look.pairs);
        return pairs;
    };
    EXPECT_EQ(pairs_of(16), (std::vector<std::uint64_t>{3, 4, 6, 8, 12, 16}));
    EXPECT_EQ(pairs_of(3), (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(pairs_of(4), (std::vector<std::uint64_t>{3, 4}));
    EXPECT_EQ(pairs_of(5), (std::vector<std::uint64_t>{3, 4, 5}));
    EXPECT_EQ(pairs_of(40), (std::vector<std::uint64_t>{3, 4, 6, 8, 12, 16, 24, 32, 40}));
}

TEST(Looks, spend_all_of_both_errors_and_no_more_and_the_square_of_the_pairs_until_each) {
    for (const std::uint64_t most : {3, 6, 7, 16, 100}) {
        double alpha = 0;
        double beta = 0;
        for (const Look& look : planned_looks(most, .01, .05)) {
            EXPECT_GT(look.alpha, 0);
            alpha += look.alpha;
            beta += look.beta;
            const double information = static_cast<double>(look.pairs) / static_cast<double>(most);
            EXPECT_NEAR(alpha, .01 * information * information, 1e-15);
        }
        EXPECT_NEAR(alpha, .01, 1e-15);
        EXPECT_NEAR(beta, .05, 1e-15);
    }
}

// ---- shifts

TEST(PairedShift, is_the_mean_with_its_standard_error) {
    const Shift shift = paired_shift(std::vector<double>{.1, .2, .3});
    EXPECT_NEAR(shift.mean, .2, 1e-12);
    EXPECT_NEAR(shift.standard_error, .1 / std::sqrt(3), 1e-12);
    EXPECT_EQ(shift.degrees_of_freedom, 2);
    const Interval interval = interval_of(shift);
    EXPECT_NEAR(interval.high - .2, 4.3027 * .1 / std::sqrt(3), 1e-4);
    EXPECT_NEAR(.2 - interval.low, interval.high - .2, 1e-12);
}

TEST(PAbove, is_students_t_one_sided) {
    const Shift shift{.mean = 2.262, .standard_error = 1, .degrees_of_freedom = 9};
    EXPECT_NEAR(p_above(shift, 0), .025, 1e-4);
    EXPECT_NEAR(p_below(shift, 0), .975, 1e-4);
    EXPECT_NEAR(p_above(shift, 2.262), .5, 1e-9);
}

TEST(PAbove, keeps_its_digits_where_it_is_small) {
    // Two degrees of freedom have a closed form: P(T > t) = (1 − t / √(2 + t²)) / 2 ≈ 1 / (2 t²).
    const Shift shift{.mean = 1e6, .standard_error = 1, .degrees_of_freedom = 2};
    EXPECT_NEAR(p_above(shift, 0) * 2e12, 1, 1e-6);
}

TEST(UpperBound, is_where_the_probability_of_being_below_is_the_error) {
    const Shift shift{.mean = .01, .standard_error = .004, .degrees_of_freedom = 7};
    for (const double error : {.1, .05, .01, .0004}) {
        EXPECT_NEAR(p_below(shift, upper_bound(shift, error)), error, error * 1e-6);
    }
    EXPECT_EQ(upper_bound(shift, 0), std::numeric_limits<double>::infinity());
}

TEST(IntervalOf, pairs_holds_the_truth_in_95_of_100_cases) {
    for (const std::size_t pairs : {3, 6, 16}) {
        int held = 0;
        constexpr int kCases = 4000;
        for (std::uint64_t i = 0; i < kCases; ++i) {
            const Interval interval = interval_of(paired_shift(noise(pairs, .02, .03, i)));
            if (interval.low <= .03 && .03 <= interval.high) ++held;
        }
        EXPECT_NEAR(held, kCases * .95, 4 * std::sqrt(kCases * .95 * .05)) << pairs;
    }
}

// ---- several hypotheses

TEST(Holm, compares_the_smallest_with_all_and_each_next_with_one_fewer) {
    EXPECT_EQ(rejected_by_holm(std::vector<double>{.01, .04, .03, .005}, .05),
              (std::vector<bool>{true, false, false, true}));
    EXPECT_EQ(rejected_by_holm(std::vector<double>{.02, .02, .02}, .05),
              (std::vector<bool>{false, false, false}));
    EXPECT_EQ(rejected_by_holm(std::vector<double>{.012, .024, .05}, .05),
              (std::vector<bool>{true, true, true}));
    EXPECT_TRUE(rejected_by_holm({}, .05).empty());
}

TEST(Looks, at_pairs_of_equal_sides_fail_any_of_nine_metrics_at_most_once_in_a_hundred) {
    int fails = 0;
    constexpr int kGates = 2000;
    const auto looks = planned_looks(16, .01, .05);
    for (std::uint64_t gate = 0; gate < kGates; ++gate) {
        bool failed = false;
        for (const Look& look : looks) {
            std::vector<double> p;
            for (std::uint64_t metric = 0; metric < 9; ++metric) {
                const auto pairs = noise(16, .02, 0, gate * 9 + metric);
                p.push_back(p_above(paired_shift(std::span(pairs).first(look.pairs)), 0));
            }
            for (const bool rejected : rejected_by_holm(p, look.alpha)) failed = failed || rejected;
        }
        fails += failed ? 1 : 0;
    }
    EXPECT_LE(fails, kGates * .01 + 3 * std::sqrt(kGates * .01 * .99)) << "with no tolerance at all";
    EXPECT_GT(fails, 0) << "and what is allowed is used";
}

// ---- pairs to decide

TEST(PairsToDecide, grow_as_the_shift_comes_near_the_limit) {
    const Errors errors{.fail = .005, .pass = .03};
    const auto pairs_for = [&](double mean) {
        return pairs_to_decide({mean, .01 / std::sqrt(6.0), 5}, 6, .02, errors);
    };
    EXPECT_LT(pairs_for(0).value(), pairs_for(.01).value());
    EXPECT_LT(pairs_for(.01).value(), pairs_for(.015).value());
    EXPECT_LT(pairs_for(.05).value(), pairs_for(.03).value());
    EXPECT_EQ(pairs_for(.02), std::nullopt) << "at the limit itself no number decides";
}

TEST(PairsToDecide, are_enough_and_one_fewer_is_not) {
    const Errors errors{.fail = .005, .pass = .03};
    const Shift shift{.031, .01 / std::sqrt(4.0), 3};
    const std::uint64_t enough = pairs_to_decide(shift, 4, .02, errors).value();
    const auto decided = [&](std::uint64_t n) {
        const Shift then{.031, .01 / std::sqrt(static_cast<double>(n)), static_cast<double>(n - 1)};
        return p_above(then, .02) <= errors.fail;
    };
    EXPECT_TRUE(decided(enough));
    EXPECT_FALSE(decided(enough - 1));
}

TEST(DetectableShift, is_found_in_about_80_of_100_cases) {
    const Errors errors{.fail = .01, .pass = .05};
    constexpr std::size_t kPairs = 12;
    const Shift known{0, .02 / std::sqrt(static_cast<double>(kPairs)), kPairs - 1};
    const double shift = detectable_shift(known, .05, errors);
    int found = 0;
    constexpr int kCases = 2000;
    for (std::uint64_t i = 0; i < kCases; ++i) {
        if (p_above(paired_shift(noise(kPairs, .02, shift, i)), .05) <= errors.fail) ++found;
    }
    EXPECT_NEAR(found / static_cast<double>(kCases), .8, .06);
}

// ---- counts

TEST(Failures, of_two_sides_are_compared_exactly) {
    // Fisher's tea: 3 of 4 against 1 of 4 has the one-sided probability 17/70.
    EXPECT_NEAR(p_fails_more({1, 4}, {3, 4}), 17.0 / 70, 1e-9);
    EXPECT_NEAR(p_fails_more({0, 100}, {0, 100}), 1, 1e-9);
    EXPECT_LT(p_fails_more({0, 300}, {12, 300}), 1e-3);
    EXPECT_GT(p_fails_more({12, 300}, {0, 300}), .999);
    EXPECT_NEAR(p_fails_more({0, 0}, {0, 0}), 1, 1e-9);
}

TEST(Failures, none_of_many_bounds_their_share) {
    EXPECT_NEAR(share_upper_bound({0, 100}, .05), 1 - std::pow(.05, .01), 1e-9);
    EXPECT_EQ(share_upper_bound({5, 5}, .05), 1);
    EXPECT_EQ(share_upper_bound({}, .05), 1);
    EXPECT_GT(share_upper_bound({3, 100}, .05), .03);
}

TEST(RobustTrend, is_found_beside_an_odd_value_and_not_made_by_one) {
    const RobustTrend rising = robust_trend(std::vector<double>{8, 8.5, 9, 30, 9.5, 10, 10.5, 11, 11.5, 12});
    EXPECT_NEAR(rising.change, 4.5, .6);
    EXPECT_LT(rising.p_value, .01);
    EXPECT_LT(robust_trend(std::vector<double>{12, 11, 10, 9, 8, 7, 6, 5}).change, 0);
    EXPECT_GT(robust_trend(std::vector<double>{8, 8.1, 7.9, 8, 8.1, 7.9, 8, 30}).p_value, .05);
    EXPECT_EQ(robust_trend(std::vector<double>{1, 2, 3, 4, 5}).p_value, 1) << "too few";
    EXPECT_EQ(robust_trend(std::vector<double>(9, 4.0)).p_value, 1) << "nothing changes";
}

TEST(RobustTrend, of_mere_noise_is_significant_as_often_as_it_says) {
    int found = 0;
    constexpr int kCases = 2000;
    for (std::uint64_t i = 0; i < kCases; ++i)
        if (robust_trend(noise(12, 1, 0, i)).p_value <= .05) ++found;
    EXPECT_LE(found, kCases * .05 + 3 * std::sqrt(kCases * .05 * .95));
    EXPECT_GT(found, kCases * .02);
}

TEST(McNemar, judges_only_the_pairs_that_changed) {
    EXPECT_DOUBLE_EQ(mcnemar_p_value(0, 0), 1);
    EXPECT_NEAR(mcnemar_p_value(0, 10), 2.0 / 1024, 1e-12);
    EXPECT_DOUBLE_EQ(mcnemar_p_value(3, 7), mcnemar_p_value(7, 3));
    EXPECT_DOUBLE_EQ(mcnemar_p_value(5, 5), 1);
}

}  // namespace
}  // namespace paretoken
