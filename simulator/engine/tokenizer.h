#pragma once
// A tokenizer that needs no vocabulary: it only has to be consistent (/tokenize and usage agree) and about
// as fine as a real one. Invariant: the pieces, joined, are the text.
//
// The rule: a run of letters, digits and bytes above 127 is cut into pieces of at most 8 bytes (never inside
// a UTF-8 character); every other printable character is a piece; one space goes with the piece after it; any
// other run of equal white space is a piece. English gives about 1.2 tokens per word.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace paretoken::sim {

/// The numbers of special tokens in a prompt. One token starts the text. Each message of a chat has a header
/// of four tokens and one token at its end. The header of the answer equals that of an assistant's message,
/// so that an answer has equal tokens when the next prompt contains it.
constexpr std::int64_t kTokensPerText = 1;
constexpr std::int64_t kTokensPerMessage = 5;
constexpr std::int64_t kTokensOfAnswerHeader = 4;

/// Returns the length in bytes of the first piece of a text that is not empty.
std::size_t first_piece(std::string_view text);

std::int64_t count_tokens(std::string_view text);

/// Returns the id of a piece. If the piece is word_of_id(id) for an id of the vocabulary, with or without the
/// leading space, the result is that id. Otherwise it is a hash in [256, vocabulary), or 256 if that range is
/// empty.
std::int32_t token_id_of(std::string_view piece, std::int64_t vocabulary);

/// Returns the word of an id, " t1234". For an id from 0 to 9,999,999 the word is one piece, for which
/// token_id_of() returns the id if it is below `vocabulary`.
std::string word_of_id(std::int64_t id);

/// Returns word k of a generated answer: one token, with its leading space unless k is 0.
std::string_view answer_word(std::uint64_t seed, std::int64_t k);

/// Maps ids to pieces. A hash cannot be reversed, so tokenized pieces are remembered, for at most 2^20 ids;
/// later ids are not remembered.
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
