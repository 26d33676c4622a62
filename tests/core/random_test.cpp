#include "core/random.h"
#include "core/random_below.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace paretoken {
namespace {

template <typename Draw>
std::pair<double, double> mean_and_variance(int n, Draw draw) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < n; ++i) {
        const double value = draw();
        sum += value;
        squares += value * value;
    }
    const double mean = sum / n;
    return {mean, squares / n - mean * mean};
}

TEST(Random, is_splitmix64) {
    Random random(1234567);  // first values of the reference implementation for this seed
    EXPECT_EQ(random(), 6457827717110365317U);
    EXPECT_EQ(random(), 3203168211198807973U);
    EXPECT_EQ(random(), 9817491932198370423U);
}

TEST(Random, a_stream_depends_on_its_name_alone) {
    EXPECT_EQ(derived_seed(7, "arrivals", 3), derived_seed(7, "arrivals", 3));
    std::set<std::uint64_t> seeds;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        for (const std::string purpose : {"", "a", "b", "arrivals", "prompts"}) {
            for (std::uint64_t index = 0; index < 20; ++index)
                seeds.insert(derived_seed(seed, purpose, index));
        }
    }
    EXPECT_EQ(seeds.size(), 20U * 5 * 20);
}

TEST(Random, streams_of_neighbouring_indices_are_unrelated) {
    const auto [mean, variance] = mean_and_variance(20'000, [index = std::uint64_t{0}]() mutable {
        return Random(derived_seed(1, "x", index++)).uniform();
    });
    EXPECT_NEAR(mean, 0.5, 0.01);
    EXPECT_NEAR(variance, 1.0 / 12, 0.003);
}

TEST(Random, uniform_stays_below_one) {
    Random random(1);
    for (int i = 0; i < 100'000; ++i) {
        const double value = random.uniform();
        ASSERT_GE(value, 0);
        ASSERT_LT(value, 1);
    }
}

TEST(Random, many_numbers_below_a_bound_are_those_that_are_drawn_one_by_one) {
    for (const std::uint64_t bound : {2ULL, 3ULL, 7ULL, 64ULL, 127'000ULL, 128'255ULL, 2'147'483'647ULL}) {
        Random one(bound);
        Random many(bound);
        std::vector<std::int32_t> numbers(1000);
        fill_below(many, bound, 0, numbers);
        for (const std::int32_t number : numbers)
            ASSERT_EQ(static_cast<std::uint64_t>(number), one.below(bound)) << bound;
        EXPECT_EQ(one(), many());
    }
}

TEST(Random, below_hits_every_value_equally_often) {
    Random random(2);
    std::array<int, 7> counts{};
    for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(7));
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
    EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, exponential_has_mean_and_variance_one) {
    Random random(3);
    const auto [mean, variance] = mean_and_variance(200'000, [&] { return random.exponential(); });
    EXPECT_NEAR(mean, 1, 0.01);
    EXPECT_NEAR(variance, 1, 0.03);
}

TEST(Random, normal_has_mean_zero_and_variance_one) {
    Random random(4);
    const auto [mean, variance] = mean_and_variance(200'000, [&] { return random.normal(); });
    EXPECT_NEAR(mean, 0, 0.01);
    EXPECT_NEAR(variance, 1, 0.02);
}

TEST(Random, gamma_has_mean_and_variance_of_its_shape) {
    for (const double shape : {0.1, 0.5, 1.0, 2.5, 30.0}) {
        Random random(5);
        const auto [mean, variance] = mean_and_variance(200'000, [&] { return random.gamma(shape); });
        EXPECT_NEAR(mean / shape, 1, 0.03) << shape;
        EXPECT_NEAR(variance / shape, 1, 0.06) << shape;
    }
}

}  // namespace
}  // namespace paretoken
