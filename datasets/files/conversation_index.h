#pragma once
// Which rows of a file make up which conversations. Rows name their conversation, and those of one follow
// each other as its turns, with rows of others between them; a row may also hold several turns. In memory
// this costs nothing until the first conversation with a second turn.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/request.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {

struct Row;

/// What the user's side of a turn adds to a conversation: the row's messages, a text as one of the user's.
Messages messages_of(Prompt prompt);

/// Messages at the front that are the assistant's: the recorded reply to the turn before.
std::size_t recorded_replies(const Messages& messages);

class ConversationIndex {
  public:
    /// The next row of the file. `with_replies`: its recorded replies are needed. Throws through `place`: a
    /// follow-up without an opening, turns out of order, a follow-up without a message of the user's.
    void add(const Row& row, bool with_replies, const RowPlace& place);

    /// After the last row.
    void finish() { open_.clear(); }

    bool has_conversations() const { return !turns_.empty(); }
    std::size_t size() const { return conversations_; }
    std::uint32_t turns(std::size_t conversation) const;
    /// The row that holds a turn, or that holds all turns.
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
    std::vector<std::uint16_t> turns_;     ///< empty: all have one
    std::vector<std::uint32_t> openings_;  ///< rows; empty: the same as the conversations
    std::vector<std::uint32_t> next_;      ///< row of the next turn, by row; empty as `openings_`
    std::unordered_map<std::string, Open> open_;
};

}  // namespace paretoken::datasets
