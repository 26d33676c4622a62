#pragma once
// Counts the tokens of a prompt for the simulated server, and names its full blocks for the prefix cache.
// Prompts from the wire and of a virtual run are added by the same three functions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "simulator/engine/prefix_cache.h"

namespace paretoken::sim {

/// Returns token i of a group of the chat template: "<|begin_0|>".
std::string special_piece(std::string_view group, std::int64_t i);

class PromptTokens {
  public:
    /// `block_tokens`: tokens per block; 0: there is no prefix cache, so blocks get no names.
    PromptTokens(std::int64_t vocabulary, std::int64_t block_tokens, std::uint64_t salt = 0);

    /// Adds `count` tokens of a group of the chat template, special_piece(name, 0) and the following ones.
    void add_special(std::int64_t count, std::string_view name);
    void add_text(std::string_view text);
    void add_id(std::int64_t id);

    std::int64_t count() const { return count_; }
    const std::vector<std::uint64_t>& blocks() const { return blocks_; }  ///< names of the full blocks
    /// Returns the hasher after the last token; nothing without a prefix cache.
    const std::optional<BlockHasher>& hasher() const { return hasher_; }

  private:
    void name(std::uint64_t token);

    std::int64_t vocabulary_;
    std::int64_t count_ = 0;
    std::optional<BlockHasher> hasher_;
    std::vector<std::uint64_t> blocks_;
};

/// Returns the tokens of `prompt` with those of a chat's template or a completion's start (none for token
/// ids). A text is one message of a chat; messages are one text with a line each.
PromptTokens prompt_tokens_of(const Prompt& prompt, bool chat, std::int64_t vocabulary,
                              std::int64_t block_tokens);

}  // namespace paretoken::sim
