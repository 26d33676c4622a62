#include "simulator/answers/dialect.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "simulator/answers/api_error.h"
#include "simulator/answers/http_frame.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/telemetry.h"
#include "simulator/answers/wire.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/profile.h"

namespace paretoken::sim {
namespace {

// Heads and errors.

/// Returns a head of llama.cpp, which capitalises names and tells how long it keeps a connection.
std::string llamacpp_head(const HttpHead& head) {
    std::string out = fmt::format("HTTP/1.1 {} {}\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\n",
                                  head.status, reason_phrase(head.status));
    if (head.content_type.starts_with("text/event-stream")) out += "X-Accel-Buffering: no\r\n";
    fmt::format_to(std::back_inserter(out), "Content-Type: {}\r\n", head.content_type);
    if (head.status == 429) out += "Retry-After: 1\r\n";
    if (head.gzip) out += "Content-Encoding: gzip\r\n";
    if (head.framing == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
    if (head.framing == Framing::length)
        fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", head.length);
    out += head.keep_alive ? "Keep-Alive: timeout=5, max=100\r\n" : "Connection: close\r\n";
    return out += "\r\n";
}

std::string_view type_of(int status) {
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

std::string message_of(const FieldFault& fault) {
    if (fault.field.empty()) return fault.message;
    if (fault.type == "missing") return fmt::format("'{}' is required", fault.field);
    if (fault.type == "list_type") return fmt::format("Expected '{}' to be an array", fault.field);
    return fmt::format("'{}': {}", fault.field, fault.message);
}

/// Returns the words of an error, which has a type per status and no parameter.
ErrorWords llamacpp_error_words(const Refusal& refusal) {
    if (const auto& too_long = refusal.too_long) {
        return {.type = "exceed_context_size_error",
                .message = fmt::format(
                    "request ({} tokens) exceeds the available context size ({} tokens), try increasing it",
                    too_long->prompt_tokens, too_long->context)};
    }
    return {.type = std::string(type_of(refusal.status)),
            .message = refusal.fault ? message_of(*refusal.fault) : refusal.message};
}

std::string llamacpp_error(const Refusal& refusal) {
    const ErrorWords words = llamacpp_error_words(refusal);
    std::string more;
    if (const auto& too_long = refusal.too_long)
        more = fmt::format(R"(,"n_prompt_tokens":{},"n_ctx":{})", too_long->prompt_tokens, too_long->context);
    return fmt::format(R"({{"code":{},"message":{},"type":"{}"{}}})", refusal.status,
                       json_string(words.message), words.type, more);
}

ApiError file_not_found() {
    return {404, R"({"error":{"message":"File Not Found","type":"not_found_error","code":404}})"};
}

// Answers about the server.

std::string llamacpp_models(const ServedModel& model, std::int64_t created) {
    const std::string name = json_string(model.name);
    return fmt::format(
        R"({{"models":[{{"name":{0},"model":{0}}}],"object":"list","data":[{{"id":{0},"object":"model",)"
        R"("created":{1},"owned_by":"llamacpp","meta":{{"n_vocab":{2},"n_ctx":{3},)"
        R"("n_ctx_train":{3}}}}}]}})",
        name, created, model.vocabulary, model.context_limit);
}

/// Returns the body of GET /props, as far as clients read it.
std::string llamacpp_props(const ServedModel& model) {
    return fmt::format(
        R"({{"default_generation_settings":{{"n_ctx":{0}}},"total_slots":{1},"model_alias":{2},)"
        R"("model_path":{2}}})",
        model.context_limit, model.max_num_seqs, json_string(model.name));
}

std::string llamacpp_tokens(const TokenList& tokens, const ServedModel&, bool with_pieces) {
    if (!with_pieces) return fmt::format(R"({{"tokens":[{}]}})", fmt::join(tokens.ids, ","));
    std::string list;
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
        fmt::format_to(std::back_inserter(list), R"({}{{"id":{},"piece":{}}})", i == 0 ? "" : ",",
                       tokens.ids[i], json_string(tokens.pieces[i]));
    }
    return fmt::format(R"({{"tokens":[{}]}})", list);
}

// Metrics.

void append_llamacpp(std::string& out, std::string_view name, std::string_view type, std::string_view help,
                     double value) {
    fmt::format_to(std::back_inserter(out),
                   "# HELP llamacpp:{0} {1}\n# TYPE llamacpp:{0} {2}\nllamacpp:{0} {3}\n", name, help, type,
                   value);
}

std::string llamacpp_metrics(const Telemetry& telemetry, const EngineState& engine, const Profile&,
                             std::string_view) {
    const auto computed = static_cast<double>(telemetry.prompt_tokens - telemetry.cached_tokens);
    const auto predicted = static_cast<double>(telemetry.generation_tokens);
    const auto steps = static_cast<double>(engine.steps);
    const double prompt_s = telemetry.prefill_time.sum();
    const double predicted_s = telemetry.decode_time.sum();
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
    std::string out;
    const auto counter = [&out](std::string_view name, std::string_view help, double value) {
        append_llamacpp(out, name, "counter", help, value);
    };
    const auto gauge = [&out](std::string_view name, std::string_view help, double value) {
        append_llamacpp(out, name, "gauge", help, value);
    };
    counter("prompt_tokens_total", "Prompt tokens computed, cached ones left out", computed);
    counter("prompt_tokens_cached_total", "Prompt tokens found in the cache",
            static_cast<double>(telemetry.cached_tokens));
    counter("prompt_seconds_total", "Time spent on prompts", prompt_s);
    counter("tokens_predicted_total", "Tokens generated", predicted);
    counter("tokens_predicted_seconds_total", "Time spent generating", predicted_s);
    counter("n_decode_total", "Steps", steps);
    counter("n_tokens_max", "Longest sequence so far", static_cast<double>(telemetry.longest_sequence));
    counter("spec_decode_num_draft_tokens_total", "Draft tokens", static_cast<double>(engine.draft_tokens));
    counter("spec_decode_num_accepted_tokens_total", "Draft tokens that were right",
            static_cast<double>(engine.accepted_tokens));
    counter("spec_decode_num_drafts_total", "Times that drafts were checked",
            static_cast<double>(engine.drafts));
    gauge("prompt_tokens_seconds", "Mean prompt tokens per second", ratio(computed, prompt_s));
    gauge("predicted_tokens_seconds", "Mean generated tokens per second", ratio(predicted, predicted_s));
    gauge("requests_processing", "Requests being worked on", static_cast<double>(engine.running));
    gauge("requests_deferred", "Requests waiting", static_cast<double>(engine.waiting));
    gauge("n_busy_slots_per_decode", "Mean sequences per step",
          ratio(static_cast<double>(engine.step_sequences), steps));
    return out;
}

}  // namespace

const DialectTraits kLlamacpp{
    .name = "llamacpp",
    .types = {.json = "application/json; charset=utf-8",
              .events = "text/event-stream",
              .prometheus = "text/plain; version=0.0.4"},
    .keep_alive = {.requests = 100, .idle = std::chrono::seconds(5)},
    .closes_on_errors = true,
    .requests = {.any_model = true, .any_limit = true, .stream_options_alone = true},
    .tokenize = {.text = "content",
                 .special = "add_special",
                 .special_unless_told = false,
                 .pieces = "with_pieces",
                 .messages = false,
                 .text_is_required = false},
    .health = R"({"status":"ok"})",
    .head = llamacpp_head,
    .error_words = llamacpp_error_words,
    .error_object = llamacpp_error,
    .unauthorized =
        [] { return api_error(Dialect::llamacpp, {.status = 401, .message = "Invalid API Key"}); },
    .not_found = file_not_found,
    // Its library finds paths by their method, so that another method is another path.
    .method_not_allowed = file_not_found,
    .models = llamacpp_models,
    .props = llamacpp_props,
    .tokens = llamacpp_tokens,
    .metrics = llamacpp_metrics,
    .form = llamacpp_form};

}  // namespace paretoken::sim
