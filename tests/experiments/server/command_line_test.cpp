#include "experiments/server/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/plan/plan_arguments.h"

namespace paretoken::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string refusal_of(std::string_view line) {
    try {
        words_of(line);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(WordsOf, splits_as_a_shell_does) {
    EXPECT_THAT(words_of("  a  'b c'  \"d \\\"e\\\" f\"g\\ h ''\tx=1"),
                ElementsAre("a", "b c", "d \"e\" fg h", "", "x=1"));
    EXPECT_THAT(words_of("serve --config '{\"a\": \"$HOME | x\"}' 5$"),
                ElementsAre("serve", "--config", "{\"a\": \"$HOME | x\"}", "5$"));
    EXPECT_THAT(words_of("./my=server"), ElementsAre("./my=server"));
}

TEST(WordsOf, refuses_what_only_a_shell_can_do) {
    EXPECT_THAT(refusal_of("serve 'x"), HasSubstr("quote ' does not end"));
    EXPECT_THAT(refusal_of("  "), HasSubstr("empty"));
    EXPECT_THAT(refusal_of("serve \\"), HasSubstr("backslash"));
    for (const char* line : {"serve | tee log", "serve; rm x", "serve &", "serve > log", "serve `date`",
                             "serve $HOME/x", "serve \"${X}\"", "X=1 serve"})
        EXPECT_THAT(refusal_of(line), HasSubstr("sh -c")) << line;
}

TEST(ShellLine, is_taken_apart_into_the_same_words) {
    const std::vector<std::string> words = {"a b", "$HOME", "{\"x\": 1}", "it's", "\\",
                                            "\"",  "*",     "{port}",     ""};
    EXPECT_EQ(words_of(shell_line(words)), words);
}

TEST(Placeholders, are_names_in_braces_and_nothing_else_is) {
    EXPECT_THAT(placeholders_in("x --port {port} -t{threads} {max_num_seqs}"),
                UnorderedElementsAre("port", "threads", "max_num_seqs"));
    EXPECT_THAT(placeholders_in("{} {{name}} {\"a\":1} {1x} {a-b} {open"), ::testing::IsEmpty());
    ServerLaunch server{.command = "x {port} {a}", .environment = {"K={b}"}, .ready_url = "/r{c}"};
    server.after_run_command = "y {d}";
    EXPECT_THAT(placeholders_of(server), UnorderedElementsAre("a", "b", "c", "d"));
}

TEST(Placeholders, are_replaced_by_a_value_that_stays_one_word) {
    EXPECT_EQ(command_with_values("serve --port {port} -t {t} '{x}'", {{"t", "a b"}, {"x", "$(id)"}}),
              "serve --port '{port}' -t 'a b' '$(id)'");
    EXPECT_EQ(command_with_values("serve   \"as it was\"", {{"t", "1"}}), "serve   \"as it was\"");
    const ServerLaunch filled =
        with_values({.command = "s {n}", .environment = {"N={n}", "M={m}"}}, {{"n", "2"}});
    EXPECT_EQ(filled.command, "s 2");
    EXPECT_THAT(filled.environment, ElementsAre("N=2", "M={m}"));
}

}  // namespace
}  // namespace paretoken::experiments
