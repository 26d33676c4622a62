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
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

// Frames of answers.

std::size_t open_event(std::string& out, Framing framing) {
    const std::size_t begin = open_chunk(out, framing);
    out += "data: ";
    return begin;
}

void close_event(std::string& out, std::size_t begin, Framing framing) {
    out += "\n\n";
    close_chunk(out, begin, framing);
}

std::string tool_call_id(std::string_view id) {
    return fmt::format("chatcmpl-tool-{}", id);
}

/// Writes answers in the frames of vLLM 0.32: an event per chunk, the finish reason in the last token's
/// event, usage after it. Keys and their order are those of recorded streams.
class VllmWriter final : public AnswerWriter {
  public:
    explicit VllmWriter(AnswerTerms terms);

    void append_opening(std::string& out) const override;
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t) const override { return 1; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  private:
    bool chat() const { return terms_.endpoint == Endpoint::chat; }
    void append_delta(std::string& out, std::int64_t first, std::int64_t end) const;
    void append_choice_end(std::string& out, std::int64_t first, std::int64_t end) const;
    void append_usage(std::string& out, std::int64_t tokens, std::string_view details) const;
    void append_prompt_ids(std::string& out) const;
    void append_message(std::string& out) const;
    void append_token_ids(std::string& out, std::int64_t first, std::int64_t end) const;
    std::string reasoning_details(std::int64_t tokens) const;
    std::string whole_details(const AnswerState& state) const;

    AnswerTerms terms_;
    std::string head_;         ///< beginning of every frame, up to the choices
    std::string fingerprint_;  ///< fingerprint of the last frame
};

VllmWriter::VllmWriter(AnswerTerms terms)
    : terms_(std::move(terms)),
      fingerprint_(fmt::format(R"(,"system_fingerprint":"paretoken-{}")", version())) {
    const std::string_view object = !chat()         ? "text_completion"
                                    : terms_.stream ? "chat.completion.chunk"
                                                    : "chat.completion";
    head_ = fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
                        json_string(fmt::format("{}-{}", chat() ? "chatcmpl" : "cmpl", terms_.id)), object,
                        terms_.created, json_string(terms_.model));
}

void VllmWriter::append_usage(std::string& out, std::int64_t tokens, std::string_view details) const {
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}{}}})",
                   terms_.prompt_tokens, terms_.prompt_tokens + tokens, tokens, details);
}

/// Returns the details of usage. A chat has the key, null if reasoning is not counted separately; a
/// completion does not.
std::string VllmWriter::reasoning_details(std::int64_t tokens) const {
    if (!chat()) return {};
    if (!terms_.reasoning_model) return R"(,"completion_tokens_details":null)";
    return fmt::format(R"(,"completion_tokens_details":{{"reasoning_tokens":{}}})",
                       std::min(tokens, terms_.plan.reasoning_tokens));
}

void VllmWriter::append_opening(std::string& out) const {
    if (!chat()) return;
    const std::size_t begin = open_event(out, terms_.framing);
    out += head_;
    out += R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}])";
    if (terms_.continuous_usage) append_usage(out, 0, reasoning_details(0));
    append_prompt_ids(out);
    out += R"(,"prompt_text":null})";
    close_event(out, begin, terms_.framing);
}

/// Appends the keys of a delta: the text of each part, with the parts of one tool call merged.
void VllmWriter::append_delta(std::string& out, std::int64_t first, std::int64_t end) const {
    const AnswerPlan& plan = terms_.plan;
    const std::int64_t answer = std::clamp(plan.reasoning_tokens, first, end);
    if (plan.tool.empty() && answer < end) {
        out += R"("content":")";
        append_escaped_text(out, plan, answer, end);
        out += answer > first ? R"(",)" : R"(")";
    }
    if (first < answer) {
        out += R"("reasoning":")";
        append_escaped_text(out, plan, first, answer);
        out += '"';
    }
    if (plan.tool.empty() || answer == end) return;
    if (first < answer) out += ',';
    out += R"("tool_calls":[{)";
    const bool named = part_of(plan, answer) == Part::tool_name;
    if (named) out.append(R"("id":")").append(tool_call_id(terms_.id)).append(R"(","type":"function",)");
    out += R"("index":0,"function":{)";
    const std::int64_t arguments = named ? answer + 1 : answer;
    if (named) out.append(R"("name":)").append(json_string(plan.tool));
    if (arguments < end) {
        out += named ? R"(,"arguments":")" : R"("arguments":")";
        append_escaped_text(out, plan, arguments, end);
        out += '"';
    }
    out += "}}]";
}

