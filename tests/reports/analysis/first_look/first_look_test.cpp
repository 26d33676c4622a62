#include "reports/analysis/first_look/first_look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "reports/document/table.h"
#include "tests/reports/sample_report.h"

namespace paretoken::reports {
namespace {

SpeedOfCrowd crowd(std::uint64_t people, double answer_s) {
    return {.people = people, .answer_s = answer_s, .tok_per_s = {}};
}

FirstLook sample() {
    return {.server = "llama.cpp at http://127.0.0.1:8080",
            .model = "small.gguf",
            .depths = {{.prompt_tokens = 128,
                        .answer_tokens = 128,
                        .first_token_s = .4,
                        .prompt_tok_per_s = 320,
                        .generation_tok_per_s = 80}},
            .crowds = {crowd(1, 2), crowd(2, 3), crowd(4, 6)},
            .memory = MemoryBound{"AMD EPYC", 20e9, 100e6},
            .next = "paretoken sweep http://127.0.0.1:8080 --concurrency 1..4",
            .page = "runs/x/report.html"};
}

TEST(FirstLook, SaysThatMemoryAndCachesTogetherReadTheFigure) {
    EXPECT_NE(first_look_text(sample(), 1000)
                  .find("The memory of AMD EPYC, together with its caches, reads 20.0 GB/s"),
              std::string::npos);
}

TEST(FirstLook, TheSpeedOfAPromptLeavesOutWhatWasCached) {
    RunResult run = sample::run(1);
    run.metrics.clear();
    run.metrics.push_back(sample::metric("ttft_s", .5, 4));
    run.metrics.push_back(sample::metric("tpot_s", .02, 4));
    run.metrics.back().mean = .1;  // one slow answer does not count
    const std::vector<std::pair<std::string, double>> means = {{"input_tokens_tok", 512},
                                                               {"cache_hit_ratio", .25}};
    for (const auto& [key, mean] : means) {
        run.metrics.push_back(sample::metric(key, mean, 4));
        run.metrics.back().mean = mean;
    }
    const SpeedAtDepth speed = speed_at_depth(run, 512, 128);
    EXPECT_DOUBLE_EQ(*speed.first_token_s, .5);
    EXPECT_DOUBLE_EQ(*speed.prompt_tok_per_s, 512 * .75 / .5);
    EXPECT_DOUBLE_EQ(*speed.generation_tok_per_s, 50);
    run.validity.reasons = {{.severity = Verdict::warn, .check = "bunched_stream", .text = ""}};
    EXPECT_FALSE(speed_at_depth(run, 512, 128).prompt_tok_per_s) << "the first token came with the last";
}

TEST(FirstLook, AnswersOfAnotherLengthThanAskedForHaveTheirOwn) {
    RunResult run = sample::run(1);
    run.metrics = {sample::metric("output_tokens_tok", 50, 4)};
    run.metrics.back().mean = 50;
    EXPECT_EQ(speed_at_depth(run, 512, 128).answer_tokens, 50u);
    EXPECT_EQ(speed_at_depth(run, 512, 52).answer_tokens, 52u);
}

TEST(FirstLook, ToldDoubtsAreThoseThatDoNotComeFromTheShortness) {
    RunResult run = sample::run(1);
    run.validity.reasons = {
        {.severity = Verdict::invalid, .check = "no_steady_state", .text = "The run is short."},
        {.severity = Verdict::invalid, .check = "output_length", .text = "Answers are 53 % off."},
        {.severity = Verdict::warn, .check = "hiccups", .text = "The host paused."},
        {.severity = Verdict::warn, .check = "disputed_counts", .text = "Tokens are estimated."}};
    FirstLook look = sample();
    add_doubts(run, look);
    EXPECT_EQ(look.doubts,
              (std::map<std::string, std::string>{{"output_length", "Answers are 53 % off."},
                                                  {"disputed_counts", "Tokens are estimated."}}));
    EXPECT_NE(first_look_text(look).find("doubt"), std::string::npos);
}

TEST(FirstLook, ACrowdWhoseRequestsFailHasNoTimeOfAnAnswer) {
    RunResult run = sample::run(8);
    run.counts.requests = 100;
    run.counts.failed = 10;
    EXPECT_TRUE(speed_of_crowd(run, 8).answer_s.has_value());
    run.counts.failed = 11;
    const SpeedOfCrowd failing = speed_of_crowd(run, 8);
    EXPECT_FALSE(failing.answer_s.has_value());
    EXPECT_TRUE(is_slowed_to_half(crowd(1, 1), failing));
}

TEST(FirstLook, HalfSpeedIsInterpolatedBetweenTheLevelsAroundIt) {
    const std::vector<SpeedOfCrowd> exact = {crowd(1, 1), crowd(2, 1), crowd(4, 2)};
    EXPECT_DOUBLE_EQ(*people_at_half_speed(exact), 4);
    // Time proportional to the number of people: half speed is reached at two.
    const std::vector<SpeedOfCrowd> straight = {crowd(1, 1), crowd(4, 4)};
    EXPECT_NEAR(*people_at_half_speed(straight), 2, 1e-9);
    EXPECT_FALSE(people_at_half_speed(std::vector{crowd(1, 1), crowd(2, 1.9)}));
    const std::vector<SpeedOfCrowd> failing = {crowd(1, 1), crowd(2, 1.5), {.people = 4}};
    EXPECT_DOUBLE_EQ(*people_at_half_speed(failing), 2);
}

TEST(FirstLook, HalfSpeedLiesBetweenTheLevelsForAnyTimes) {
    for (int low = 10; low < 20; ++low)
        for (int high = 20; high < 60; ++high) {
            const auto half =
                people_at_half_speed(std::vector{crowd(1, 1), crowd(3, low / 10.), crowd(12, high / 10.)});
            ASSERT_TRUE(half);
            EXPECT_GE(*half, 3);
            EXPECT_LE(*half, 12);
        }
}

TEST(FirstLook, TheTitleSaysWhatWasFound) {
    EXPECT_EQ(
        first_look_title(sample()),
        "The first word comes in 400 ms, then 80.0 tokens per second; up to about 2 people at once each "
        "get at least half of that");
    EXPECT_EQ(first_look_title({.server = "s", .model = "m", .depths = {{}}}), "A first look at s");
}

TEST(FirstLook, TheAccountSaysEveryPartInLinesOfTheWidth) {
    const std::string text = first_look_text(sample());
    for (const char* const said :
         {"first word comes in 400 ms", "80.0 tokens per second", "pp128", "tg128 @ d128",
          "Up to about 2 people", "with 4, an answer takes 6.0 s", "at most 200 tokens", "40 % of that",
          "paretoken sweep http://127.0.0.1:8080 --concurrency 1..4", "runs/x/report.html"}) {
        std::string joined = text;
        for (std::size_t at; (at = joined.find("\n              ")) != std::string::npos;)
            joined.replace(at, 15, " ");
        EXPECT_NE(joined.find(said), std::string::npos) << said << "\n" << text;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(FirstLook, TheFirstTokenOfAnAnswerIsInItsTimeToFirstToken) {
    FirstLook look = sample();
    look.depths.front().answer_tokens = 9;
    EXPECT_NE(first_look_text(look).find("9 tokens takes 500 ms"), std::string::npos)
        << first_look_text(look);
}

TEST(FirstLook, TheAccountSaysWhatIsMissing) {
    FirstLook look = sample();
    look.memory = {};
    look.no_memory = "The size of the model is not known.";
    look.crowds = {crowd(1, 2), crowd(2, 2.1)};
    look.out_of_time = true;
    const std::string text = first_look_text(look);
    EXPECT_NE(text.find("The size of the model is not known."), std::string::npos) << text;
    EXPECT_NE(text.find("With 2 people at once"), std::string::npos) << text;
    EXPECT_NE(text.find("the time allowed no"), std::string::npos) << text;
    look.crowds = {crowd(1, 2), crowd(2, 6)};
    EXPECT_NE(first_look_text(look, 1000).find("With 2 people at once each gets less than half the speed"),
              std::string::npos);
    look.memory = sample().memory;
    look.depths.front().generation_tok_per_s = {};
    EXPECT_NE(first_look_text(look).find("no streamed answer"), std::string::npos);
    EXPECT_NE(first_look_text(look, 1000).find("No speed of generation was measured"), std::string::npos);
}

TEST(FirstLook, ControlCharactersOfAServerAreNotPrinted) {
    FirstLook look = sample();
    look.model = "evil\x1b[2J";
    EXPECT_EQ(first_look_text(look).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace paretoken::reports
