#pragma once
// A tokenizer without a vocabulary: /tokenize and usage agree. A run of letters, digits and bytes above 127
// is cut into pieces of at most 8 bytes; every other printable character is a piece; one space goes with the
// piece after it. Invariant: the pieces, joined, are the text. English has about 1.2 tokens per word.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace paretoken::sim {

/// The special tokens of a prompt: one starts a text; a chat's messages have a header of four and one at the
/// end. An answer's header is that of an assistant's message.
constexpr std::int64_t kTokensPerText = 1;
constexpr std::int64_t kTokensPerMessage = 5;
constexpr std::int64_t kTokensOfAnswerHeader = 4;

/// Returns the length in bytes of the first piece of a text that is not empty.
std::size_t first_piece(std::string_view text);

std::int64_t count_tokens(std::string_view text);

/// Returns the id whose word_of_id() is the piece, with or without the leading space, or else a hash in [256,
/// vocabulary), 256 if that is empty.
std::int32_t token_id_of(std::string_view piece, std::int64_t vocabulary);

/// Returns the word of an id, " t1234". For an id from 0 to 9,999,999 the word is one piece, for which
/// token_id_of() returns the id if it is below `vocabulary`.
std::string word_of_id(std::int64_t id);

/// Returns word k of a generated answer: one token, with its leading space unless k is 0.
std::string_view answer_word(std::uint64_t seed, std::int64_t k);

/// Maps ids to pieces. Pieces of at most 2^20 ids are remembered, because a hash cannot be reversed.
class PieceMemory {
  public:
    /// Remembers the words of answers from the start.
    explicit PieceMemory(std::int64_t vocabulary);

    void remember(std::int32_t id, std::string_view piece);

    /// Returns the piece that had this id last, or else the id's own word.
    std::string piece_of(std::int32_t id) const;

  private:
    std::unordered_map<std::int32_t, std::string> pieces_;
};

}  // namespace paretoken::sim
