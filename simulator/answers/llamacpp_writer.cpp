#include "simulator/answers/llamacpp_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/version.h"
#include "simulator/answers/json_text.h"

namespace paretoken::sim {
namespace {

constexpr std::string_view kEvent = "data: ";
constexpr std::string_view kEventEnd = "\n\n";

double milliseconds_of(Duration time) {
    return std::max(0.001, seconds(time) * 1e3);
}

}  // namespace

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

}  // namespace paretoken::sim
