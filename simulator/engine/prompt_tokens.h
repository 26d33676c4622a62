#pragma once
// The tokens of a prompt as the simulated server sees them: how many, and the names of its full blocks for
// the prefix cache. Pure. What the wire says and what a virtual run reads go through the same three calls.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "simulator/engine/prefix_cache.h"

namespace paretoken::sim {

/// Token i of a group of the chat template's: "<|begin_0|>".
std::string special_piece(std::string_view group, std::int64_t i);

class PromptTokens {
  public:
    /// `block_tokens` 0: there is no prefix cache, and nothing is named.
    PromptTokens(std::int64_t vocabulary, std::int64_t block_tokens, std::uint64_t salt = 0);

    void add_special(std::int64_t count, std::string_view name);  ///< tokens of the chat template
    void add_text(std::string_view text);
    void add_id(std::int64_t id);

    std::int64_t count() const { return count_; }
    const std::vector<std::uint64_t>& blocks() const { return blocks_; }
    const std::optional<BlockHasher>& hasher() const { return hasher_; }

  private:
    void name(std::uint64_t token);

    std::int64_t vocabulary_;
    std::int64_t count_ = 0;
    std::optional<BlockHasher> hasher_;
    std::vector<std::uint64_t> blocks_;
};

/// `prompt` with what a chat's template or a completion's start adds.
PromptTokens prompt_tokens_of(const Prompt& prompt, bool chat, std::int64_t vocabulary,
                              std::int64_t block_tokens);

}  // namespace paretoken::sim
