#include "core/text/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace paretoken {
namespace {

TEST(NumberText, has_three_significant_digits_and_no_exponent) {
    EXPECT_EQ(number_text(0.00123456), "0.00123");
    EXPECT_EQ(number_text(12.345), "12.3");
    EXPECT_EQ(number_text(3.0), "3");
    EXPECT_EQ(number_text(999.4), "999");
    EXPECT_EQ(number_text(1467.3), "1467");
    EXPECT_EQ(number_text(-0.5), "-0.5");
    EXPECT_EQ(number_text(123456789.0), "123456789");
}

TEST(NumberText, of_what_is_next_to_nothing_is_not_nothing) {
    EXPECT_EQ(number_text(1e-9), "0.000001");
    EXPECT_EQ(number_text(-1e-9), "-0.000001");
    EXPECT_EQ(number_text(0), "0");
}

TEST(NumberText, tells_what_is_no_number) {
    EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(PercentText, of_many_times_the_whole_is_readable) {
    EXPECT_EQ(percent_text(14.7), "1470 %");
    EXPECT_EQ(percent_text(0.0312), "3.12 %");
}

}  // namespace
}  // namespace paretoken
