#include "core/text/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace paretoken {
namespace {

TEST(NaturalOrder, NumbersCountAsNumbers) {
    const std::vector<std::string> ordered{"",   "0.25",    "0.5",      "02",     "2",
                                           "16", "batch=2", "batch=16", "c=8",    "c=64",
                                           "x2", "x16",     "x16, a",   "x16, b", "x100"};
    std::vector<std::string> sorted = ordered;
    std::ranges::sort(sorted);
    EXPECT_NE(sorted, ordered);
    std::ranges::sort(sorted, NaturalLess());
    EXPECT_EQ(sorted, ordered);
}

TEST(NaturalOrder, PartsOfAVersionAreNumbersAndDecimalsAreOne) {
    EXPECT_TRUE(NaturalLess()("vllm 0.9.2", "vllm 0.10.1"));
    EXPECT_FALSE(NaturalLess()("vllm 0.10.1", "vllm 0.9.2"));
    EXPECT_TRUE(NaturalLess()("hit=.25", "hit=.7"));
    EXPECT_FALSE(NaturalLess()("same", "same"));
}

}  // namespace
}  // namespace paretoken
