#include "cli/words/pasted_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "tests/support/message_of.h"

namespace paretoken::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
}

TEST(PastedLine, leaves_out_where_input_comes_from) {
    EXPECT_THAT(commands_in("a < file"), ElementsAre(ElementsAre("a")));
    EXPECT_THAT(commands_in("a --b 2 < /dev/null --c 7 2>&1 | tee x\na --d > y"),
                ElementsAre(ElementsAre("a", "--b", "2", "--c", "7"), ElementsAre("tee", "x"),
                            ElementsAre("a", "--d")));
    EXPECT_THAT(commands_in("while read c; do a $c; done < levels.txt\nb <in.txt 2>/dev/null"),
                ElementsAre(ElementsAre("while", "read", "c"), ElementsAre("do", "a", "$c"),
                            ElementsAre("done"), ElementsAre("b")));
    EXPECT_THAT(commands_in("read -r -a A <<< \"$X y\"; a 2>/dev/null"),
                ElementsAre(ElementsAre("read", "-r", "-a", "A"), ElementsAre("a")));
    EXPECT_THAT(commands_in("cat <<EOF > f\nI don't --b\nEOF\na"),
                ElementsAre(ElementsAre("cat"), ElementsAre("a")));
    EXPECT_THAT(commands_in("ssh h bash <<'EOF'\na --b\nEOF\nc"),
                ElementsAre(ElementsAre("ssh", "h", "bash"), ElementsAre("a", "--b"), ElementsAre("c")))
        << "a shell reads the text";
    EXPECT_THAT(commands_in("a --f <(b c)"), ElementsAre(ElementsAre("a", "--f", "<(b c)")));
}

TEST(PastedLine, refuses_a_quotation_mark_that_is_not_closed) {
    EXPECT_THAT(message_of<UsageError>([] { commands_in("a --h 'x: '$K' \\\n --h 'y: z'\nb"); }),
                HasSubstr("a quotation mark is not closed: '"));
}

