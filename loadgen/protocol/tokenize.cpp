#include "loadgen/protocol/tokenize.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <charconv>

#include "loadgen/protocol/json_text.h"

namespace paretoken::protocol {
namespace {

namespace dom = simdjson::dom;

std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

/// A marker that byte-level BPE (GPT-2's alphabet) or SentencePiece writes for a byte that does not print.
struct Marker {
    std::string_view written;
    std::string_view meant;
};
constexpr std::array kMarkers = {
    Marker{"\u0120", " "},   // Ġ
    Marker{"\u010A", "\n"},  // Ċ
    Marker{"\u0109", "\t"},  // ĉ
    Marker{"\u2581", " "},   // ▁
};

/// Returns the byte of a piece such as "<0x0A>".
std::optional<char> byte_fallback(std::string_view piece) {
    unsigned byte = 0;
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
    const auto [stop, error] = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    if (error != std::errc{} || stop != piece.data() + 5) return std::nullopt;
    return static_cast<char>(byte);
}

std::string without_markers(std::string_view piece) {
    if (const auto byte = byte_fallback(piece)) return std::string(1, *byte);
    std::string text;
    while (!piece.empty()) {
        std::size_t taken = 1;
        std::string_view meant = piece.substr(0, 1);
        for (const Marker& marker : kMarkers) {
            if (piece.starts_with(marker.written)) {
                taken = marker.written.size();
                meant = marker.meant;
            }
        }
        text += meant;
        piece.remove_prefix(taken);
    }
    return text;
}

/// Returns a piece of llama.cpp, which is a string, or an array of bytes if it is not valid UTF-8.
std::optional<std::string> piece_of(dom::element piece) {
    std::string_view text;
    if (!piece.get(text)) return std::string(text);
    dom::array bytes;
    if (piece.get(bytes)) return std::nullopt;
    std::string out;
    for (const dom::element element : bytes) {
        std::uint64_t byte = 0;
        if (element.get(byte)) return std::nullopt;
        out += static_cast<char>(byte);
    }
    return out;
}

}  // namespace

std::string tokenize_body(TokenizeDialect dialect, std::string_view model, std::string_view text) {
    if (dialect == TokenizeDialect::vllm) {
        return fmt::format(
            R"({{"model":{},"prompt":{},"add_special_tokens":false,"return_token_strs":true}})",
            quoted(model), quoted(text));
    }
    return fmt::format(R"({{"content":{},"add_special":false,"with_pieces":true}})", quoted(text));
}

std::optional<Tokenization> parse_tokenization(std::string_view body) {
    dom::parser parser;
    dom::element whole;
    dom::array tokens;
    if (parser.parse(body.data(), body.size()).get(whole) || whole["tokens"].get(tokens)) return std::nullopt;
    Tokenization result;
    for (const dom::element token : tokens) {
        ++result.count;
        dom::element element;
        if (token.is_int64() || token["piece"].get(element)) continue;
        auto piece = piece_of(element);
        if (!piece) return std::nullopt;
        result.pieces.push_back(std::move(*piece));
    }
    dom::array strings;
    if (!whole["token_strs"].get(strings)) {
        result.pieces.clear();
        for (const dom::element element : strings) {
            std::string_view text;
            if (element.get(text)) return std::nullopt;
            result.pieces.push_back(without_markers(text));
        }
    }
    if (!result.pieces.empty() && result.pieces.size() != tokens.size()) return std::nullopt;
    return result;
}

}  // namespace paretoken::protocol
