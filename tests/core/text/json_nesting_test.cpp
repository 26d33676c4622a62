#include "core/text/json_nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace paretoken {
namespace {

TEST(JsonNesting, counts_what_is_open_at_once) {
    EXPECT_FALSE(nests_deeper_than(2, R"([[1], [2], [3]])"));
    EXPECT_TRUE(nests_deeper_than(2, R"([[1], [[2]], [3]])"));
    EXPECT_TRUE(nests_deeper_than(2, R"({"a": {"b": []}})"));
    EXPECT_FALSE(nests_deeper_than(0, "12"));
}

TEST(JsonNesting, does_not_count_what_stands_in_strings) {
    EXPECT_FALSE(nests_deeper_than(1, R"(["[[[[", "a\"[[[", "\\"])"));
    EXPECT_TRUE(nests_deeper_than(1, R"(["\\", [2]])"));
}

TEST(JsonNesting, of_a_text_without_end_is_found) {
    EXPECT_TRUE(nests_deeper_than(kDeepestJson, std::string(1'000'000, '[')));
    EXPECT_FALSE(nests_deeper_than(1, "]]]]["));
}

}  // namespace
}  // namespace paretoken
