#pragma once
// Writes the body of a request for an OpenAI-compatible server. Fields that all requests share (model,
// options) are serialised once; the fields of --extra-body override ours. No I/O.
#include <optional>
#include <string>
#include <string_view>

#include "core/record/request.h"

namespace paretoken::protocol {

enum class EndpointType { chat, completions };
std::string_view name_of(EndpointType endpoint);
std::optional<EndpointType> endpoint_type_named(std::string_view name);

/// Returns "/v1/chat/completions" or "/v1/completions".
std::string_view path_of(EndpointType endpoint);

struct BodyOptions {
    EndpointType endpoint = EndpointType::chat;
    std::string model = {};
    bool stream = true;
    bool include_usage = true;      ///< stream_options.include_usage
    bool continuous_usage = false;  ///< stream_options.continuous_usage_stats (vLLM, SGLang)
    bool ignore_eos = false;        ///< known by vLLM, SGLang, llama.cpp
    bool return_token_ids = false;  ///< known by vLLM
    bool max_completion_tokens =
        false;  ///< whether this name replaces max_tokens, as hosted reasoning models require
    std::optional<double> temperature = {};
    std::string extra_body =
        {};  ///< text of a JSON object, or empty. Its keys replace ours; a null removes ours

    bool operator==(const BodyOptions&) const = default;
};

class BodyWriter {
  public:
    /// Throws UsageError when extra_body is not a JSON object, with the position of the error.
    explicit BodyWriter(const BodyOptions& options);

    /// Returns the JSON body. The request's own model and fields override the run's; a null removes one of
    /// the run's. A text is one user message in chat. A conversation in completions is its messages' text,
    /// one per line. Token ids belong to completions only (std::invalid_argument in chat). Bytes that are not
    /// UTF-8 become U+FFFD. Thread-safe.
    std::string body(const Request& request) const;

    /// Returns the most output tokens that the body allows for the answer, all choices together. Returns
    /// nothing when it sets no limit.
    std::optional<std::int64_t> asked_output_tokens(const Request& request) const;

  private:
    struct Fields {
        std::string text;  ///< fields in the form of `constant_`
        bool own_prompt = true;
        bool own_max_tokens = true;
    };
    Fields fields_of(const Request& request) const;
    bool is_prompt(std::string_view key) const;

    EndpointType endpoint_;
    bool own_prompt_ = true;                        ///< whether extra_body has no prompt
    bool own_max_tokens_ = true;                    ///< whether extra_body has no limit
    std::optional<std::int64_t> extra_max_tokens_;  ///< limit of extra_body
    std::int64_t choices_ = 1;                      ///< answers to one request: extra_body's n or best_of
    std::string_view max_tokens_key_;
    std::string constant_;  ///< fields that all requests share, without braces: "\"model\":…,…"
};

/// Appends `text` with JSON's escapes, without quotes.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace paretoken::protocol
