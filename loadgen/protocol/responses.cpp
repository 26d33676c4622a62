#include <array>

#include "loadgen/protocol/body.h"
#include "loadgen/protocol/event_reader.h"
#include "loadgen/protocol/json_text.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {
namespace {

constexpr std::array kFields = {
    OptionalField{.name = "ignore_eos", .flag = &BodyOptions::ignore_eos, .fields = R"({"ignore_eos":true})"},
};

/// Types of events whose "delta" is output, and what it is.
constexpr std::array<std::pair<std::string_view, EventKind>, 9> kOutputTypes{{
    {"response.output_text.delta", EventKind::content},
    {"response.refusal.delta", EventKind::content},
    {"response.reasoning.delta", EventKind::reasoning},
    {"response.reasoning_text.delta", EventKind::reasoning},
    {"response.reasoning_summary.delta", EventKind::reasoning},
    {"response.reasoning_summary_text.delta", EventKind::reasoning},
    {"response.function_call_arguments.delta", EventKind::tool_call},
    {"response.custom_tool_call_input.delta", EventKind::tool_call},
    {"response.mcp_call_arguments.delta", EventKind::tool_call},
}};

/// Type of the event that has the whole text of a part, whose pieces came before.
constexpr std::string_view kWholeText = "response.output_text.done";

void append_prompt(std::string& out, const Prompt& prompt) {
    out += "\"input\":";
    append_messages(out, prompt);
}

/// Returns the reason in the words of chat completions; empty while the response is in progress.
std::string_view reason_of(std::string_view status, std::string_view incomplete) {
    if (incomplete == "max_output_tokens") return "length";
    if (!incomplete.empty()) return incomplete;
    if (status == "completed") return "stop";
    return status == "in_progress" || status == "queued" ? std::string_view() : status;
}

/// Reads the response as a whole: its usage and how it ended. Its texts came before.
bool read_response(Value& response, Delta& delta, Reading& reading) {
    std::string_view status, incomplete;
    const bool whole = for_each_field(response, [&](Key key, Value value) {
        if (key == "usage") return read_usage(value, delta);
        if (key == "error") return read_error(value, reading.error);
        if (key == "model") return read_model(value, reading);
        if (key == "status") status = text_of(value).value_or(std::string_view());
        if (key == "incomplete_details") {
            return for_each_field(value, [&](Key inner_key, Value inner) {
                if (inner_key == "reason") incomplete = text_of(inner).value_or(std::string_view());
                return true;
            });
        }
        return true;
    });
    const std::string_view reason = reason_of(status, incomplete);
    if (!reason.empty())
        state_reason(reason, incomplete.empty() ? status : incomplete, delta, *reading.secrets);
    return whole;
}

/// Reads an item of the output as far as it tells of reasoning.
bool read_item(Value& item, Reading& reading) {
    return for_each_field(item, [&](Key key, Value value) {
        if (key == "type") reading.hidden_reasoning |= text_of(value) == "reasoning";
        return true;
    });
}

bool read_field(Key key, Value& value, Delta& delta, Reading& reading) {
    if (key == "type") return read_type(value, reading);
    if (key == "item") return read_item(value, reading);
    if (key == "text" && has_text(value)) delta.whole_text_in = kWholeText;
    if (key == "delta") {
        reading.holes.add(ShapeHole::Kind::output, value);
        return add_text(value, reading.typed_bytes, reading.typed_bytes);
    }
    if (key == "response") return read_response(value, delta, reading);
    if (key == "logprobs") return count_elements(value, reading.logprobs);
    if (key == "item_id") {
        reading.holes.add(ShapeHole::Kind::string, value);
    } else if (key == "sequence_number") {
        reading.holes.add(ShapeHole::Kind::number, value);
    }
    return true;
}

void complete(Delta& delta, Reading& reading) {
    for (const auto& [type, kind] : kOutputTypes) {
        if (reading.type != type) continue;
        (kind == EventKind::content     ? reading.output.content
         : kind == EventKind::reasoning ? reading.output.reasoning
                                        : reading.output.tool_call) = reading.typed_bytes;
        return;
    }
    reading.logprobs = 0;
    if (reading.type != kWholeText) delta.whole_text_in = {};
    if (reading.typed_bytes != 0) reading.unknown_name = reading.type;
    reading.error |= reading.type == "error";
    delta.done = reading.type == "response.completed" || reading.type == "response.incomplete" ||
                 reading.type == "response.failed";
}

void append_text(dom::element event, std::string& out) {
    out += text_in(event, "delta");
}

void read_whole(dom::element answer, WholeAnswer& whole) {
    std::string_view incomplete;
    if (dom::element details; !answer["incomplete_details"].get(details))
        incomplete = text_in(details, "reason");
    const std::string_view status = text_in(answer, "status");
    whole.finish_reason = reason_of(status, incomplete);
    whole.own_reason = incomplete.empty() ? status : incomplete;
    dom::array items, parts;
    if (answer["output"].get(items)) return;
    for (const dom::element item : items) {
        whole.text_bytes += text_in(item, "arguments").size();
        if (item["content"].get(parts)) continue;
        for (const dom::element part : parts) {
            const std::string_view text = text_in(part, "text");
            whole.text_bytes += text.size();
            if (text_in(part, "type") == "output_text") whole.text += text;
        }
    }
}

constexpr EventFormat kFormat{
    .read_field = read_field, .complete = complete, .append_text = append_text, .read_whole = read_whole};

}  // namespace

/// OpenAI's Responses. Nothing is stored on the server. An answer ends with the event of the whole response.
/// Source: https://platform.openai.com/docs/api-reference/responses-streaming
constinit const Protocol kResponses{.name = "responses",
                                    .path = "/v1/responses",
                                    .chat_template = true,
                                    .takes_token_ids = false,
                                    .prompt_key = "input",
                                    .limit_key = "max_output_tokens",
                                    .reasoning_limit_key = "max_output_tokens",
                                    .constant_fields = R"({"store":false})",
                                    .optional_fields = kFields,
                                    .append_prompt = append_prompt,
                                    .events = &kFormat};

}  // namespace paretoken::protocol
