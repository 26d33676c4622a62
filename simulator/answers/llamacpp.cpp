#include "simulator/answers/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/version.h"
#include "simulator/answers/answer_writer.h"
#include "simulator/answers/api_error.h"
#include "simulator/answers/http_frame.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/telemetry.h"
#include "simulator/answers/wire.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/profile.h"

namespace paretoken::sim {
namespace {

// Frames of answers.

constexpr std::string_view kEvent = "data: ";
constexpr std::string_view kEventEnd = "\n\n";

double milliseconds_of(Duration time) {
    return std::max(0.001, seconds(time) * 1e3);
}

/// Writes answers in the frames of llama.cpp's server: an event per token, a chat's role event in one chunk
/// with the first token's event, the finish reason in its own event, timings in the last. Keys and their
/// order are those of recorded streams.
class LlamacppWriter final : public AnswerWriter {
  public:
    explicit LlamacppWriter(AnswerTerms terms);

    void append_opening(std::string&) const override {}
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t count) const override { return count; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  private:
    bool chat() const { return terms_.endpoint == Endpoint::chat; }
    void append_delta(std::string& out, std::int64_t k) const;
    void append_usage(std::string& out, const AnswerState& state) const;
    void append_timings(std::string& out, std::int64_t tokens, const AnswerState& state) const;
    void append_message(std::string& out) const;
    void append_chat_closing(std::string& out, const AnswerState& state) const;
    void append_completions_closing(std::string& out, const AnswerState& state) const;

    AnswerTerms terms_;
    std::string tail_;  ///< end of every event, after the choices
    std::string id_;    ///< id of a completion's events, which comes last
};

LlamacppWriter::LlamacppWriter(AnswerTerms terms) : terms_(std::move(terms)) {
    const std::string_view object = !chat()         ? "text_completion"
                                    : terms_.stream ? "chat.completion.chunk"
                                                    : "chat.completion";
    const std::string id = fmt::format(R"("id":{})", json_string("chatcmpl-" + terms_.id));
    const bool id_first = chat() && terms_.stream;
    tail_ = fmt::format(R"(],"created":{}{}{},"model":{},"system_fingerprint":"paretoken-{}","object":"{}")",
                        terms_.created, id_first ? "," : "", id_first ? id : "", json_string(terms_.model),
                        version(), object);
    if (!id_first) id_ = "," + id;
}

void LlamacppWriter::append_usage(std::string& out, const AnswerState& state) const {
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"completion_tokens":{},"prompt_tokens":{},"total_tokens":{},)"
                   R"("prompt_tokens_details":{{"cached_tokens":{}}}}})",
                   terms_.plan.tokens, terms_.prompt_tokens, terms_.prompt_tokens + terms_.plan.tokens,
                   state.cached_tokens.value_or(0));
}

/// Appends timings. The first token takes no time of its own, because it comes with the prompt.
void LlamacppWriter::append_timings(std::string& out, std::int64_t tokens, const AnswerState& state) const {
    const std::int64_t cached = state.cached_tokens.value_or(0);
    const auto fresh = static_cast<double>(std::max<std::int64_t>(1, terms_.prompt_tokens - cached));
    const double prompt_ms = milliseconds_of(state.prefill);
    const double predicted_ms = milliseconds_of(state.decode);
    const auto decoded = static_cast<double>(tokens - 1);
    fmt::format_to(
        std::back_inserter(out),
        R"(,"timings":{{"cache_n":{},"prompt_n":{},"prompt_ms":{:.3f},"prompt_per_token_ms":{},)"
        R"("prompt_per_second":{},"predicted_n":{},"predicted_ms":{:.3f},"predicted_per_token_ms":{},)"
        R"("predicted_per_second":{}}})",
        cached, terms_.prompt_tokens - cached, prompt_ms, prompt_ms / fresh, fresh * 1e3 / prompt_ms, tokens,
        predicted_ms, decoded > 0 ? predicted_ms / decoded : 0.0, decoded * 1e3 / predicted_ms);
}

void LlamacppWriter::append_delta(std::string& out, std::int64_t k) const {
    const AnswerPlan& plan = terms_.plan;
    switch (part_of(plan, k)) {
        case Part::reasoning:
            out += R"("reasoning_content":")";
            break;
        case Part::content:
            out += R"("content":")";
            break;
        case Part::tool_name:
            fmt::format_to(std::back_inserter(out),
                           R"("tool_calls":[{{"index":0,"id":"{}","type":"function",)"
                           R"("function":{{"name":{},"arguments":""}}}}])",
                           terms_.id, json_string(plan.tool));
            return;
        case Part::tool_arguments:
            out += R"("tool_calls":[{"index":0,"function":{"arguments":")";
            append_escaped_text(out, plan, k, k + 1);
            out += R"("}}])";
            return;
    }
    append_escaped_text(out, plan, k, k + 1);
    out += '"';
}

