#include "simulator/answers/dialect.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

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

std::string vllm_head(const HttpHead& head) {
    std::string out = fmt::format("HTTP/1.1 {} {}\r\nserver: paretoken\r\ncontent-type: {}\r\n", head.status,
                                  reason_phrase(head.status), head.content_type);
    if (head.status == 429) out += "retry-after: 1\r\n";
    if (head.gzip) out += "content-encoding: gzip\r\n";
    if (head.framing == Framing::chunked) out += "transfer-encoding: chunked\r\n";
    if (head.framing == Framing::length)
        fmt::format_to(std::back_inserter(out), "content-length: {}\r\n", head.length);
    if (!head.keep_alive) out += "connection: close\r\n";
    return out += "\r\n";
}

ErrorWords vllm_error_words(const Refusal& refusal) {
    if (const auto& fault = refusal.fault) {
        const std::string param = fault->field.empty() ? "body" : fmt::format("body.{}", fault->field);
        return {.type = "Bad Request",
                .message = fmt::format("1 validation error:\n  {{'type': '{}', 'loc': '{}', 'msg': '{}'}}",
                                       fault->type, param, fault->message),
                .param = param};
    }
    if (const auto& too_long = refusal.too_long) {
        return {.type = refusal.type,
                .message = fmt::format(
                    "This model's maximum context length is {} tokens. However, your prompt contains at "
                    "least {} input tokens, which exceeds this limit even without any output tokens. Please "
                    "reduce the length of the input prompt. (parameter=input_tokens, value={})",
                    too_long->context, too_long->prompt_tokens, too_long->prompt_tokens),
                .param = "input_tokens"};
    }
    return {.type = refusal.type, .message = refusal.message, .param = refusal.param};
}

std::string vllm_error(const Refusal& refusal) {
    const ErrorWords words = vllm_error_words(refusal);
    return fmt::format(R"({{"message":{},"type":{},"param":{},"code":{}}})", json_string(words.message),
                       json_string(words.type), words.param.empty() ? "null" : json_string(words.param),
                       refusal.status);
}

// Answers about the server.

std::string vllm_models(const ServedModel& model, std::int64_t created) {
    const std::string name = json_string(model.name);
    return fmt::format(
        R"({{"object":"list","data":[{{"id":{},"object":"model","created":{},"owned_by":"paretoken",)"
        R"("root":{},"parent":null,"max_model_len":{},"permission":[]}}]}})",
        name, created, name, model.context_limit);
}

std::string vllm_tokens(const TokenList& tokens, const ServedModel& model, bool with_pieces) {
    std::string pieces = "null";
    if (with_pieces) {
        pieces = "[";
        for (const std::string& piece : tokens.pieces)
            pieces.append(pieces.size() > 1 ? "," : "").append(json_string(piece));
        pieces += ']';
    }
    return fmt::format(R"({{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":{}}})",
                       tokens.ids.size(), model.context_limit, fmt::join(tokens.ids, ","), pieces);
}

// Metrics, with the names of vLLM v1.

void append_header(std::string& out, std::string_view name, std::string_view type) {
    fmt::format_to(std::back_inserter(out), "# TYPE vllm:{} {}\n", name, type);
}

void append_value(std::string& out, std::string_view name, std::string_view type, std::string_view labels,
                  double value) {
    append_header(out, name, type);
    fmt::format_to(std::back_inserter(out), "vllm:{}{{{}}} {}\n", name, labels, value);
}

/// Appends the metrics that only a server with speculation has.
void append_speculation(std::string& out, const EngineState& engine, std::string_view labels) {
    append_value(out, "spec_decode_num_drafts_total", "counter", labels, static_cast<double>(engine.drafts));
    append_value(out, "spec_decode_num_draft_tokens_total", "counter", labels,
                 static_cast<double>(engine.draft_tokens));
    append_value(out, "spec_decode_num_accepted_tokens_total", "counter", labels,
                 static_cast<double>(engine.accepted_tokens));
    append_header(out, "spec_decode_num_accepted_tokens_per_pos_total", "counter");
    for (std::size_t i = 0; i < engine.accepted_per_position.size(); ++i) {
        fmt::format_to(std::back_inserter(out),
                       "vllm:spec_decode_num_accepted_tokens_per_pos_total{{{},position=\"{}\"}} {}\n",
                       labels, i, engine.accepted_per_position[i]);
    }
}

