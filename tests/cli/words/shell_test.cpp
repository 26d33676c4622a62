// What a script's own commands say of its variables: computations, loops that count, functions, conditions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/words/pasted_line.h"
#include "cli/words/shell/arithmetic.h"
#include "cli/words/translation.h"

namespace paretoken::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> last_command(const std::string& text) {
    return commands_in(text).back();
}

TEST(Shell, computes_with_whole_numbers) {
    const auto value = [](const std::string& text) {
        return value_of_computation(text, [](const std::string& name) {
            return name == "n" ? std::optional<std::string>("3") : std::nullopt;
        });
    };
    EXPECT_EQ(value("4000 * 0 / 100"), 0);
    EXPECT_EQ(value("n * 12 < 48 ? 48 : n * 12"), 48);
    EXPECT_EQ(value("(n + 1) % 3 >= 1"), 1);
    EXPECT_EQ(value("$n - ${n}"), 0);
    for (const char* const text : {"m", "1 / 0", "9999999999", "08", "1 +", "n ? 1"})
        EXPECT_EQ(value(text), std::nullopt) << text;
    EXPECT_EQ(value(std::string(100000, '(')), std::nullopt);
    EXPECT_THAT(assignments_in_computation("n *= 2, i++, j = (1, 2)"),
                ElementsAre("n=$((n*(2)))", "i=$((i+1))", "j=$(((1, 2)))"));
    EXPECT_THAT(assignments_in_computation("n <= 8, m == 2, f(x)"), IsEmpty());
}

TEST(Shell, a_variable_that_something_else_sets_has_no_known_value) {
    for (const char* const set :
         {"read N", "read -p \"how many? \" N", "mapfile -t N < f", "printf -v N %d 5", "eval \"N=$(b)\"",
          "((N *= M))", "let N=M", "test \"$B\" && N=1 || N=5", "[ -f x ] || N=5", "grep -q x f || N=5",
          "[ -f x ] || { b; N=5; }", "f() { N=500; while [ $# -gt 0 ]; do shift; done; }",
          "while read N; do b; done", "for ((N = 1; N < M; N++)); do b; done", "declare -i N=$(nproc)"})
        EXPECT_THAT(last_command(fmt::format("N=10\n{}\na $N", set)), ElementsAre("a", "$N")) << set;
    EXPECT_THAT(last_command("N=10\nwhile [ $N -le 64 ]; do b; ((N *= 2)); done\na $N"),
                ElementsAre("a", "$N"));
}

TEST(Shell, a_variable_that_the_text_decides_has_its_value) {
    EXPECT_THAT(last_command("N=10\n((N *= 2))\nlet N=N+1\na $N"), ElementsAre("a", "21"));
    EXPECT_THAT(last_command("B=1\ntest -n \"$B\" && N=1 || N=5\na $N"), ElementsAre("a", "1"));
    EXPECT_THAT(last_command("B=\ntest -n \"$B\" && N=1 || N=5\na $N"), ElementsAre("a", "5"));
    EXPECT_THAT(last_command("N=10\nif ((N > 5)); then M=1; else M=2; fi\na $M"), ElementsAre("a", "1"));
    EXPECT_THAT(last_command("cd x && N=5\na $N"), ElementsAre("a", "5"));
    EXPECT_THAT(commands_in("M=4; for c in 1 2; do N=$((2 * M)); a $N; N=$((2 * M)); done")[3],
                ElementsAre("a", "8"));
    EXPECT_THAT(last_command("declare -i N=7\na $N"), ElementsAre("a", "7"));
}

