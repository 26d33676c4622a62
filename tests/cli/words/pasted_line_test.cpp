#include "cli/words/pasted_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PastedLine, is_split_as_a_shell_does) {
    EXPECT_THAT(commands_in(R"(a 'b c' "d \"e\"" f=g # a comment)"),
                ElementsAre(ElementsAre("a", "b c", "d \"e\"", "f=g")));
    EXPECT_THAT(commands_in("a ''"), ElementsAre(ElementsAre("a", "")));
    EXPECT_THAT(commands_in(" \n# only a comment\n"), IsEmpty());
}

TEST(PastedLine, keeps_a_place_to_fill_in_as_one_word) {
    EXPECT_THAT(commands_in("--dataset-path <your data path>/x.json --port <port>"),
                ElementsAre(ElementsAre("--dataset-path", "<your data path>/x.json", "--port", "<port>")));
    EXPECT_THAT(commands_in("a < file"), ElementsAre(ElementsAre("a", "<", "file")));
}

TEST(PastedLine, goes_on_behind_a_backslash_even_where_blanks_follow_it) {
    EXPECT_THAT(commands_in("a --b \\\n  c \\  \n--d \\"), ElementsAre(ElementsAre("a", "--b", "c", "--d")));
    EXPECT_THAT(commands_in("a \\  --b"), ElementsAre(ElementsAre("a", "--b")))
        << "a page joined the lines of a command";
}

TEST(PastedLine, has_several_commands_and_leaves_out_where_their_output_goes) {
    EXPECT_THAT(commands_in("for c in 1 2; do vllm bench --c $c; done"),
                ElementsAre(ElementsAre("for", "c", "in", "1", "2"),
                            ElementsAre("do", "vllm", "bench", "--c", "$c"), ElementsAre("done")));
    EXPECT_THAT(commands_in("a --b 2>&1 | tee log.txt"),
                ElementsAre(ElementsAre("a", "--b"), ElementsAre("tee", "log.txt")));
    EXPECT_THAT(commands_in("a --n 2 > log.txt --c && d >> e"),
                ElementsAre(ElementsAre("a", "--n", "2", "--c"), ElementsAre("d")));
}

}  // namespace
}  // namespace paretoken::cli
