#pragma once
// Makes the answers with a status other than 200, and the events that end a failed stream, in the format of
// the dialect (simulator/answers/dialect.h), or of the protocol if that has its own.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/answers/dialect.h"

namespace paretoken::sim {

/// The status and the JSON body.
struct ApiError {
    int status = 400;
    std::string body;

    bool operator==(const ApiError&) const = default;
};

/// A field of a request body that is not as it must be, in the words of vLLM's validator.
struct FieldFault {
    std::string type;     ///< "missing", "int_type"
    std::string field;    ///< "messages.role"; empty means the body itself
    std::string message;  ///< "Field required"
};

/// A prompt that does not fit into the context.
struct TooLong {
    std::int64_t prompt_tokens = 0;
    std::int64_t context = 0;  ///< tokens
};

/// The reason why a request is refused. `type` and `param` are those of OpenAI's errors. Dialects word a
/// fault of a field and a prompt that is too long in their own ways; `message` is for all others.
struct Refusal {
    int status = 400;
    std::string type = "BadRequestError";
    std::string message = {};
    std::string param = {};
    std::optional<FieldFault> fault = {};
    std::optional<TooLong> too_long = {};
};

/// The words with which a dialect reports a refusal.
struct ErrorWords {
    std::string type;
    std::string message;
    std::string param = {};  ///< field that the error concerns; empty means none

    bool operator==(const ErrorWords&) const = default;
};

ApiError api_error(Dialect dialect, const Refusal& refusal);
ApiError api_error(Dialect dialect, Endpoint endpoint, const Refusal& refusal);

ApiError body_too_large(Dialect dialect);
ApiError malformed_http(Dialect dialect, std::string_view reason);
ApiError overloaded(Dialect dialect, Endpoint endpoint, int status);  ///< 429 or 503

/// Returns the events that end a stream in which the server failed, without chunk framing.
std::string failure_events(Dialect dialect, Endpoint endpoint);

}  // namespace paretoken::sim
