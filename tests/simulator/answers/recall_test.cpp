#include "simulator/answers/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "simulator/answers/wire.h"

namespace paretoken::sim {
namespace {

TEST(Recalled, IsTheFirstNumberBehindTheNameThatIsAskedFor) {
    EXPECT_EQ(recalled_from(R"(The code of "a" is 17. The code of "b" is 18. What is the code of "a"?)"),
              "17");
    EXPECT_EQ(recalled_from(R"("b" is 18 and 19; "b"?)"), "18");
}

TEST(Recalled, IsNothingWhereThePromptDoesNotSayIt) {
    EXPECT_EQ(recalled_from(""), "");
    EXPECT_EQ(recalled_from("no quotes, 12"), "");
    EXPECT_EQ(recalled_from("\""), "");
    EXPECT_EQ(recalled_from(R"(What is "a"? It is 4.)"), "") << "a number behind the question is no answer";
    EXPECT_EQ(recalled_from(R"("a" is there. What is "a"? 4)"), "");
}

std::string said(const Profile& profile, bool ignore_eos, std::string_view prompt) {
    const ServedModel model{.name = "m",
                            .context_limit = 4096,
                            .vocabulary = 5000,
                            .recalls = profile.answers == Answers::recall};
    const auto request = std::get<GenerationRequest>(
        parse_generation(Endpoint::chat,
                         std::string(R"({"messages":[{"role":"user","content":")") + std::string(prompt) +
                             R"("}],"max_tokens":40,"ignore_eos":)" + (ignore_eos ? "true}" : "false}"),
                         model));
    const AnswerPlan plan = answer_plan(request, profile, 7);
    std::string text;
    for (std::int64_t k = 0; k < plan.tokens; ++k) text += piece_of(plan, k);
    return text;
}

TEST(Answers, OfAServerThatRecallsAreTheValueAndEndThere) {
    const std::string prompt = R"(The code of \"x\" is 618034. What is the code of \"x\"?)";
    EXPECT_EQ(said(profile_named("ideal?answers=recall"), false, prompt), "618034");
    EXPECT_NE(said(profile_named("ideal"), false, prompt), "618034");
    const std::string garbage = said(profile_named("ideal?answers=garbage"), true, prompt);
    EXPECT_EQ(garbage.substr(0, 12), " the the the");
    EXPECT_EQ(garbage.size(), 40 * 4U);
}

TEST(Answers, OfAServerThatRecallsAreWordsWhereNothingIsAsked) {
    EXPECT_EQ(said(profile_named("ideal?answers=recall"), true, "tell me a story"),
              said(profile_named("ideal"), true, "tell me a story"));
}

TEST(Answers, OfAnUnknownKindAreRefused) {
    EXPECT_THROW(profile_named("ideal?answers=poems"), UsageError);
    EXPECT_THROW(profile_named("ideal?answers=1"), UsageError);
}

}  // namespace
}  // namespace paretoken::sim
