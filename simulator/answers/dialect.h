#pragma once
// The dialects of the simulated server: everything in which the headers, errors and metrics of vLLM 0.32 and
// llama.cpp's server differ. A row has a file of its own (vllm.cpp, llamacpp.cpp).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "simulator/answers/protocol.h"

namespace paretoken::sim {

enum class Dialect : std::uint8_t { vllm, llamacpp };
inline constexpr Dialect kDialects[] = {Dialect::vllm, Dialect::llamacpp};

struct ApiError;
struct EngineState;
struct ErrorWords;
struct HttpHead;
struct Profile;
struct Telemetry;
struct TokenList;

/// The values of Content-Type.
struct ContentTypes {
    std::string_view json;
    std::string_view events;
    std::string_view prometheus;
};

/// The limits of a connection that is kept open.
struct KeepAliveLimits {
    std::int64_t requests = 0;  ///< largest number of requests; 0 means no limit
    Duration idle{};            ///< longest time without a request; 0 means no limit
};

/// The rules for request bodies.
struct RequestRules {
    bool any_model = false;  ///< whether every model name is accepted
    /// Whether every token limit is accepted: negative means none, 0 gives one token, answers are cut at the
    /// end of the context, and "n_predict" is read. Otherwise wrong limits are refused.
    bool any_limit = false;
    bool stream_options_alone = false;  ///< whether stream_options is ignored without a stream, not refused
};

/// The keys of POST /tokenize and of POST /detokenize.
struct TokenizeKeys {
    std::string_view text;            ///< key of the text, in the answer of /detokenize too
    std::string_view special;         ///< key of the switch for the tokens of the template
    bool special_unless_told = true;  ///< value of this switch if the request does not have it
    std::string_view pieces;          ///< key of the switch for the texts of the tokens
    bool messages = false;            ///< whether messages can be sent in place of a text
    bool text_is_required = false;
};

struct DialectTraits {
    std::string_view name;
    ContentTypes types;
    KeepAliveLimits keep_alive = {};
    bool closes_on_errors = false;  ///< whether a connection ends after an answer with a status from 400 on
    RequestRules requests = {};
    TokenizeKeys tokenize = {};
    bool version = false;          ///< whether there is GET /version
    std::string_view health = {};  ///< body of GET /health

    std::string (*head)(const HttpHead& head);  ///< status line and headers, with the empty line
    ErrorWords (*error_words)(const Refusal& refusal);
    std::string (*error_object)(const Refusal& refusal);  ///< JSON object with the words
    ApiError (*unauthorized)();
    ApiError (*not_found)();
    ApiError (*method_not_allowed)();
    std::string (*models)(const ServedModel& model, std::int64_t created);  ///< body of GET /v1/models
    /// Returns the body of GET /props; null: there is none.
    std::string (*props)(const ServedModel& model) = nullptr;
    /// Returns the body of /tokenize.
    std::string (*tokens)(const TokenList& tokens, const ServedModel& model, bool with_pieces);
    /// Returns the text of GET /metrics.
    std::string (*metrics)(const Telemetry& telemetry, const EngineState& engine, const Profile& profile,
                           std::string_view model);
    /// Returns the form in which the dialect speaks a protocol.
    const ProtocolForm& (*form)(const ProtocolTraits& protocol) = vllm_form;

    /// Returns the JSON body of an error: {"error":{…}}.
    std::string error_body(const Refusal& refusal) const;
    /// Returns a writer of answers in the form that the dialect has for the protocol of `terms`.
    std::unique_ptr<AnswerWriter> writer(AnswerTerms terms) const;
};

extern const DialectTraits kVllm;
extern const DialectTraits kLlamacpp;

const DialectTraits& traits_of(Dialect dialect);
std::string_view name_of(Dialect dialect);
std::optional<Dialect> dialect_named(std::string_view name);
std::vector<std::string> dialect_names();

}  // namespace paretoken::sim
