#pragma once
// Writes the request bodies of the endpoint /tokenize of vLLM and llama.cpp, and reads its answers. Before
// the measurement, the client sends one calibration text to the endpoint, and so learns how many tokens each
// word of its prompts has. It therefore needs no tokenizer of its own. No I/O.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::protocol {

enum class TokenizeDialect { vllm, llama_cpp };

/// The path on both servers. It has no /v1 before it.
inline constexpr std::string_view kTokenizePath = "/tokenize";

/// Returns a body that asks for the tokens of `text` and for the text of each token (its piece). Special
/// tokens such as a BOS are not requested. llama.cpp does not use `model`.
std::string tokenize_body(TokenizeDialect dialect, std::string_view model, std::string_view text);

struct Tokenization {
    std::int64_t count = 0;
    /// The text of each token; empty if the server did not give it. In the answer of vLLM, the markers Ġ, Ċ,
    /// ĉ, ▁ and <0xNN> are decoded; other characters that byte-level BPE writes for bytes are not decoded.
    std::vector<std::string> pieces;

    bool operator==(const Tokenization&) const = default;
};

/// Reads the answer of either server; returns nothing for anything else.
std::optional<Tokenization> parse_tokenization(std::string_view body);

}  // namespace paretoken::protocol
