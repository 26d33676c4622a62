#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "simulator/answers/choices.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/request_reader.h"

namespace paretoken::sim {
namespace {

constexpr ChoiceNames kChatNames{
    .id_prefix = "chatcmpl", .event = "chat.completion.chunk", .whole = "chat.completion"};

// Requests.

std::string_view name_of_function(const dom::element& tool) {
    const dom::object object = object_of(tool, "tools");
    const auto function = field_of(object, "function");
    dom::object inner;
    if (!function || function->get(inner) != simdjson::SUCCESS)
        refuse_field("missing", "tools.function", "Field required");
    return required_text(inner, "name", "tools.function.name");
}

ToolChoice choice_of_function(const dom::element& choice) {
    std::string_view word;
    if (choice.get(word) == simdjson::SUCCESS) return {.none = word == "none"};
    return {.name = name_of_function(choice)};
}

std::optional<std::int64_t> read_chat_options(const RequestBody& body, const ServedModel& model,
                                              GenerationRequest& request) {
    const auto asked = read_choice_options(body, "max_completion_tokens", model, request);
    choose_tool(body.fields, name_of_function, choice_of_function, request);
    return asked;
}

void read_chat(const RequestBody& body, const ServedModel&, TokenSink& sink) {
    read_chat_prompt(body.fields, sink);
}

// Answers of vLLM.

std::string tool_call_id(std::string_view id) {
    return fmt::format("chatcmpl-tool-{}", id);
}

class VllmChat final : public VllmChoices {
  public:
    explicit VllmChat(AnswerTerms terms) : VllmChoices(std::move(terms), kChatNames) {}

    void append_opening(std::string& out) const override;

  private:
    void append_choice(std::string& out, std::int64_t first, std::int64_t end, bool last) const override;
    void append_output(std::string& out) const override;
    void append_whole_end(std::string& out) const override;
    void append_delta(std::string& out, std::int64_t first, std::int64_t end) const;
};

/// Appends the event with the role.
void VllmChat::append_opening(std::string& out) const {
    const std::size_t begin = open_frame(out);
    out += R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}])";
    append_continuous_usage(out, 0);
    append_prompt_ids(out);
    out += R"(,"prompt_text":null)";
    close_frame(out, begin);
}

/// Appends the keys of a delta: the text of each part, with the parts of one tool call merged.
void VllmChat::append_delta(std::string& out, std::int64_t first, std::int64_t end) const {
    const AnswerPlan& plan = terms().plan;
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
    if (named) out.append(R"("id":")").append(tool_call_id(terms().id)).append(R"(","type":"function",)");
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

void VllmChat::append_choice(std::string& out, std::int64_t first, std::int64_t end, bool last) const {
    out += R"({"index":0,"delta":{)";
    append_delta(out, first, end);
    out += R"(},"logprobs":null,"finish_reason":)";
    append_finish_reason(out, last);
    if (last) out += R"(,"stop_reason":null)";
    out += ',';
    append_token_ids(out, first, end);
    out += '}';
}

void VllmChat::append_output(std::string& out) const {
    const AnswerPlan& plan = terms().plan;
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
                       tool_call_id(terms().id), json_string(plan.tool));
        append_escaped_text(out, plan, answer + 1, plan.tokens);
        out += R"("}}])";
    }
    out += R"(,"reasoning":)";
    append_text(0, answer);
    out += '}';
}

void VllmChat::append_whole_end(std::string& out) const {
    out += R"(,"prompt_logprobs":null)";
    append_prompt_ids(out);
    out += R"(,"prompt_text":null)";
}

// Answers of llama.cpp.

/// Writes the event with the role in one chunk with the first token's event.
class LlamacppChat final : public LlamacppChoices {
  public:
    explicit LlamacppChat(AnswerTerms terms) : LlamacppChoices(std::move(terms), kChatNames) {}

  private:
    void append_first(std::string& out) const override;
    void append_choice(std::string& out, std::int64_t k) const override;
    void append_finish(std::string& out, const AnswerState& state) const override;
    void append_whole_choice(std::string& out) const override;
    void append_delta(std::string& out, std::int64_t k) const;
};

void LlamacppChat::append_first(std::string& out) const {
    open_frame(out);
    out += R"({"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}})";
    append_tail(out);
    close_frame(out);
}

void LlamacppChat::append_delta(std::string& out, std::int64_t k) const {
    const AnswerPlan& plan = terms().plan;
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
                           terms().id, json_string(plan.tool));
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

void LlamacppChat::append_choice(std::string& out, std::int64_t k) const {
    out += R"({"finish_reason":null,"index":0,"delta":{)";
    append_delta(out, k);
    out += "}}";
}

void LlamacppChat::append_finish(std::string& out, const AnswerState& state) const {
    open_frame(out);
    fmt::format_to(std::back_inserter(out), R"({{"finish_reason":"{}","index":0,"delta":{{}}}})",
                   terms().plan.finish_reason);
    append_tail(out);
    if (terms().include_usage) {
        close_frame(out);
        open_frame(out);
        append_tail(out);
        append_usage(out, state);
    }
    append_timings(out, terms().plan.tokens, state);
    close_frame(out);
}

void LlamacppChat::append_whole_choice(std::string& out) const {
    const AnswerPlan& plan = terms().plan;
    const std::int64_t answer = std::min(plan.reasoning_tokens, plan.tokens);
    fmt::format_to(std::back_inserter(out),
                   R"("finish_reason":"{}","index":0,"message":{{"role":"assistant","content":)",
                   plan.finish_reason);
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
        fmt::format_to(std::back_inserter(out), R"("}},"id":"{}"}}])", terms().id);
    }
    out += '}';
}

template <class Writer>
std::unique_ptr<AnswerWriter> chat_writer(AnswerTerms terms) {
    return std::make_unique<Writer>(std::move(terms));
}

}  // namespace

/// OpenAI's chat completions.
constinit const ProtocolTraits kChat{
    .path = "/v1/chat/completions",
    .prompt_key = "messages",
    .read_options = read_chat_options,
    .read_prompt = read_chat,
    .vllm = {.writer = chat_writer<VllmChat>, .failure = choices_failure},
    .llamacpp = {.writer = chat_writer<LlamacppChat>, .failure = choices_failure}};

}  // namespace paretoken::sim