TEST(PastedLine, goes_on_behind_a_backslash_even_where_blanks_follow_it) {
    EXPECT_THAT(commands_in("a --b \\\n  c \\  \n--d \\"), ElementsAre(ElementsAre("a", "--b", "c", "--d")));
    EXPECT_THAT(commands_in("a \\  --b"), ElementsAre(ElementsAre("a", "--b")))
        << "a page joined the lines of a command";
    EXPECT_THAT(commands_in("a -\\\n-b c\\\nd e\\\n--f"),
                ElementsAre(ElementsAre("a", "--b", "cd", "e", "--f")))
        << "a word goes on, but an option that lost its indentation is one of its own";
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

TEST(PastedLine, goes_on_where_a_line_begins_with_an_option) {
    EXPECT_THAT(commands_in("a --b c\n  --d e\n\n--f\ng"),
                ElementsAre(ElementsAre("a", "--b", "c", "--d", "e", "--f"), ElementsAre("g")));
    EXPECT_THAT(commands_in("a; --b"), ElementsAre(ElementsAre("a"), ElementsAre("--b")));
    EXPECT_THAT(commands_in("$a b \\\n> --c d \\\n> --e"),
                ElementsAre(ElementsAre("$a", "b", "--c", "d", "--e")))
        << "the marks of a terminal are no redirections";
}

TEST(PastedLine, is_read_inside_an_array_a_subshell_and_a_comment) {
    EXPECT_THAT(commands_in("local -a args=(\n  a --b\n  \"c=d\"\n)\ne"),
                ElementsAre(ElementsAre("local", "-a", "args=", "a", "--b", "c=d"), ElementsAre("e")));
    EXPECT_THAT(commands_in("( cd x && a --b c )"),
                ElementsAre(ElementsAre("cd", "x"), ElementsAre("a", "--b", "c")));
    EXPECT_THAT(commands_in("a N(480,240)/(300,150) b"),
                ElementsAre(ElementsAre("a", "N(480,240)/(300,150)", "b")));
    EXPECT_THAT(commands_in("# a \\\n#   --b c\n"), ElementsAre(ElementsAre("a", "--b", "c")));
    EXPECT_THAT(commands_in("# a\nb"), ElementsAre(ElementsAre("b")));
}

TEST(PastedLine, keeps_what_a_shell_would_replace_as_one_word) {
    EXPECT_THAT(commands_in("a --seed $(date +%s) --n \"$((4 * c))\" --p ${P}x"),
                ElementsAre(ElementsAre("a", "--seed", "$(date +%s)", "--n", "$((4 * c))", "--p", "${P}x")));
    EXPECT_TRUE(has_shell_variable("x$A"));
    EXPECT_TRUE(has_shell_variable("${A}"));
    EXPECT_TRUE(has_shell_variable("$(a)"));
    EXPECT_FALSE(has_shell_variable("5$ and $"));
}

TEST(PastedLine, has_the_values_of_the_variables_that_it_sets) {
    EXPECT_THAT(
        commands_in("export M=org/m P=${P:-9000}\nLEVELS=\"1 2\"\nfor c in $LEVELS; do a ${M} h:$P $c\ndone"),
        ElementsAre(ElementsAre("export", "M=org/m", "P=9000"), ElementsAre("LEVELS=1 2"),
                    ElementsAre("for", "c", "in", "1", "2"), ElementsAre("do", "a", "org/m", "h:9000", "$c"),
                    ElementsAre("done")));
    EXPECT_THAT(commands_in("MORE='--b c'; a $MORE \"$MORE x\""),
                ElementsAre(ElementsAre("MORE=--b c"), ElementsAre("a", "--b", "c", "--b c x")));
    EXPECT_THAT(commands_in("API_KEY=secret; a $API_KEY"),
                ElementsAre(ElementsAre("API_KEY=secret"), ElementsAre("a", "$API_KEY")))
        << "what is to be printed has no secret";
    EXPECT_THAT(commands_in("M=$1; a $M"), ElementsAre(ElementsAre("M=$1"), ElementsAre("a", "$M")));
    EXPECT_THAT(commands_in("E=\"\"; a $E --b \"$E\""),
                ElementsAre(ElementsAre("E="), ElementsAre("a", "--b", "")))
        << "an empty variable is a word only in quotes";
    EXPECT_THAT(commands_in("B='1 16'; a --b $B").back(), ElementsAre("a", "--b", "1", "16"));
}

TEST(PastedLine, reads_the_defaults_of_variables) {
    EXPECT_THAT(commands_in("P=${P:-\"9 0\"}; a \"$P\" ${1:-x} ${M:=org/m} ${A:-${B:-c}}"),
                ElementsAre(ElementsAre("P=9 0"), ElementsAre("a", "9 0", "x", "org/m", "c")));
    EXPECT_THAT(
        commands_in("C=4; N=$((C * 2)); a --n $N --m $((C*D))"),
        ElementsAre(ElementsAre("C=4"), ElementsAre("N=8"), ElementsAre("a", "--n", "8", "--m", "$((4*D))")));
}

TEST(PastedLine, keeps_variables_whose_value_depends_on_what_runs) {
    EXPECT_THAT(commands_in("M=m; N=1\nif [ $M = x ]; then N=2; fi\na $M $N").back(),
                ElementsAre("a", "m", "$N"));
    EXPECT_THAT(commands_in("N=1; [ \"$R\" = 1 ] && N=2; a $N").back(), ElementsAre("a", "$N"));
    EXPECT_THAT(commands_in("N=1\nwhile b; do a $N\nN=2; done")[2], ElementsAre("do", "a", "$N"));
    EXPECT_THAT(commands_in("N=$(b); a $N").back(), ElementsAre("a", "$N"));
}

TEST(PastedLine, knows_whether_a_variable_that_it_sets_is_empty) {
    const char* const line =
        "C=\"a\"\nif [ -n \"$N\" ]; then C=\"$C --n $N\"; fi\n[[ ! -z $M ]] && C+=\" --m\"\n$C";
    EXPECT_THAT(commands_in(std::string("N=7\nM=\n") + line).back(), ElementsAre("a", "--n", "7"));
    EXPECT_THAT(commands_in(std::string("N=\"\"\nM=1\n") + line).back(), ElementsAre("a", "--m"));
    EXPECT_THAT(commands_in(line).back(), ElementsAre("a", "$C", "$C")) << "the values are not known";
}

TEST(PastedLine, reads_a_command_that_is_put_together_in_a_variable) {
    EXPECT_THAT(commands_in("C=\"a --b\"\nC+=\" --c d\"\n$C").back(), ElementsAre("a", "--b", "--c", "d"));
    EXPECT_THAT(commands_in("C=\"a --b\"\nC=\"${C} --c d\"\neval \"$C\""),
                ElementsAre(ElementsAre("C=a --b --c d"), ElementsAre("eval", "a", "--b", "--c", "d")));
    EXPECT_THAT(commands_in("A=(--b c)\na \"${A[@]}\"").back(), ElementsAre("a", "--b", "c"));
    EXPECT_THAT(commands_in("if [ $X ]; then A+=(--b c); fi\na \"${A[@]}\" --d").back(),
                ElementsAre("a", "${A[@]}", "--d"));
}

TEST(PastedLine, keeps_a_place_of_a_template_as_one_word_and_reads_doubled_backslashes) {
    EXPECT_THAT(commands_in("a --m {{ id }} --n {{n}}"),
                ElementsAre(ElementsAre("a", "--m", "{{ id }}", "--n", "{{n}}")));
    EXPECT_THAT(commands_in("a --b \\\\\n --c"), ElementsAre(ElementsAre("a", "--b", "--c")));
}

}  // namespace
}  // namespace paretoken::cli
