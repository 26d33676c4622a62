#include "datasets/files/conversation_index.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kMostTurns = std::numeric_limits<std::uint16_t>::max();

bool has_token_ids(const Row& row) {
    return row.prompt && std::holds_alternative<TokenIds>(*row.prompt);
}

}  // namespace

Messages messages_of(Prompt prompt) {
    if (auto* messages = std::get_if<Messages>(&prompt)) return std::move(*messages);
    return {{.role = "user", .content = std::move(std::get<std::string>(prompt))}};
}

std::size_t recorded_replies(const Messages& messages) {
    std::size_t count = 0;
    while (count < messages.size() && messages[count].role == "assistant") ++count;
    return count;
}

void ConversationIndex::add(const Row& row, bool with_replies, const RowPlace& place) {
    if (rows_ == std::numeric_limits<std::uint32_t>::max()) place.refuse("there are more than 4G rows");
    if (row.conversation.empty()) {
        open(row, place);
    } else {
        if (has_token_ids(row)) place.refuse("a conversation is made of texts or messages, not of token ids");
        const auto found = open_.find(row.conversation);
        if (found != open_.end()) {
            go_on(row, found->second, with_replies, place);
        } else {
            const bool answers = row.prompt && recorded_replies(messages_of(*row.prompt)) > 0;
            if (row.turn.value_or(0) > 0 || answers)
                place.refuse(fmt::format("a follow-up of conversation '{}' without an opening before it",
                                         row.conversation));
            open_.emplace(row.conversation, Open{static_cast<std::uint32_t>(conversations_),
                                                 static_cast<std::uint32_t>(rows_)});
            open(row, place);
        }
    }
    ++rows_;
    if (!next_.empty()) next_.resize(rows_);
}

void ConversationIndex::open(const Row& row, const RowPlace& place) {
    if (!openings_.empty()) openings_.push_back(static_cast<std::uint32_t>(rows_));
    ++conversations_;
    if (!turns_.empty()) turns_.push_back(1);
    if (!row.further.empty()) count_turns(conversations_ - 1, 1 + row.further.size(), place);
}

void ConversationIndex::go_on(const Row& row, Open& open, bool with_replies, const RowPlace& place) {
    const std::size_t turn = turns(open.conversation);
    if (row.turn && *row.turn != static_cast<std::int64_t>(turn))
        place.refuse(fmt::format("turn {} of conversation '{}' comes where its turn {} is due", *row.turn,
                                 row.conversation, turn));
    const Messages messages = messages_of(*row.prompt);
    const std::size_t replies = recorded_replies(messages);
    if (replies == messages.size())
        place.refuse(fmt::format("a follow-up of conversation '{}' without a message of the user's",
                                 row.conversation));
    if (with_replies && replies == 0)
        place.refuse(
            "--replies recorded: the row does not begin with the assistant's message, the reply to the turn "
            "before");
    if (openings_.empty()) {
        openings_.resize(conversations_);
        std::iota(openings_.begin(), openings_.end(), 0U);
        next_.resize(rows_);
    }
    next_.at(open.last_row) = static_cast<std::uint32_t>(rows_);
    open.last_row = static_cast<std::uint32_t>(rows_);
    count_turns(open.conversation, turn + 1, place);
}

void ConversationIndex::count_turns(std::size_t conversation, std::size_t turns, const RowPlace& place) {
    if (turns > kMostTurns) place.refuse(fmt::format("a conversation has more than {} turns", kMostTurns));
    if (turns_.empty()) turns_.resize(conversations_, 1);
    turns_[conversation] = static_cast<std::uint16_t>(turns);
}

std::uint32_t ConversationIndex::turns(std::size_t conversation) const {
    return turns_.empty() ? 1 : turns_[conversation];
}

std::size_t ConversationIndex::row_of(std::size_t conversation, std::uint32_t turn) const {
    if (openings_.empty()) return conversation;
    std::size_t row = openings_[conversation];
    for (std::uint32_t i = 0; i < turn; ++i) row = next_[row];
    return row;
}

}  // namespace paretoken::datasets
