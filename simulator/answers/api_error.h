#pragma once
// Answers that are not 200, in the format of each dialect. Pure.
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

/// The reason why a request is refused. `type` and `param` are vLLM's; llama.cpp has a type per status and no
/// parameter.
struct Refusal {
    int status = 400;
    std::string type;
    std::string message;
    std::string param = {};
    std::string llamacpp_type = {};     ///< type; empty: that of the status
    std::string llamacpp_message = {};  ///< message; empty: `message`
    std::string llamacpp_fields = {};   ///< more fields, with their commas
};

ApiError api_error(Dialect dialect, const Refusal& refusal);

ApiError unauthorized(Dialect dialect);
ApiError not_found(Dialect dialect);
ApiError method_not_allowed(Dialect dialect);
ApiError body_too_large(Dialect dialect);
ApiError malformed_http(Dialect dialect, std::string_view reason);
ApiError overloaded(Dialect dialect, int status);  ///< 429 or 503

/// Returns the plain event of a stream that cannot continue.
std::string error_event(Dialect dialect);

}  // namespace paretoken::sim
