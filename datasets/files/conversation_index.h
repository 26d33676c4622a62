#pragma once
// Maps conversations to the rows of a file. Rows name their conversation, and the rows of one conversation
// are its turns in order, with rows of others between them; a row may also hold several turns. The index
// needs no memory until the first conversation with a second turn.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/request.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {

struct Row;

/// Returns the messages that a row's prompt (not token ids) adds to a conversation. A text becomes a message
/// of the user.
Messages messages_of(Prompt prompt);

/// Counts the assistant's messages at the front, which are the recorded reply to the turn before.
std::size_t recorded_replies(const Messages& messages);

class ConversationIndex {
  public:
    /// Adds the next row of the file. `with_replies`: recorded replies are required. Throws through `place`
    /// on a follow-up without an opening, turns out of order, or a follow-up without a message of the user.
    void add(const Row& row, bool with_replies, const RowPlace& place);

    /// Ends the index after the last row.
    void finish() { open_.clear(); }

    bool has_conversations() const { return !turns_.empty(); }
    std::size_t size() const { return conversations_; }
    std::uint32_t turns(std::size_t conversation) const;
    /// Returns the row that holds the turn, or that holds all turns of the conversation.
    std::size_t row_of(std::size_t conversation, std::uint32_t turn) const;

  private:
    struct Open {
        std::uint32_t conversation;
        std::uint32_t last_row;
    };
    void open(const Row& row, const RowPlace& place);
    void go_on(const Row& row, Open& open, bool with_replies, const RowPlace& place);
    void count_turns(std::size_t conversation, std::size_t turns, const RowPlace& place);

    std::size_t rows_ = 0;
    std::size_t conversations_ = 0;
    std::vector<std::uint16_t> turns_;     ///< number of turns by conversation; empty: all have one
    std::vector<std::uint32_t> openings_;  ///< first row by conversation; empty: conversation i is row i
    std::vector<std::uint32_t> next_;      ///< row of the next turn, by row; empty if `openings_` is
    std::unordered_map<std::string, Open> open_;
};

}  // namespace paretoken::datasets
