#pragma once
// Writes the body of a request in one of the API's protocols (protocol.h). Fields that all requests share
// (model, options) are serialised once. The fields of --extra-body override those of this program. No I/O.
#include <optional>
#include <string>
#include <string_view>

#include "core/record/request.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {

struct BodyOptions {
    const Protocol* protocol = &default_protocol();
    std::string model = {};
    bool stream = true;
    // A field that the protocol does not have is not sent.
    bool include_usage = true;      ///< stream_options.include_usage
    bool continuous_usage = false;  ///< stream_options.continuous_usage_stats (vLLM, SGLang)
    bool ignore_eos = false;        ///< known by vLLM, SGLang, llama.cpp
    bool return_token_ids = false;  ///< known by vLLM
    bool max_completion_tokens =
        false;  ///< whether a chat has this limit instead of max_tokens, as hosted reasoning models require
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
    /// the run's. Throws std::invalid_argument for a prompt that the protocol does not take. Thread-safe.
    std::string body(const Request& request) const;

    /// Returns whether the fields of --extra-body ask for the prompt at the front of the answer ("echo").
    bool echoes_prompt() const { return echoes_prompt_; }

    /// The limit on output tokens that fields of a body set.
    struct OutputLimit {
        bool is_wanted = true;              ///< whether it is Request::wanted_output_tokens
        std::optional<std::int64_t> given;  ///< otherwise: the limit of the body, if it is a number
        std::int64_t choices = 1;           ///< answers to one request: the larger of n and best_of
        std::int64_t shown = 1;             ///< answers that are sent: n
    };

    /// Returns the most output tokens that the body allows for all choices; nothing when it sets no limit.
    std::optional<std::int64_t> asked_output_tokens(const Request& request) const;

    /// Returns the output tokens that are wanted of the answer, all choices together: the request's number
    /// for each choice (field "n"), or the body's own limit if it is lower, such as by --extra-body. Returns
    /// nothing if none are wanted.
    std::optional<std::int64_t> wanted_output_tokens(const Request& request) const;

    /// Returns the number of choices that are wanted (field "n").
    int choices(const Request& request) const { return static_cast<int>(limit_of(request).shown); }

  private:
    struct Fields {
        std::string text;        ///< fields in the form of `constant_`
        bool own_prompt = true;  ///< false means that a field replaces or removes Request::prompt
        bool own_max_tokens =
            true;  ///< false means that a field replaces or removes Request::wanted_output_tokens
    };
    OutputLimit limit_of(const Request& request) const;
    Fields fields_of(const Request& request) const;
    bool is_prompt(std::string_view key) const;

    const Protocol* protocol_;
    bool own_prompt_ = true;  ///< whether extra_body has no prompt
    bool echoes_prompt_ = false;
    OutputLimit limit_;  ///< with the fields of extra_body
    std::string_view limit_key_;
    std::string constant_;  ///< fields that all requests share, without braces: "\"model\":…,…"
};

}  // namespace paretoken::protocol
