#pragma once
// The /tokenize call of vLLM and llama.cpp: writes request bodies and reads answers. It makes prompt lengths
// exact without a tokenizer of our own. No I/O.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::protocol {

enum class TokenizeDialect { vllm, llama_cpp };

/// The path of both servers, without /v1.
inline constexpr std::string_view kTokenizePath = "/tokenize";

/// Returns a request body for the tokens of `text` and their pieces, without special tokens around it.
std::string tokenize_body(TokenizeDialect dialect, std::string_view model, std::string_view text);

struct Tokenization {
    std::int64_t count = 0;
    std::vector<std::string>
        pieces;  ///< bytes of each token, with markers (Ġ, ▁, <0x0A>) decoded; empty: not given

    bool operator==(const Tokenization&) const = default;
};

/// Reads the answer of either server; returns nothing for anything else.
std::optional<Tokenization> parse_tokenization(std::string_view body);

}  // namespace paretoken::protocol
