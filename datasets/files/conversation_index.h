#pragma once
// Maps conversations to the rows of a file. A row may name its conversation. The rows of one conversation are
// its turns in order; rows of other conversations may lie between them. A row without a name is a
// conversation of its own and may hold several turns. While the file is read, the index holds the names.
// Apart from them it needs no memory until the first conversation with a second turn.
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
    /// Adds the next row of the file. `with_replies`: a follow-up must begin with the recorded reply to the
    /// turn before. The function throws UsageError by RowPlace::refuse() (datasets/files/row_file.h) on a
    /// follow-up without this reply, on a follow-up without an opening or without a message of the user, on
    /// turns out of order, on token ids in a row that names a conversation, on more than 65,535 turns, and
    /// on more than 2^32 − 1 rows.
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
    std::vector<std::uint16_t> turns_;  ///< number of turns by conversation; empty means that all have one
    std::vector<std::uint32_t>
        openings_;  ///< first row by conversation; empty means that conversation i is row i
    std::vector<std::uint32_t> next_;  ///< row of the next turn, by row; empty if `openings_` is
    std::unordered_map<std::string, Open> open_;
};

}  // namespace paretoken::datasets
