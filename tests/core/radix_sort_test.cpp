#include "core/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/random.h"

namespace paretoken {
namespace {

TEST(RadixSort, OrdersDoublesOfEverySignAndSize) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        std::vector<double> values{0.0, -0.0, 1e300, -1e300, 1e-300};
        for (std::uint64_t i = 0; i < 3000 * seed; ++i)
            values.push_back(random.normal() * (seed % 2 == 0 ? 1e-3 : 1e9));
        auto expected = values;
        std::sort(expected.begin(), expected.end());
        radix_sort(values);
        EXPECT_EQ(values, expected);
    }
}

TEST(RadixSort, OrdersIntegersOfEverySign) {
    std::vector<std::int64_t> values{3,
                                     -1,
                                     std::numeric_limits<std::int64_t>::min(),
                                     0,
                                     -1'000'000'000'000,
                                     std::numeric_limits<std::int64_t>::max()};
    auto expected = values;
    std::sort(expected.begin(), expected.end());
    radix_sort(values, [](std::int64_t value) { return radix_key(value); });
    EXPECT_EQ(values, expected);
}

TEST(RadixSort, KeepsTheOrderOfEquals) {
    Random random(1);
    std::vector<std::pair<std::uint64_t, int>> values;
    for (int i = 0; i < 5000; ++i) values.emplace_back(random.below(50) << (random.below(2) * 40), i);
    auto expected = values;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    radix_sort(values, [](const auto& value) { return value.first; });
    EXPECT_EQ(values, expected);
}

TEST(RadixSort, TakesNothingAndOne) {
    std::vector<double> none;
    radix_sort(none);
    EXPECT_TRUE(none.empty());
    std::vector<double> one{3};
    radix_sort(one);
    EXPECT_EQ(one, std::vector<double>{3});
}

}  // namespace
}  // namespace paretoken
