#include "core/text/printable.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(PrintableLine, white_space_and_control_characters_become_one_space) {
    EXPECT_EQ(printable_line("  a\r\n\t b\x1b[31mc\x7f \n"), "a b [31mc");
    EXPECT_EQ(printable_line("a\xC2\x85"
                             "b\xE2\x80\xA8"
                             "c"),
              "a b c");
    EXPECT_EQ(printable_line(""), "");
    EXPECT_EQ(printable_line("\n\n"), "");
}

TEST(PrintableLine, bytes_that_are_no_utf8_are_replaced) {
    EXPECT_EQ(printable_line("a\xFF"
                             "b\xC3"),
              "a\uFFFDb\uFFFD");
    EXPECT_EQ(printable_line("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
    EXPECT_EQ(printable_line("grün 世界 🙂"), "grün 世界 🙂");
}

TEST(PrintableLine, characters_that_turn_the_direction_of_writing_are_left_out) {
    EXPECT_EQ(printable_line("user\u202Egnp.exe\u2066\u2069\u200F\u061C"), "usergnp.exe");
}

TEST(PrintableLine, a_long_text_is_cut_between_characters) {
    EXPECT_EQ(printable_line("abcdef", 6), "abcdef");
    EXPECT_EQ(printable_line("abcdefg", 6), "abc…");
    for (std::size_t most = 0; most < 12; ++most) {
        const std::string line = printable_line("ü世🙂ü世🙂ü世🙂", most);
        EXPECT_LE(line.size(), most);
        EXPECT_EQ(printable_line(line), line);
    }
}

}  // namespace
}  // namespace paretoken