void VllmWriter::append_token_ids(std::string& out, std::int64_t first, std::int64_t end) const {
    out += R"("token_ids":[)";
    for (std::int64_t k = first; k < end; ++k) {
        fmt::format_to(std::back_inserter(out), "{}{}", k == first ? "" : ",",
                       token_id_of(piece_of(terms_.plan, k), terms_.vocabulary));
    }
    out += ']';
}

/// Appends the end of a choice, from the finish reason on.
void VllmWriter::append_choice_end(std::string& out, std::int64_t first, std::int64_t end) const {
    const bool last = end == terms_.plan.tokens;
    if (last) {
        out.append("\"").append(terms_.plan.finish_reason).append("\"");
    } else {
        out += "null";
    }
    if (!chat() || last) out += R"(,"stop_reason":null)";
    if (!chat() && first == 0) {
        append_prompt_ids(out);
    } else if (!chat()) {
        out += R"(,"prompt_token_ids":null)";
    }
    out += ',';
    if (terms_.token_ids) {
        append_token_ids(out, first, end);
    } else {
        out += R"("token_ids":null)";
    }
    out += "}]";
}

void VllmWriter::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                               const AnswerState& state) const {
    const std::int64_t end = first + count;
    const std::size_t begin = open_event(out, terms_.framing);
    out += head_;
    if (chat()) {
        out += R"({"index":0,"delta":{)";
        append_delta(out, first, end);
        out += R"(},"logprobs":null,"finish_reason":)";
    } else {
        out += R"({"index":0,"text":")";
        append_escaped_text(out, terms_.plan, first, end);
        out += R"(","logprobs":null,"finish_reason":)";
    }
    append_choice_end(out, first, end);
    if (terms_.continuous_usage) append_usage(out, end, reasoning_details(end));
    if (!terms_.include_usage && end == terms_.plan.tokens) out += fingerprint_;
    append_event_truth(out, state);
    out += '}';
    close_event(out, begin, terms_.framing);
}

void VllmWriter::append_closing(std::string& out, const AnswerState& state) const {
    if (terms_.include_usage) {
        const std::size_t begin = open_event(out, terms_.framing);
        out += head_;
        out += ']';
        std::string details;
        if (state.cached_tokens) {
            details = fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}{}}})",
                                  *state.cached_tokens, chat() ? R"(,"created_cache_tokens":0)" : "");
        }
        if (terms_.reasoning_model) details += reasoning_details(terms_.plan.tokens);
        append_usage(out, terms_.plan.tokens, details);
        out += fingerprint_;
        out += '}';
        close_event(out, begin, terms_.framing);
    }
    const std::size_t begin = open_event(out, terms_.framing);
    out += "[DONE]";
    close_event(out, begin, terms_.framing);
    append_end(out, terms_.framing);
}

void VllmWriter::append_prompt_ids(std::string& out) const {
    if (terms_.token_ids) {
        fmt::format_to(std::back_inserter(out), R"(,"prompt_token_ids":[{}])",
                       fmt::join(terms_.prompt_token_ids, ","));
    } else {
        out += R"(,"prompt_token_ids":null)";
    }
}

