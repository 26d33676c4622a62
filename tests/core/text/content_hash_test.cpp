#include "core/text/content_hash.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

// Values from the authors' page, http://www.isthe.com/chongo/tech/comp/fnv/.
TEST(ContentHash, is_fnv_1a) {
    EXPECT_EQ(content_hash(""), "cbf29ce484222325");
    EXPECT_EQ(content_hash("a"), "af63dc4c8601ec8c");
    EXPECT_EQ(content_hash("foobar"), "85944171f73967e8");
}

TEST(ContentHash, is_the_same_in_parts_and_in_one_piece) {
    ContentHash hash;
    hash.add("foo");
    hash.add("");
    hash.add("bar");
    EXPECT_EQ(hash.text(), content_hash("foobar"));
}

}  // namespace
}  // namespace paretoken
