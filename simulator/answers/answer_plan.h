#pragma once
// The content of an answer, token by token: first reasoning, then text or the call of a tool. The functions
// are pure: what they return depends only on the plan and the numbers of the tokens.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::sim {

enum class Part : std::uint8_t { reasoning, content, tool_name, tool_arguments };

struct AnswerPlan {
    std::uint64_t seed = 0;
    std::int64_t tokens = 0;            ///< length of the answer, reasoning included
    std::int64_t reasoning_tokens = 0;  ///< number of reasoning tokens, which come first
    std::string tool = {};  ///< name of the tool to call after the reasoning; empty means that text follows
    std::string_view finish_reason = "length";  ///< or "stop", "tool_calls"
    /// The texts of the tokens after the reasoning, in turn; empty: random words, by which the prefix cache
    /// names an answer's blocks in any case, so that later prompts do not find them with `pieces`.
    std::vector<std::string> pieces = {};

    bool operator==(const AnswerPlan&) const = default;
};

/// Returns the part of the answer that token k, counted from 0, belongs to.
Part part_of(const AnswerPlan& plan, std::int64_t k);

/// Returns the end of the tokens from `first` on that belong to one part; at most `end`.
std::int64_t end_of_part(const AnswerPlan& plan, std::int64_t first, std::int64_t end);

/// Returns the text of token k. The arguments of a tool, joined, are a JSON object.
std::string_view piece_of(const AnswerPlan& plan, std::int64_t k);

/// Appends tokens [first, end) with the escapes of a JSON string.
void append_escaped_text(std::string& out, const AnswerPlan& plan, std::int64_t first, std::int64_t end);

}  // namespace paretoken::sim
