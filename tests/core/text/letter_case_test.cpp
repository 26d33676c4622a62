#include "core/text/letter_case.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(LetterCase, letters_of_ascii_are_lowered_and_all_other_bytes_stay) {
    EXPECT_EQ(lower_case("AZ az-09_@[`{"), "az az-09_@[`{");
    EXPECT_EQ(lower_case("Ärger \xC3\x84"), "Ärger \xC3\x84");
    EXPECT_EQ(lower_case(""), "");
}

}  // namespace
}  // namespace paretoken
