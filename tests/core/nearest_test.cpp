#include "core/nearest.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(Nearest, the_distance_of_two_words_counts_letters_and_swapped_neighbours) {
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("report", "report"), 0U);
    EXPECT_EQ(edit_distance("repotr", "report"), 1U);
    EXPECT_EQ(edit_distance("--concurency", "--concurrency"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, only_a_name_that_may_have_been_meant_is_suggested) {
    EXPECT_EQ(nearest("--ouput", {"--url", "--output"}), "--output");
    EXPECT_EQ(nearest("--zebra", {"--url", "--output"}), "");
}

}  // namespace
}  // namespace paretoken
