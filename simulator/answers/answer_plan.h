#pragma once
// The content of an answer, token by token: its reasoning first, then text, or the call of a tool. Pure: a
// function of the plan and the token's number.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::sim {

enum class Part : std::uint8_t { reasoning, content, tool_name, tool_arguments };

struct AnswerPlan {
    std::uint64_t seed = 0;
    std::int64_t tokens = 0;
    std::int64_t reasoning_tokens = 0;          ///< the first of them
    std::string tool = {};                      ///< called by the rest of them; empty: the rest is text
    std::string_view finish_reason = "length";  ///< "stop", "tool_calls"
    /// The text that the answer repeats; empty: random words. A prompt that repeats such an answer finds
    /// no block of it in the prefix cache, which names an answer's tokens by random words.
    std::vector<std::string> pieces = {};

    bool operator==(const AnswerPlan&) const = default;
};

Part part_of(const AnswerPlan& plan, std::int64_t k);

/// The text of token k. The arguments of a tool, joined, are a JSON object.
std::string_view piece_of(const AnswerPlan& plan, std::int64_t k);

/// Tokens [first, end) as they stand in a JSON string.
void append_escaped_text(std::string& out, const AnswerPlan& plan, std::int64_t first, std::int64_t end);

}  // namespace paretoken::sim
