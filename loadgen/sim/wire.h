#pragma once
// The server's side of the OpenAI protocol as vLLM 0.32 speaks it: request bodies in, frames and answers out.
// Bytes ↔ meaning only, no I/O, and nothing shared with loadgen/openai: a fault of the client must not be
// mirrored here.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/request.h"
#include "loadgen/sim/prefix_cache.h"
#include "loadgen/sim/profile.h"

namespace paretoken::sim {

enum class Endpoint : std::uint8_t { chat, completions };

/// What a server says of itself.
struct ServedModel {
    std::string name;
    std::int64_t context_limit = 0;  ///< tokens of prompt and answer together ("max_model_len")
    std::int64_t vocabulary = 0;
    std::int64_t block_tokens = 0;  ///< of a prefix cache; 0: there is none, and prompts need no names

    bool operator==(const ServedModel&) const = default;
};

/// A request that can be served.
struct GenerationRequest {
    Endpoint endpoint = Endpoint::chat;
    std::int64_t prompt_tokens = 0;
    TokenIds prompt_token_ids;    ///< only with return_token_ids, and only when the prompt came as ids
    std::int64_t max_tokens = 0;  ///< resolved: what was asked for, else the endpoint's default
    std::int64_t min_tokens = 0;
    bool ignore_eos = false;
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    bool return_token_ids = false;
    std::vector<std::uint64_t> prompt_blocks = {};  ///< names of the full blocks (model.block_tokens)
    BlockHasher after_prompt = BlockHasher();       ///< names what the answer completes

    bool operator==(const GenerationRequest&) const = default;
};

/// An answer that is not 200: the status and the JSON body.
struct ApiError {
    int status = 400;
    std::string body;

    bool operator==(const ApiError&) const = default;
};

std::variant<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                           const ServedModel& model);

/// Tokens that will be emitted: max_tokens with ignore_eos; else an answer ends by itself after a length
/// drawn from the seed (log-normal, sigma 0.5, the given median).
std::int64_t answer_length(const GenerationRequest& request, double median_tokens, std::uint64_t seed);

/// POST /tokenize, vLLM's shape.
std::variant<std::string, ApiError> tokenize_answer(std::string_view body, const ServedModel& model);

std::string models_answer(const ServedModel& model, std::int64_t created);
std::string profile_answer(const std::string& name, const std::map<std::string, double>& limit_terms);

ApiError unauthorized();
ApiError not_found();
ApiError method_not_allowed();
ApiError body_too_large();
ApiError malformed_http(std::string_view reason);
ApiError overloaded(int status);  ///< 429 or 503

/// An event of a stream that cannot go on, plain.
std::string error_event();

/// `text` as a JSON string, with its quotes.
std::string json_string(std::string_view text);

// HTTP/1.1 framing.

enum class Framing : std::uint8_t { length, chunked, until_close };

/// Status line and headers, up to and with the empty line.
std::string http_head(int status, std::string_view content_type, Framing framing, std::size_t length,
                      bool keep_alive);

/// A whole answer with a content-length.
std::string http_answer(int status, std::string_view content_type, std::string_view body, bool keep_alive);

/// The frames of one answer, appended to a buffer of the caller (which is reused: nothing is allocated per
/// token).
class AnswerWriter {
  public:
    AnswerWriter(const GenerationRequest& request, std::string_view id, std::int64_t created,
                 std::string_view model, std::int64_t vocabulary, std::uint64_t seed, Framing framing);

    /// What precedes the first token: a chat's role frame; nothing for completions.
    void append_opening(std::string& out) const;

    /// Token k. `finish_reason` is empty before the last token.
    void append_token(std::string& out, std::int64_t k, std::string_view finish_reason) const;

    /// What follows the last of `tokens`: usage if it was asked for, [DONE], the end of the body.
    /// `cached_tokens` of the prompt came from the prefix cache; nothing: there is none.
    void append_closing(std::string& out, std::int64_t tokens,
                        std::optional<std::int64_t> cached_tokens = {}) const;

    /// The body of an answer that is not streamed.
    std::string whole(std::int64_t tokens, std::string_view finish_reason,
                      std::optional<std::int64_t> cached_tokens = {}) const;

  private:
    std::size_t open_chunk(std::string& out) const;
    void close_chunk(std::string& out, std::size_t begin) const;
    void append_usage(std::string& out, std::int64_t tokens, std::string_view details) const;

    Endpoint endpoint_;
    bool include_usage_;
    bool continuous_usage_;
    bool token_ids_;
    Framing framing_;
    std::int64_t prompt_tokens_;
    std::int64_t vocabulary_;
    std::uint64_t seed_;
    TokenIds prompt_token_ids_;
    std::string head_;  ///< of every frame, up to the choices
};

}  // namespace paretoken::sim
