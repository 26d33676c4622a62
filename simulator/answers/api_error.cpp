#include "simulator/answers/api_error.h"

#include <fmt/format.h>

#include "simulator/answers/json_text.h"

namespace paretoken::sim {
namespace {

std::string_view llamacpp_type_of(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 404:
            return "not_found_error";
        case 500:
            return "server_error";
        case 503:
            return "unavailable_error";
        default:
            return "invalid_request_error";
    }
}

std::string llamacpp_body(const Refusal& refusal) {
    const std::string_view type =
        refusal.llamacpp_type.empty() ? llamacpp_type_of(refusal.status) : refusal.llamacpp_type;
    const std::string& message =
        refusal.llamacpp_message.empty() ? refusal.message : refusal.llamacpp_message;
    return fmt::format(R"({{"error":{{"code":{},"message":{},"type":"{}"{}}}}})", refusal.status,
                       json_string(message), type, refusal.llamacpp_fields);
}

std::string vllm_body(const Refusal& refusal) {
    const std::string where = refusal.param.empty() ? "null" : json_string(refusal.param);
    return fmt::format(R"({{"error":{{"message":{},"type":{},"param":{},"code":{}}}}})",
                       json_string(refusal.message), json_string(refusal.type), where, refusal.status);
}

}  // namespace

ApiError api_error(Dialect dialect, const Refusal& refusal) {
    return {refusal.status, dialect == Dialect::vllm ? vllm_body(refusal) : llamacpp_body(refusal)};
}

ApiError unauthorized(Dialect dialect) {
    if (dialect == Dialect::vllm) return {401, R"({"error":"Unauthorized"})"};
    return api_error(dialect, {.status = 401, .type = {}, .message = "Invalid API Key"});
}

ApiError not_found(Dialect dialect) {
    if (dialect == Dialect::vllm) return {404, R"({"detail":"Not Found"})"};
    return {404, R"({"error":{"message":"File Not Found","type":"not_found_error","code":404}})"};
}

/// Returns 405 for vLLM. llama.cpp answers 404, because its library finds paths by their method.
ApiError method_not_allowed(Dialect dialect) {
    if (dialect == Dialect::vllm) return {405, R"({"detail":"Method Not Allowed"})"};
    return not_found(dialect);
}

ApiError body_too_large(Dialect dialect) {
    return api_error(dialect,
                     {.status = 413, .type = "BadRequestError", .message = "The request body is too large."});
}

ApiError malformed_http(Dialect dialect, std::string_view reason) {
    return api_error(dialect, {.status = 400,
                               .type = "BadRequestError",
                               .message = fmt::format("Invalid HTTP request received: {}.", reason)});
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