void VllmWriter::append_message(std::string& out) const {
    const AnswerPlan& plan = terms_.plan;
    const std::int64_t answer = std::min(plan.reasoning_tokens, plan.tokens);
    const auto append_text = [&](std::int64_t first, std::int64_t end) {
        if (first == end) {
            out += "null";
            return;
        }
        out += '"';
        append_escaped_text(out, plan, first, end);
        out += '"';
    };
    out += R"("message":{"role":"assistant","content":)";
    append_text(answer, plan.tool.empty() ? plan.tokens : answer);
    out += R"(,"refusal":null,"annotations":null,"audio":null,"function_call":null)";
    if (!plan.tool.empty() && answer < plan.tokens) {
        fmt::format_to(std::back_inserter(out),
                       R"(,"tool_calls":[{{"id":"{}","type":"function","function":{{"name":{},"arguments":")",
                       tool_call_id(terms_.id), json_string(plan.tool));
        append_escaped_text(out, plan, answer + 1, plan.tokens);
        out += R"("}}])";
    }
    out += R"(,"reasoning":)";
    append_text(0, answer);
    out += '}';
}

std::string VllmWriter::whole(const AnswerState& state) const {
    const AnswerPlan& plan = terms_.plan;
    std::string body = head_ + R"({"index":0,)";
    if (chat()) {
        append_message(body);
    } else {
        body += R"("text":")";
        append_escaped_text(body, plan, 0, plan.tokens);
        body += '"';
    }
    fmt::format_to(std::back_inserter(body), R"(,"logprobs":null,"finish_reason":"{}","stop_reason":null,)",
                   plan.finish_reason);
    if (terms_.token_ids) {
        append_token_ids(body, 0, plan.tokens);
    } else {
        body += R"("token_ids":null)";
    }
    if (!chat()) {
        body += R"(,"prompt_logprobs":null)";
        append_prompt_ids(body);
    }
    body += R"(,"routed_experts":null}],"service_tier":null)" + fingerprint_;
    append_usage(body, plan.tokens, whole_details(state));
    if (chat()) {
        body += R"(,"prompt_logprobs":null)";
        append_prompt_ids(body);
        body += R"(,"prompt_text":null)";
    }
    return body += R"(,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null})";
}

std::string VllmWriter::whole_details(const AnswerState& state) const {
    std::string cached = "null";
    if (state.cached_tokens) {
        cached = fmt::format(R"({{"cached_tokens":{},"created_cache_tokens":{},"multimodal_tokens":null}})",
                             *state.cached_tokens, chat() ? "0" : "null");
    }
    const std::string reasoning =
        chat() ? reasoning_details(terms_.plan.tokens) : R"(,"completion_tokens_details":null)";
    return fmt::format(R"(,"prompt_tokens_details":{}{})", cached, reasoning);
}

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

std::string vllm_error(const Refusal& refusal) {
    std::string type = refusal.type;
    std::string message = refusal.message;
    std::string param = refusal.param;
    if (const auto& fault = refusal.fault) {
        type = "Bad Request";
        param = fault->field.empty() ? "body" : fmt::format("body.{}", fault->field);
        message = fmt::format("1 validation error:\n  {{'type': '{}', 'loc': '{}', 'msg': '{}'}}",
                              fault->type, param, fault->message);
    } else if (const auto& too_long = refusal.too_long) {
        param = "input_tokens";
        message = fmt::format(
            "This model's maximum context length is {} tokens. However, your prompt contains at least {} "
            "input tokens, which exceeds this limit even without any output tokens. Please reduce the "
            "length of the input prompt. (parameter=input_tokens, value={})",
            too_long->context, too_long->prompt_tokens, too_long->prompt_tokens);
    }
    return fmt::format(R"({{"error":{{"message":{},"type":{},"param":{},"code":{}}}}})", json_string(message),
                       json_string(type), param.empty() ? "null" : json_string(param), refusal.status);
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
                          .error_body = vllm_error,
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
                          .writer = [](AnswerTerms terms) -> std::unique_ptr<AnswerWriter> {
                              return std::make_unique<VllmWriter>(std::move(terms));
                          },
                          .metrics = vllm_metrics};

}  // namespace paretoken::sim
