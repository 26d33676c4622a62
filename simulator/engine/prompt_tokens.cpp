#include "simulator/engine/prompt_tokens.h"

#include <fmt/format.h>

#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

void add_message(PromptTokens& tokens, std::string_view role, std::string_view content) {
    tokens.add_special(kTokensOfAnswerHeader, role);
    tokens.add_text(content);
    tokens.add_special(kTokensPerMessage - kTokensOfAnswerHeader, "end");
}

/// Returns the text of the messages, one per line, as a client sends a conversation to completions.
std::string lines_of(const Messages& messages) {
    std::string text;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i != 0) text += '\n';
        text += messages[i].content;
    }
    return text;
}

}  // namespace

std::string special_piece(std::string_view group, std::int64_t i) {
    return fmt::format("<|{}_{}|>", group, i);
}

PromptTokens::PromptTokens(std::int64_t vocabulary, std::int64_t block_tokens, std::uint64_t salt)
    : vocabulary_(vocabulary) {
    if (block_tokens > 0) hasher_.emplace(block_tokens, salt);
}

void PromptTokens::name(std::uint64_t token) {
    if (const auto name = hasher_->add(token)) blocks_.push_back(*name);
}

void PromptTokens::add_special(std::int64_t count, std::string_view name_of_group) {
    count_ += count;
    if (!hasher_) return;
    for (std::int64_t i = 0; i < count; ++i)
        name(static_cast<std::uint64_t>(token_id_of(special_piece(name_of_group, i), vocabulary_)));
}

void PromptTokens::add_text(std::string_view text) {
    if (!hasher_) {
        count_ += count_tokens(text);
        return;
    }
    while (!text.empty()) {
        const std::size_t length = first_piece(text);
        ++count_;
        name(static_cast<std::uint64_t>(token_id_of(text.substr(0, length), vocabulary_)));
        text.remove_prefix(length);
    }
}

void PromptTokens::add_id(std::int64_t id) {
    ++count_;
    if (hasher_) name(static_cast<std::uint64_t>(id));
}

PromptTokens prompt_tokens_of(const Prompt& prompt, bool chat, std::int64_t vocabulary,
                              std::int64_t block_tokens) {
    PromptTokens tokens(vocabulary, block_tokens);
    if (const auto* ids = std::get_if<TokenIds>(&prompt)) {
        for (const auto id : *ids) tokens.add_id(id);
        return tokens;
    }
    tokens.add_special(kTokensPerText, "begin");
    const auto* messages = std::get_if<Messages>(&prompt);
    if (messages != nullptr && chat) {
        for (const Message& message : *messages) add_message(tokens, message.role, message.content);
    } else if (messages != nullptr) {
        tokens.add_text(lines_of(*messages));
    } else if (chat) {
        add_message(tokens, "user", std::get<std::string>(prompt));
    } else {
        tokens.add_text(std::get<std::string>(prompt));
    }
    if (chat) tokens.add_special(kTokensOfAnswerHeader, "assistant");
    return tokens;
}

}  // namespace paretoken::sim
