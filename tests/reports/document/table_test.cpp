#include "reports/document/table.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace paretoken::reports {
namespace {

using testing::ElementsAre;

TEST(Table, WritesLengthsInWholeTokensWhereTheyAreWhole) {
    EXPECT_EQ(tokens_text(64), "64");
    EXPECT_EQ(tokens_text(1007.4), "1,007");
    EXPECT_EQ(tokens_text(12.53), "12.5");
    EXPECT_EQ(tokens_text(63.998), "64");
}

TEST(Significant, KeepsThreeDigits) {
    EXPECT_EQ(significant(0), "0");
    EXPECT_EQ(significant(0.0012345), "0.00123");
    EXPECT_EQ(significant(12.345), "12.3");
    EXPECT_EQ(significant(123.45), "123");
    EXPECT_EQ(significant(1234.5), "1,230");
    EXPECT_EQ(significant(1234567), "1,230,000");
    EXPECT_EQ(significant(-12.345), "-12.3");
    EXPECT_EQ(significant(-1234.5), "-1,230");
    EXPECT_EQ(significant(1.0), "1.00");
    EXPECT_EQ(significant(512, 4), "512.0");
}

TEST(Significant, RoundsOverAPowerOfTenWithoutGainingADigit) {
    EXPECT_EQ(significant(9.999), "10.0");
    EXPECT_EQ(significant(99.96), "100");
    EXPECT_EQ(significant(999.6), "1,000");
    EXPECT_EQ(significant(0.9999), "1.00");
    EXPECT_EQ(significant(0.00099999), "0.00100");
}

TEST(Significant, WritesTinyValuesWithAnExponentAndTheRestAsSymbols) {
    EXPECT_EQ(significant(1.234e-7), "1.23e-07");
    EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "∞");
    EXPECT_EQ(significant(-std::numeric_limits<double>::infinity()), "−∞");
    EXPECT_EQ(significant(std::nan("")), "–");
    EXPECT_EQ(significant(std::nullopt), "–");
    EXPECT_EQ(significant(std::optional(0.0123), 1e3), "12.3");
}

TEST(Significant, NeverStraysFromTheValueByMoreThanHalfADigit) {
    for (double value = 1.3e-4; value < 1e9; value *= 1.0371) {
        std::string text = significant(value);
        std::erase(text, ',');
        EXPECT_NEAR(std::stod(text) / value, 1, 0.00501) << value;
    }
}

TEST(Grouped, SeparatesThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Dollars, ShowCents) {
    EXPECT_EQ(dollars(0.4123), "0.412");
    EXPECT_EQ(dollars(3.5), "3.50");
    EXPECT_EQ(dollars(12.3456), "12.35");
    EXPECT_EQ(dollars(9.999), "10.00");
    EXPECT_EQ(dollars(1234), "1,230");
}

TEST(TimeUnit, MakesNumbersReadable) {
    EXPECT_EQ(time_unit_for(0.045).name, "ms");
    EXPECT_EQ(time_unit_for(0.0000021).name, "µs");
    EXPECT_EQ(time_unit_for(31).name, "s");
}

TEST(Printable, IsOneLineWithoutControlCharacters) {
    EXPECT_EQ(printable("a\x1b[31mb\r\n\tc\x07\x7f"), "a [31mb c");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "31m");  // the one-byte form of ESC [
    EXPECT_EQ(printable("  x  "), "x");
    EXPECT_EQ(printable("héllo wörld", 6), "héllo…");
    EXPECT_EQ(printable("", 3), "");
}

TEST(Wrapped, BreaksAtBlanksOnly) {
    EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
    EXPECT_THAT(wrapped("a-very-long-word b", 5), ElementsAre("a-very-long-word", "b"));
    EXPECT_THAT(wrapped("", 5), ElementsAre(""));
    EXPECT_THAT(wrapped("a  b", 9), ElementsAre("a b"));
}

TEST(TextTable, AlignsByWhatIsSeenAndNotByBytes) {
    const Table table{{{"name", Align::left}, {"µs"}}, {{"é", "1.5"}, {"long name", "∞"}}};
    EXPECT_EQ(text_of(table, 2),
              "  name        µs\n"
              "  é          1.5\n"
              "  long name    ∞\n");
}

TEST(TextTable, EndsNoLineInBlanks) {
    const Table table{{{"a", Align::left}, {"b", Align::left}}, {{"xx", ""}, {"", "y"}}};
    EXPECT_EQ(text_of(table), "a   b\nxx\n    y\n");
}

}  // namespace
}  // namespace paretoken::reports