TEST(Shell, a_call_of_a_function_is_its_commands_with_the_arguments) {
    EXPECT_THAT(last_command("f() { N=500; }\nN=10\nf\na $N"), ElementsAre("a", "500"));
    EXPECT_THAT(
        commands_in("f() {\n  local l=\"$1\"; shift\n  a --l \"$l\" \"$@\" ${9:-x}\n}\nf \"b c\" --n 2"),
        ElementsAre(ElementsAre("local", "l=b c"), ElementsAre("a", "--l", "b c", "--n", "2", "x")));
    EXPECT_THAT(last_command("f() { a ${C:-4} $1; }\nC=8 f x"), ElementsAre("a", "8", "x"));
    EXPECT_THAT(commands_in("function f () {\n  g $1\n}\ng() { a $(($1 * 2)); }\nf 2; f 4"),
                ElementsAre(ElementsAre("a", "4"), ElementsAre("a", "8")));
    EXPECT_THAT(commands_in("f() { a $1; }\nfor c in 1 2; do f $c; done"),
                ElementsAre(ElementsAre("for", "c", "in", "1", "2"), ElementsAre("do"),
                            ElementsAre("a", "$c"), ElementsAre("done")));
    EXPECT_THAT(last_command("f() { a $1; }\nf \"$@\""), ElementsAre("a", "$1")) << "any number of arguments";
    EXPECT_THAT(last_command("f() { a $1 \"$@\"; }\nmain \"$@\"")[0], "main") << "f is not called";
    EXPECT_THAT(commands_in("f() { f; a; }\nf").size(), ::testing::Lt(20)) << "one that calls itself ends";
}

TEST(Shell, a_loop_that_counts_is_a_sweep_over_its_values) {
    const auto notes = [](const std::string& before, const std::string& after) {
        return fmt::format(
            "{}", fmt::join(translation_of(commands_in(fmt::format(
                                               "{}\nvllm bench serve --model M --dataset-name random "
                                               "--max-concurrency $c --num-prompts 40 --ignore-eos\n{}\ndone",
                                               before, after)))
                                .notes,
                            ";"));
    };
    for (const auto& [before, after] :
         {std::pair{"for ((c = 1; c <= 8; c *= 2)); do", ""},
          std::pair{"c=1\nwhile (( c <= 8 )); do", "((c*=2))"},
          std::pair{"c=1\nwhile [ $c -le 8 ]; do", "let c=c*2"},
          std::pair{"MOST=8\nc=1\nuntil [[ $c -gt $MOST ]]; do", "c=$((c * 2))"}})
        EXPECT_THAT(notes(before, after), HasSubstr("with --concurrency 1,2,4,8 in place of $c measures all"))
            << before;
    for (const auto& [before, after] :
         {std::pair{"for ((c = 1; c <= N; c++)); do", ""},
          std::pair{"c=1\nwhile (( c <= 8 )); do", "((c*=1))"}, std::pair{"c=1\nwhile b; do", "((c*=2))"},
          std::pair{"c=1\nwhile (( c <= 8 )); do", "if b; then ((c*=2)); fi"},
          std::pair{"c=1\nwhile (( c <= 8 )); do\n((c*=2))", ""}})
        EXPECT_THAT(notes(before, after), HasSubstr("the line stays inside the loop, which sets c"))
            << before;
}

TEST(Shell, loops_that_count_inside_each_other_are_one_sweep) {
    const Translation translation = translation_of(
        commands_in("for ((i = 128; i <= 512; i *= 2)); do\nc=1\nwhile [ $c -le 4 ]; do\nvllm bench serve "
                    "--model M --dataset-name random --random-input-len $i --max-concurrency $c "
                    "--num-prompts $((c * 10))\nc=$((c * 2))\ndone\ndone"));
    EXPECT_THAT(fmt::format("{}", fmt::join(translation.notes, ";")),
                HasSubstr("with --concurrency 1,2,4 --grid isl=128,256,512 in place of $c and --isl $i, and "
                          "without --num-prompts, measures all levels of the loops"));
}

TEST(Shell, a_line_goes_on_behind_a_comment_and_a_computation_is_one_word) {
    EXPECT_THAT(commands_in("a --b \\    # why\n  -- \\\n  -H \"c: d\""),
                ElementsAre(ElementsAre("a", "--b", "--", "-H", "c: d")));
    EXPECT_THAT(commands_in("while (( n <= 8 )); do a; done")[0], ElementsAre("while", "(( n <= 8 ))"));
    EXPECT_THAT(commands_in("((a --b); (c))"), ElementsAre(ElementsAre("a", "--b"), ElementsAre("c")));
}

}  // namespace
}  // namespace paretoken::cli
