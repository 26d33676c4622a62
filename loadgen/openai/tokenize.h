#pragma once
// The /tokenize call of vLLM and llama.cpp: request bodies out, answers in. It is what makes prompt lengths
// exact without a tokenizer of our own. No I/O.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::openai {

enum class TokenizeDialect { vllm, llama_cpp };
std::string_view name_of(TokenizeDialect dialect);

/// Both servers listen at "/tokenize" (no /v1).
inline constexpr std::string_view kTokenizePath = "/tokenize";

/// Asks for the tokens of `text` and their pieces, without special tokens around it.
std::string tokenize_body(TokenizeDialect dialect, std::string_view model, std::string_view text);

struct Tokenization {
    std::int64_t count = 0;
    std::vector<std::string>
        pieces;  ///< the bytes of each token, markers (Ġ, ▁, <0x0A>) undone; empty: not given

    bool operator==(const Tokenization&) const = default;
};

/// The answer of either server; nothing when it is none.
std::optional<Tokenization> parse_tokenization(std::string_view body);

}  // namespace paretoken::openai