void LlamacppWriter::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                   const AnswerState& state) const {
    for (std::int64_t k = first; k < first + count; ++k) {
        const std::size_t begin = open_chunk(out, terms_.framing);
        if (chat() && k == 0) {
            out += kEvent;
            out +=
                R"({"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}})";
            out.append(tail_).append("}").append(kEventEnd);
        }
        out += kEvent;
        if (chat()) {
            out += R"({"choices":[{"finish_reason":null,"index":0,"delta":{)";
            append_delta(out, k);
            out += "}}";
        } else {
            out += R"({"choices":[{"text":")";
            append_escaped_text(out, terms_.plan, k, k + 1);
            out += R"(","index":0,"logprobs":null,"finish_reason":null})";
        }
        out.append(tail_).append(id_);
        if (terms_.timings_per_token) append_timings(out, k + 1, state);
        append_event_truth(out, state);
        out.append("}").append(kEventEnd);
        close_chunk(out, begin, terms_.framing);
    }
}

void LlamacppWriter::append_chat_closing(std::string& out, const AnswerState& state) const {
    fmt::format_to(std::back_inserter(out),
                   R"({}{{"choices":[{{"finish_reason":"{}","index":0,"delta":{{}}}}{})", kEvent,
                   terms_.plan.finish_reason, tail_);
    if (terms_.include_usage) {
        out.append("}").append(kEventEnd).append(kEvent).append(R"({"choices":[)").append(tail_);
        append_usage(out, state);
    }
    append_timings(out, terms_.plan.tokens, state);
    out.append("}").append(kEventEnd);
}

void LlamacppWriter::append_completions_closing(std::string& out, const AnswerState& state) const {
    fmt::format_to(std::back_inserter(out),
                   R"({}{{"choices":[{{"text":"","index":0,"logprobs":null,"finish_reason":"{}"}}{})", kEvent,
                   terms_.plan.finish_reason, tail_);
    append_usage(out, state);
    out += id_;
    append_timings(out, terms_.plan.tokens, state);
    out.append("}").append(kEventEnd);
}

void LlamacppWriter::append_closing(std::string& out, const AnswerState& state) const {
    std::size_t begin = open_chunk(out, terms_.framing);
    if (chat()) {
        append_chat_closing(out, state);
    } else {
        append_completions_closing(out, state);
    }
    close_chunk(out, begin, terms_.framing);
    begin = open_chunk(out, terms_.framing);
    out.append(kEvent).append("[DONE]").append(kEventEnd);
    close_chunk(out, begin, terms_.framing);
    append_end(out, terms_.framing);
}

void LlamacppWriter::append_message(std::string& out) const {
    const AnswerPlan& plan = terms_.plan;
    const std::int64_t answer = std::min(plan.reasoning_tokens, plan.tokens);
    out += R"("message":{"role":"assistant","content":)";
    if (plan.tool.empty()) {
        out += '"';
        append_escaped_text(out, plan, answer, plan.tokens);
        out += '"';
    } else {
        out += "null";
    }
    if (answer > 0) {
        out += R"(,"reasoning_content":")";
        append_escaped_text(out, plan, 0, answer);
        out += '"';
    }
    if (!plan.tool.empty() && answer < plan.tokens) {
        fmt::format_to(std::back_inserter(out),
                       R"(,"tool_calls":[{{"type":"function","function":{{"name":{},"arguments":")",
                       json_string(plan.tool));
        append_escaped_text(out, plan, answer + 1, plan.tokens);
        fmt::format_to(std::back_inserter(out), R"("}},"id":"{}"}}])", terms_.id);
    }
    out += '}';
}

std::string LlamacppWriter::whole(const AnswerState& state) const {
    std::string body = R"({"choices":[{)";
    if (chat()) {
        fmt::format_to(std::back_inserter(body), R"("finish_reason":"{}","index":0,)",
                       terms_.plan.finish_reason);
        append_message(body);
    } else {
        body += R"("text":")";
        append_escaped_text(body, terms_.plan, 0, terms_.plan.tokens);
        fmt::format_to(std::back_inserter(body), R"(","index":0,"logprobs":null,"finish_reason":"{}")",
                       terms_.plan.finish_reason);
    }
    body += '}';
    body += tail_;
    append_usage(body, state);
    body += id_;
    append_timings(body, terms_.plan.tokens, state);
    return body += '}';
}

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

/// Returns the body of an error, which has a type per status and no parameter.
std::string llamacpp_error(const Refusal& refusal) {
    std::string type(type_of(refusal.status));
    std::string message = refusal.fault ? message_of(*refusal.fault) : refusal.message;
    std::string more;
    if (const auto& too_long = refusal.too_long) {
        type = "exceed_context_size_error";
        message = fmt::format(
            "request ({} tokens) exceeds the available context size ({} tokens), try increasing it",
            too_long->prompt_tokens, too_long->context);
        more = fmt::format(R"(,"n_prompt_tokens":{},"n_ctx":{})", too_long->prompt_tokens, too_long->context);
    }
    return fmt::format(R"({{"error":{{"code":{},"message":{},"type":"{}"{}}}}})", refusal.status,
                       json_string(message), type, more);
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
    .error_body = llamacpp_error,
    .unauthorized =
        [] {
            return ApiError{401, llamacpp_error({.status = 401, .message = "Invalid API Key"})};
        },
    .not_found = file_not_found,
    // Its library finds paths by their method, so that another method is another path.
    .method_not_allowed = file_not_found,
    .models = llamacpp_models,
    .props = llamacpp_props,
    .tokens = llamacpp_tokens,
    .writer = [](AnswerTerms terms) -> std::unique_ptr<AnswerWriter> {
        return std::make_unique<LlamacppWriter>(std::move(terms));
    },
    .metrics = llamacpp_metrics};

}  // namespace paretoken::sim
