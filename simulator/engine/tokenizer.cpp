#include "simulator/engine/tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "core/random.h"
#include "core/text/printable.h"

namespace paretoken::sim {
namespace {

constexpr std::size_t kPieceBytes = 8;
constexpr std::size_t kMostPiecesKept = std::size_t{1} << 20;

enum class Kind : std::uint8_t { word, space, other };

constexpr std::array<Kind, 256> kinds_of_bytes() {
    std::array<Kind, 256> kinds{};
    for (int byte = 0; byte < 256; ++byte) {
        const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        const bool word = letter || (byte >= '0' && byte <= '9') || byte >= 128;
        kinds[byte] = word ? Kind::word : byte <= ' ' ? Kind::space : Kind::other;
    }
    return kinds;
}

constexpr auto kKinds = kinds_of_bytes();

Kind kind_of(char c) {
    return kKinds[static_cast<unsigned char>(c)];
}

/// Returns the length of the piece of a word that begins at `from`.
std::size_t word_piece(std::string_view text, std::size_t from) {
    const std::size_t limit = std::min(text.size(), from + kPieceBytes);
    std::size_t end = from;
    while (end < limit && kind_of(text[end]) == Kind::word) ++end;
    while (end < text.size() && end - from > 4 && continues_character(text[end])) --end;
    return end - from;
}

std::size_t space_run(std::string_view text) {
    std::size_t end = 1;
    while (end < text.size() && text[end] == text[0]) ++end;
    // The last space of a run belongs to the word after it.
    const bool followed = end < text.size() && kind_of(text[end]) != Kind::space;
    return text[0] == ' ' && followed && end > 1 ? end - 1 : end;
}

// Each word has at most 7 letters, so that it is one token with its space.
constexpr std::string_view kWords[] = {
    " the",    " of",     " and",  " light", " river", " carries", " small",  " stones", " from",  " high",
    " ground", " until",  " they", " rest",  " in",    " quiet",   " water",  " where",  " each",  " one",
    " turns",  " slowly", " over", " time",  " wind",  " moves",   " across", " open",   " field", " and",
    " brings", " rain",   " that", " feeds", " roots", " below",   " every",  " season", " adds",  " its",
    " own",    " layer",  " to",   " what",  " was",   " there",   " before", " people", " walk",  " past",
    " with",   " tools",  " made", " by",    " hand",  " they",    " build",  " walls",  " count", " days",
    " write",  " names",  " then", " begin"};

/// Returns 1234 for " t1234".
std::optional<std::int32_t> id_in_word(std::string_view piece, std::int64_t vocabulary) {
    if (piece.starts_with(' ')) piece.remove_prefix(1);
    if (piece.size() < 2 || piece.size() > kPieceBytes || piece[0] != 't') return std::nullopt;
    if (piece[1] == '0' && piece.size() > 2) return std::nullopt;
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(piece.data() + 1, piece.data() + piece.size(), id);
    const bool whole = error == std::errc{} && end == piece.data() + piece.size();
    return whole && id >= 0 && id < vocabulary ? std::optional(id) : std::nullopt;
}

}  // namespace

std::size_t first_piece(std::string_view text) {
    switch (kind_of(text[0])) {
        case Kind::word:
            return word_piece(text, 0);
        case Kind::other:
            return 1;
        case Kind::space:
            break;
    }
    const bool leads = text[0] == ' ' && text.size() > 1 && kind_of(text[1]) != Kind::space;
    if (!leads) return space_run(text);
    return kind_of(text[1]) == Kind::word ? 1 + word_piece(text, 1) : 2;
}

std::int64_t count_tokens(std::string_view text) {
    std::int64_t count = 0;
    for (; !text.empty(); text.remove_prefix(first_piece(text))) ++count;
    return count;
}

std::int32_t token_id_of(std::string_view piece, std::int64_t vocabulary) {
    constexpr std::int64_t kFirst = 256;
    if (const auto id = id_in_word(piece, vocabulary)) return *id;
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const char c : piece) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    const auto range = static_cast<std::uint64_t>(vocabulary > kFirst ? vocabulary - kFirst : 1);
    return static_cast<std::int32_t>(kFirst + static_cast<std::int64_t>(hash % range));
}

std::string word_of_id(std::int64_t id) {
    return fmt::format(" t{}", id);
}

std::string_view answer_word(std::uint64_t seed, std::int64_t k) {
    Random random(seed + static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15U);
    const std::string_view word = kWords[random() % std::size(kWords)];
    return k == 0 ? word.substr(1) : word;
}

PieceMemory::PieceMemory(std::int64_t vocabulary) {
    for (const std::string_view word : kWords) {
        remember(token_id_of(word.substr(1), vocabulary), word.substr(1));
        remember(token_id_of(word, vocabulary), word);
    }
}

void PieceMemory::remember(std::int32_t id, std::string_view piece) {
    if (const auto found = pieces_.find(id); found != pieces_.end()) {
        found->second = piece;
    } else if (pieces_.size() < kMostPiecesKept) {
        pieces_.emplace(id, piece);
    }
}

std::string PieceMemory::piece_of(std::int32_t id) const {
    const auto found = pieces_.find(id);
    return found == pieces_.end() ? word_of_id(id) : found->second;
}

}  // namespace paretoken::sim