double share_of_blocks(const EngineState& engine) {
    return engine.blocks == 0 ? 0
                              : static_cast<double>(engine.blocks_used) / static_cast<double>(engine.blocks);
}

std::string vllm_metrics(const Telemetry& telemetry, const EngineState& engine, const Profile& profile,
                         std::string_view model) {
    const std::string labels = fmt::format("engine=\"0\",model_name=\"{}\"", model);
    std::string out;
    append_value(out, "num_requests_running", "gauge", labels, static_cast<double>(engine.running));
    append_value(out, "num_requests_waiting", "gauge", labels, static_cast<double>(engine.waiting));
    append_value(out, "kv_cache_usage_perc", "gauge", labels, share_of_blocks(engine));
    append_value(out, "num_preemptions_total", "counter", labels, static_cast<double>(engine.preemptions));
    append_value(out, "prefix_cache_queries_total", "counter", labels,
                 static_cast<double>(engine.prefix_queries));
    append_value(out, "prefix_cache_hits_total", "counter", labels, static_cast<double>(engine.prefix_hits));
    append_value(out, "prompt_tokens_total", "counter", labels, static_cast<double>(telemetry.prompt_tokens));
    append_value(out, "generation_tokens_total", "counter", labels,
                 static_cast<double>(telemetry.generation_tokens));
    append_value(out, "prompt_tokens_cached_total", "counter", labels,
                 static_cast<double>(telemetry.cached_tokens));
    if (profile.speculative_tokens > 0) append_speculation(out, engine, labels);
    append_header(out, "request_success_total", "counter");
    const std::pair<std::string_view, std::uint64_t> ends[] = {
        {"stop", telemetry.stopped}, {"length", telemetry.reached_length}, {"abort", telemetry.aborted}};
    for (const auto& [reason, count] : ends) {
        fmt::format_to(std::back_inserter(out),
                       "vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels, reason, count);
    }
    append_header(out, "cache_config_info", "gauge");
    fmt::format_to(std::back_inserter(out),
                   "vllm:cache_config_info{{block_size=\"{}\",engine=\"0\",num_gpu_blocks=\"{}\"}} 1\n",
                   profile.block_tokens, engine.blocks);
    telemetry.time_to_first_token.append_text(out, "vllm:time_to_first_token_seconds", labels);
    telemetry.inter_token_latency.append_text(out, "vllm:inter_token_latency_seconds", labels);
    telemetry.time_per_output_token.append_text(out, "vllm:request_time_per_output_token_seconds", labels);
    telemetry.request_latency.append_text(out, "vllm:e2e_request_latency_seconds", labels);
    telemetry.queue_time.append_text(out, "vllm:request_queue_time_seconds", labels);
    telemetry.prefill_time.append_text(out, "vllm:request_prefill_time_seconds", labels);
    telemetry.decode_time.append_text(out, "vllm:request_decode_time_seconds", labels);
    return out;
}

}  // namespace

const DialectTraits kVllm{.name = "vllm",
                          .types = {.json = "application/json",
                                    .events = "text/event-stream; charset=utf-8",
                                    .prometheus = "text/plain; version=0.0.4; charset=utf-8"},
                          .tokenize = {.text = "prompt",
                                       .special = "add_special_tokens",
                                       .special_unless_told = true,
                                       .pieces = "return_token_strs",
                                       .messages = true,
                                       .text_is_required = true},
                          .version = true,
                          .head = vllm_head,
                          .error_words = vllm_error_words,
                          .error_object = vllm_error,
                          .unauthorized =
                              [] {
                                  return ApiError{401, R"({"error":"Unauthorized"})"};
                              },
                          .not_found =
                              [] {
                                  return ApiError{404, R"({"detail":"Not Found"})"};
                              },
                          .method_not_allowed =
                              [] {
                                  return ApiError{405, R"({"detail":"Method Not Allowed"})"};
                              },
                          .models = vllm_models,
                          .tokens = vllm_tokens,
                          .metrics = vllm_metrics};

}  // namespace paretoken::sim
