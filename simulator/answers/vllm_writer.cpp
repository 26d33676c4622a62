#include "simulator/answers/vllm_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/version.h"
#include "simulator/answers/json_text.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

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

}  // namespace

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

}  // namespace paretoken::sim
