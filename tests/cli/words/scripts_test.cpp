// Command lines of other tools inside scripts: loops, repeated lines, programs that start others.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/words/pasted_line.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "tests/support/message_of.h"

namespace paretoken::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Scripts, a_line_of_a_loop_says_how_it_is_to_be_run) {
    const auto notes = [](const std::string& line) {
        return fmt::format("{}", fmt::join(translation_of(commands_in(line)).notes, ";"));
    };
    EXPECT_THAT(
        notes("for n in 128 256; do\nvllm bench serve --model M --dataset-name random "
              "--random-input-len ${n} --max-concurrency 1\ndone"),
        HasSubstr("`paretoken sweep` with --grid isl=128,256 in place of --isl ${n} measures all levels"));
    EXPECT_THAT(notes("for c in $LEVELS; do\nn=$((c * 2))\nvllm bench serve --model M --dataset-name random "
                      "--max-concurrency $c --num-prompts $n\ndone"),
                HasSubstr("the line stays inside the loop, which sets c, n"));
    EXPECT_THAT(notes("for c in 1 2; do\nvllm bench serve --model M --max-concurrency $c\ndone\n"
                      "for f in a b; do echo $f; done"),
                HasSubstr("with --concurrency 1,2 in place of $c measures all levels"));
    EXPECT_THAT(notes("for c in 1 2; do echo $c; done\nvllm bench serve --model M --max-concurrency 3"),
                ::testing::Not(HasSubstr("loop")));
}

TEST(Scripts, loops_inside_loops_are_one_sweep) {
    const auto notes = [](const std::string& line) {
        return fmt::format("{}", fmt::join(translation_of(commands_in(line)).notes, ";"));
    };
    const std::string serve =
        "vllm bench serve --model M --dataset-name random --random-input-len ${i} --random-output-len ${o} ";
    const std::string loops =
        "for b in 16 32; do\nfor i in 512 8192; do\nfor o in {1..3}; do\nm=$((b * 2))\n";
    const std::string ends = "done\ndone\ndone";
    EXPECT_THAT(
        notes(loops + serve + "--max-concurrency ${m}\n" + ends),
        HasSubstr("--concurrency 32,64 --grid isl=512,8192 --grid osl=1,2,3 in place of ${m}, --isl ${i} "
                  "and --osl ${o} measures all levels of the loops"));
    EXPECT_THAT(notes(loops + serve + "--max-concurrency 4 --served-model-name $b\n" + ends),
                HasSubstr("measures all levels of the loops inside the one that sets b"));
    EXPECT_THAT(notes("for c in 1 2; do\nvllm bench serve --model M --max-concurrency $c --random-input-len "
                      "$c\ndone"),
                HasSubstr("the line stays inside the loop, which sets c"));
    EXPECT_THAT(notes("for r in 1 10; do\nn=$((120 * $r))\nvllm bench serve --model M --request-rate $r "
                      "--num-prompts $n --seed $r\ndone"),
                HasSubstr("--request-rate 1,10 --duration 120s in place of $r and --num-prompts, and without "
                          "--seed, measures all levels"));
    EXPECT_THAT(
        notes("for c in 1 2; do a; done\nfor c in 3 4; do\nvllm bench serve --max-concurrency $c\ndone"),
        HasSubstr("--concurrency 3,4 "));
    EXPECT_THAT(
        shown_line(translation_of(commands_in(
            "while read c; do vllm bench serve --max-concurrency $c --result-filename a.json; done < x"))),
        HasSubstr("--out \"a-${c}\""));
}

TEST(Scripts, lines_that_repeat_others_stay_lines_of_their_own) {
    std::vector<std::string> complaints;
    const std::string line =
        "vllm bench serve --model M --seed 7 --max-concurrency 3 --result-filename a.json\n";
    const auto same = translations_of(commands_in("# first\n" + line + "# second\n" + line), complaints);
    ASSERT_EQ(same.size(), 2);
    EXPECT_THAT(shown_line(same[0]), AllOf(HasSubstr("--out a "), HasSubstr("--salt again")));
    EXPECT_THAT(shown_line(same[1]), AllOf(HasSubstr("--out a-2"), HasSubstr("--salt again")));
    const auto other = translations_of(
        commands_in(line + "vllm bench serve --model M --seed 7 --max-concurrency 4"), complaints);
    ASSERT_EQ(other.size(), 2);
    EXPECT_THAT(fmt::format("{}", fmt::join(other[1].notes, ";")),
                HasSubstr("unless all these lines get --salt 7"));
    EXPECT_TRUE(complaints.empty());
}

TEST(Scripts, the_name_of_a_tool_is_none_of_its_commands) {
    for (const char* const line :
         {"kubectl wait --for=condition=complete job/inference-perf && kubectl logs jobs/inference-perf",
          "llmdbenchmark --spec gpu run -l inference-perf -w sanity_random.yaml",
          "docker stop guidellm --time 3", "docker run --name guidellm --rm image", "T=/opt/guidellm --x",
          "helm install guidellm --wait"})
        EXPECT_THAT(message_of<UsageError>([&] { translation_of(commands_in(line)); }),
                    HasSubstr("no known tool"))
            << line;
    for (const char* const line :
         {"timeout 60 guidellm --target http://h", "sudo -E guidellm --target http://h",
          "A=b srun -n 1 guidellm --target http://h", "kubectl exec -it pod -- guidellm --target http://h",
          "uv run --with guidellm guidellm --target http://h",
          "docker run --rm ghcr.io/x/guidellm:v1 --target http://h"})
        EXPECT_THAT(shown_line(translation_of(commands_in(line))),
                    HasSubstr("sweep http://h --request-rate auto:10"))
            << line;
}

}  // namespace
}  // namespace paretoken::cli
