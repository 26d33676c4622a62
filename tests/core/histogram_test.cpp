#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, an_empty_one_answers_zero) {
    const Histogram empty;
    EXPECT_EQ(empty.count(), 0U);
    EXPECT_EQ(empty.percentile(0.99), 0ns);
    EXPECT_EQ(empty.mean(), 0ns);
}

TEST(Histogram, percentiles_are_within_the_promised_error_and_never_too_low) {
    Random random(1);
    Histogram histogram;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 20'000; ++i) {
        values.push_back(static_cast<std::int64_t>(std::exp(random.uniform() * 31)));  // 1 ns to 8 h
        histogram.add(Duration(values.back()));
    }
    std::sort(values.begin(), values.end());
    for (const double p : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(p * 20'000)) - 1;
        const auto exact = static_cast<double>(values.at(rank));
        const auto found = static_cast<double>(histogram.percentile(p).count());
        EXPECT_GE(found, exact) << p;
        EXPECT_LE(found, exact * 1.016) << p;
    }
    EXPECT_EQ(histogram.max().count(), values.back());
}

TEST(Histogram, single_values_come_back_exactly_because_max_bounds_them) {
    for (std::int64_t value = 1; value < (std::int64_t{1} << 50); value = value * 3 + 1) {
        Histogram histogram;
        histogram.add(Duration(value));
        EXPECT_EQ(histogram.percentile(0.5).count(), value);
        EXPECT_EQ(histogram.mean().count(), value);
    }
}

TEST(Histogram, negative_counts_as_zero) {
    Histogram histogram;
    histogram.add(-5ns);
    EXPECT_EQ(histogram.count(), 1U);
    EXPECT_EQ(histogram.mean(), 0ns);
    EXPECT_EQ(histogram.max(), 0ns);
}

TEST(Histogram, adding_two_is_recording_both) {
    Random random(2);
    Histogram left;
    Histogram right;
    Histogram both;
    for (int i = 0; i < 1000; ++i) {
        const Duration value(static_cast<std::int64_t>(random.below(1'000'000)));
        (i % 3 == 0 ? left : right).add(value);
        both.add(value);
    }
    left.add(right);
    EXPECT_EQ(left.count(), both.count());
    EXPECT_EQ(left.mean(), both.mean());
    EXPECT_EQ(left.max(), both.max());
    for (const double p : {0.1, 0.5, 0.99}) EXPECT_EQ(left.percentile(p), both.percentile(p));
}

TEST(LiveHistogram, PercentilesAreWithinAnEighthOfTheTrueOnes) {
    LiveHistogram live;
    EXPECT_FALSE(live.percentile(.5));
    for (int i = 1; i <= 1000; ++i) live.add(std::chrono::microseconds(i));
    for (const double p : {.05, .5, .95, 1.})
        EXPECT_NEAR(seconds(*live.percentile(p)) / (p * 1e-3), 1, .07) << p;
}

TEST(LiveHistogram, TakesAnyDuration) {
    LiveHistogram live;
    live.add(Duration(-5));
    EXPECT_EQ(*live.percentile(1), Duration{});
    live.add(Duration::max());
    EXPECT_GT(*live.percentile(1), std::chrono::minutes(1));
}

}  // namespace
}  // namespace paretoken
