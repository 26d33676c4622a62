#include "simulator/answers/api_error.h"

#include <fmt/format.h>

namespace paretoken::sim {

ApiError api_error(Dialect dialect, const Refusal& refusal) {
    return {refusal.status, traits_of(dialect).error_body(refusal)};
}

ApiError api_error(Dialect dialect, Endpoint endpoint, const Refusal& refusal) {
    const DialectTraits& traits = traits_of(dialect);
    const ProtocolForm& form = traits.form(traits_of(endpoint));
    return {refusal.status,
            form.error_body == nullptr ? traits.error_body(refusal) : form.error_body(traits, refusal)};
}

ApiError body_too_large(Dialect dialect) {
    return api_error(dialect, {.status = 413, .message = "The request body is too large."});
}

ApiError malformed_http(Dialect dialect, std::string_view reason) {
    return api_error(dialect, {.message = fmt::format("Invalid HTTP request received: {}.", reason)});
}

ApiError overloaded(Dialect dialect, Endpoint endpoint, int status) {
    if (status == 429) {
        return api_error(dialect, endpoint,
                         {.status = 429,
                          .type = "TooManyRequestsError",
                          .message = "Too many requests; try again later."});
    }
    return api_error(dialect, endpoint,
                     {.status = 503,
                      .type = "ServiceUnavailableError",
                      .message = "The server is overloaded or not ready yet."});
}

std::string failure_events(Dialect dialect, Endpoint endpoint) {
    const DialectTraits& traits = traits_of(dialect);
    return traits.form(traits_of(endpoint))
        .failure(traits, {.status = 500, .type = "InternalServerError", .message = "The engine failed."});
}

}  // namespace paretoken::sim
