#include "core/text/model_name.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace paretoken {
namespace {

using Pair = std::pair<const char*, const char*>;  // asked, answered

TEST(ModelName, of_an_answer_may_have_a_date_or_a_version_more_and_a_vendor_less) {
    for (const auto& [asked, answered] : std::array{
             Pair{"gpt-4o", "gpt-4o-2024-08-06"}, Pair{"gpt-35-turbo", "gpt-3.5-turbo-0125"},
             Pair{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct"},
             Pair{"claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"},
             Pair{"claude-sonnet-4-0", "claude-sonnet-4-20250514"},
             Pair{"us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-20250514"},
             Pair{"gpt-4o-mini", "gpt-4o-mini-2024-07-18"}, Pair{"llama3.2", "llama3.2:1b-instruct-q4_K_M"}})
        EXPECT_TRUE(may_be_model(asked, answered)) << asked << " " << answered;
}

TEST(ModelName, of_an_answer_tells_another_model) {
    for (const auto& [asked, answered] : std::array{
             Pair{"gpt-4o", "gpt-4o-mini"}, Pair{"gpt-4o", "gpt-4o-mini-2024-07-18"}, Pair{"gpt-4", "gpt-5"},
             Pair{"large", "tiny"}, Pair{"model.gguf", "other.gguf"}, Pair{"gpt-4-0613", "gpt-4-1106"},
             Pair{"claude-sonnet-4-0", "claude-opus-4-20250514"}, Pair{"gemini-2.5-pro", "gemini-2.5-flash"}})
        EXPECT_FALSE(may_be_model(asked, answered)) << asked << " " << answered;
}

}  // namespace
}  // namespace paretoken
