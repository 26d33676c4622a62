#include "simulator/answers/answer_plan.h"

#include <gtest/gtest.h>

#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

TEST(AnswerPlan, PartsFollowOneAnother) {
    const AnswerPlan plan{.seed = 1, .tokens = 6, .reasoning_tokens = 2, .tool = "look"};
    const Part parts[] = {Part::reasoning,      Part::reasoning,      Part::tool_name,
                          Part::tool_arguments, Part::tool_arguments, Part::tool_arguments};
    for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(part_of(plan, k), parts[k]) << k;
    EXPECT_EQ(part_of({.tokens = 3, .reasoning_tokens = 2}, 2), Part::content);
}

TEST(AnswerPlan, APartEndsWhereAnotherBegins) {
    const AnswerPlan plan{.seed = 1, .tokens = 6, .reasoning_tokens = 2, .tool = "look"};
    const std::int64_t ends[] = {2, 2, 3, 6, 6, 6};
    for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(end_of_part(plan, k, 6), ends[k]) << k;
    EXPECT_EQ(end_of_part(plan, 0, 1), 1);
}

TEST(AnswerPlan, TheTextOfATokenIsOneTokenUnlessItIsAToolsName) {
    const AnswerPlan plan{.seed = 1, .tokens = 50, .reasoning_tokens = 20};
    std::string text;
    for (std::int64_t k = 0; k < plan.tokens; ++k) text += piece_of(plan, k);
    EXPECT_EQ(count_tokens(text), plan.tokens);
}

TEST(AnswerPlan, ArgumentsAreAnObjectHoweverFewTokensTheyHave) {
    const auto arguments = [](std::int64_t tokens) {
        const AnswerPlan plan{.seed = 1, .tokens = tokens, .tool = "look"};
        std::string text;
        for (std::int64_t k = 1; k < tokens; ++k) text += piece_of(plan, k);
        return text;
    };
    EXPECT_EQ(arguments(1), "");
    EXPECT_EQ(arguments(2), "{}");
    EXPECT_EQ(arguments(3), R"({"text": ""})");
    EXPECT_TRUE(arguments(5).starts_with(R"({"text": ")"));
    EXPECT_TRUE(arguments(5).ends_with(R"("})"));
}

TEST(AnswerPlan, TextIsEscapedForJson) {
    std::string out;
    append_escaped_text(out, {.seed = 1, .tokens = 3, .tool = "l\"k"}, 0, 2);
    EXPECT_EQ(out, R"(l\"k{\"text\": \")");
}

}  // namespace
}  // namespace paretoken::sim
