#include "simulator/engine/prompt_tokens.h"

#include <gtest/gtest.h>

namespace paretoken::sim {
namespace {

constexpr std::int64_t kTokenIds = 32'000;

TEST(PromptTokens, of_a_conversation_for_completions_are_those_of_its_lines) {
    const Prompt conversation = Messages{{"user", "What is a token?"}, {"assistant", "A piece of text."}};
    const Prompt lines = "What is a token?\nA piece of text.";
    const auto of_messages = prompt_tokens_of(conversation, false, kTokenIds, 4);
    const auto of_text = prompt_tokens_of(lines, false, kTokenIds, 4);
    EXPECT_EQ(of_messages.count(), of_text.count());
    EXPECT_EQ(of_messages.blocks(), of_text.blocks());
    EXPECT_GT(prompt_tokens_of(conversation, true, kTokenIds, 4).count(), of_text.count())
        << "a chat's template adds tokens";
}

}  // namespace
}  // namespace paretoken::sim
