#include "simulator/answers/api_error.h"

#include <fmt/format.h>

namespace paretoken::sim {

ApiError api_error(Dialect dialect, const Refusal& refusal) {
    return {refusal.status, traits_of(dialect).error_body(refusal)};
}

ApiError body_too_large(Dialect dialect) {
    return api_error(dialect, {.status = 413, .message = "The request body is too large."});
}

ApiError malformed_http(Dialect dialect, std::string_view reason) {
    return api_error(dialect, {.message = fmt::format("Invalid HTTP request received: {}.", reason)});
}

ApiError overloaded(Dialect dialect, int status) {
    if (status == 429) {
        return api_error(dialect, {.status = 429,
                                   .type = "TooManyRequestsError",
                                   .message = "Too many requests; try again later."});
    }
    return api_error(dialect, {.status = 503,
                               .type = "ServiceUnavailableError",
                               .message = "The server is overloaded or not ready yet."});
}

std::string error_event(Dialect dialect) {
    return fmt::format(
        "data: {}\n\n",
        api_error(dialect, {.status = 500, .type = "InternalServerError", .message = "The engine failed."})
            .body);
}

}  // namespace paretoken::sim
