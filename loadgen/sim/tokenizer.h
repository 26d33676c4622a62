#pragma once
// A tokenizer that needs no vocabulary: it only has to be consistent (what /tokenize says is what usage
// counts) and about as fine as a real one. Invariant: the pieces, joined, are the text.
//
// The rule: a run of letters, digits and bytes above 127 is cut into pieces of at most 8 bytes (never inside
// a UTF-8 character); every other printable character is a piece; one space goes with the piece after it; any
// other run of equal white space is a piece. English gives about 1.2 tokens per word.
#include <cstdint>
#include <functional>
#include <string_view>

namespace paretoken::sim {

/// Special tokens of a chat: the start of the text, each message's header and end, and the header of the
/// answer, which is that of a message of the assistant: an answer reads the same as part of the next prompt.
constexpr std::int64_t kTokensPerText = 1;
constexpr std::int64_t kTokensPerMessage = 5;
constexpr std::int64_t kTokensOfAnswerHeader = 4;

/// Length in bytes of the first piece of a text that is not empty.
std::size_t first_piece(std::string_view text);

std::int64_t count_tokens(std::string_view text);

/// The id of a piece: a hash in [256, vocabulary).
std::int32_t token_id_of(std::string_view piece, std::int64_t vocabulary);

/// Word k of a generated answer: one token, with its leading space unless k is 0.
std::string_view answer_word(std::uint64_t seed, std::int64_t k);

}  // namespace paretoken::sim
