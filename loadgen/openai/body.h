#pragma once
// A request as the bytes that an OpenAI-compatible server takes. What is the same for every request (model,
// options) is serialised once; what the user gives as --extra-body wins over what we would have sent. No I/O.
#include <optional>
#include <string>
#include <string_view>

#include "core/record/request.h"

namespace paretoken::openai {

enum class EndpointType { chat, completions };
std::string_view name_of(EndpointType endpoint);
std::optional<EndpointType> endpoint_type_named(std::string_view name);

/// "/v1/chat/completions" or "/v1/completions".
std::string_view path_of(EndpointType endpoint);

struct BodyOptions {
    EndpointType endpoint = EndpointType::chat;
    std::string model = {};
    bool stream = true;
    bool include_usage = true;      ///< stream_options.include_usage
    bool continuous_usage = false;  ///< stream_options.continuous_usage_stats (vLLM, SGLang)
    bool ignore_eos = false;        ///< vLLM, SGLang, llama.cpp
    bool return_token_ids = false;  ///< vLLM
    bool max_completion_tokens =
        false;  ///< the name that hosted reasoning models want in place of max_tokens
    std::optional<double> temperature = {};
    std::string extra_body =
        {};  ///< text of a JSON object, or empty. Its keys replace ours; a null removes ours

    bool operator==(const BodyOptions&) const = default;
};

class BodyWriter {
  public:
    /// Throws UsageError when extra_body is not a JSON object, with the place where it stops being one.
    explicit BodyWriter(const BodyOptions& options);

    /// The JSON body. The request's own model and fields go before the run's; a null takes one of the run's
    /// away. A text is one user message in chat; a conversation in completions is its messages'
    /// text, one per line; token ids belong to completions only (std::invalid_argument in chat). Bytes that
    /// are not UTF-8 become U+FFFD. Thread-safe.
    std::string body(const Request& request) const;

    /// Most output tokens that the answer may have by what the body asks for, all choices together. Nothing
    /// when it sets no limit.
    std::optional<std::int64_t> asked_output_tokens(const Request& request) const;

  private:
    struct Fields {
        std::string text;  ///< as `constant_`
        bool own_prompt = true;
        bool own_max_tokens = true;
    };
    Fields fields_of(const Request& request) const;
    bool is_prompt(std::string_view key) const;

    EndpointType endpoint_;
    bool own_prompt_ = true;                        ///< extra_body brings no prompt of its own
    bool own_max_tokens_ = true;                    ///< nor a limit of its own
    std::optional<std::int64_t> extra_max_tokens_;  ///< extra_body's limit
    std::int64_t choices_ = 1;                      ///< answers to one request: n or best_of of extra_body
    std::string_view max_tokens_key_;
    std::string constant_;  ///< "\"model\":…,…": everything that no request changes, without braces
};

/// `text` with JSON's escapes, without quotes.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace paretoken::openai
