#include <array>

#include "loadgen/protocol/event_reader.h"
#include "loadgen/protocol/json_text.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kHeaders{{
    {"anthropic-version", "2023-06-01"},
}};

/// Reasons in the words of chat completions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kReasons{{
    {"end_turn", "stop"},
    {"stop_sequence", "stop"},
    {"max_tokens", "length"},
    {"tool_use", "tool_calls"},
    {"refusal", "content_filter"},
}};

std::string_view reason_of(std::string_view text) {
    for (const auto& [name, reason] : kReasons)
        if (name == text) return reason;
    return text;
}

/// Appends the messages. The protocol has no messages of the system: their text becomes the field "system".
void append_prompt(std::string& out, const Prompt& prompt) {
    if (const auto* messages = std::get_if<Messages>(&prompt)) {
        std::string system;
        for (const Message& message : *messages) {
            if (message.role != "system") continue;
            if (!system.empty()) system += '\n';
            system += message.content;
        }
        if (!system.empty()) {
            out += "\"system\":";
            append_json_string(out, system);
            out += ',';
        }
    }
    out += "\"messages\":";
    append_messages(out, prompt, "system");
}

/// Texts that an event adds to a block, or to the message, and that are no output.
constexpr std::array<std::string_view, 1> kNoOutput = {"stop_sequence"};

/// Reads a content block, or what an event adds to one. A tool's name comes with the block's start. Redacted
/// thinking, and the signature of thinking that is not shown, tell that there was reasoning.
bool read_block(Value& block, bool is_added, Delta& delta, Reading& reading) {
    return for_each_field(block, [&](Key key, Value value) {
        if (key == "text") {
            reading.holes.add(ShapeHole::Kind::output, value);
            return add_text(value, reading.output.content, reading.output.reasoning);
        }
        if (key == "thinking") {
            reading.holes.add(ShapeHole::Kind::output, value);
            return add_text(value, reading.output.reasoning, reading.output.reasoning);
        }
        if (key == "partial_json" || key == "name") {
            reading.holes.add(ShapeHole::Kind::output, value);
            return add_text(value, reading.output.tool_call, reading.output.tool_call);
        }
        if (key == "type") {
            reading.hidden_reasoning |= text_of(value) == "redacted_thinking";
            return true;
        }
        if (key == "signature") {
            reading.hidden_reasoning |= has_text(value);
            return true;
        }
        if (key == "stop_reason") {
            if (const auto reason = text_of(value); reason && !is_no_reason(*reason))
                state_reason(reason_of(*reason), *reason, delta, *reading.secrets);
            return true;
        }
        return !is_added || is_one_of(kNoOutput, key) || note_unknown_text("delta", key, value, reading);
    });
}

/// Reads the message that an answer begins with: its model and its usage, whose count of output tokens is
/// that of the beginning.
bool read_start(Value& message, Delta& delta, Reading& reading) {
    return for_each_field(message, [&](Key key, Value value) {
        if (key == "model") return read_model(value, reading);
        if (key != "usage") return true;
        const bool whole = read_usage(value, delta);
        if (delta.usage) delta.usage->completion.reset();
        return whole;
    });
}

bool read_field(Key key, Value& value, Delta& delta, Reading& reading) {
    if (key == "type") return read_type(value, reading);
    if (key == "delta" || key == "content_block") return read_block(value, key == "delta", delta, reading);
    return key == "message" ? read_start(value, delta, reading) : true;
}

void complete(Delta& delta, Reading& reading) {
    delta.done = reading.type == "message_stop";
    // llama.cpp sends the error itself as the event: {"code":500,"message":"…","type":"server_error"}.
    reading.error |= reading.type.ends_with("_error");
}

void append_text(dom::element event, std::string& out) {
    out += text_in(event["delta"], "text");
    out += text_in(event["content_block"], "text");
}

void read_whole(dom::element answer, WholeAnswer& whole) {
    whole.own_reason = text_in(answer, "stop_reason");
    whole.finish_reason = reason_of(whole.own_reason);
    dom::array blocks;
    if (answer["content"].get(blocks)) return;
    for (const dom::element block : blocks) {
        const std::string_view text = text_in(block, "text");
        whole.text += text;
        whole.text_bytes += text.size() + text_in(block, "thinking").size();
        if (dom::element input; !block["input"].get(input))
            whole.text_bytes += simdjson::minify(input).size();
    }
}

constexpr EventFormat kFormat{
    .read_field = read_field, .complete = complete, .append_text = append_text, .read_whole = read_whole};

}  // namespace

/// Anthropic's Messages, which vLLM and llama.cpp serve too. An answer ends with message_stop.
/// Source: https://docs.anthropic.com/en/api/messages-streaming
constinit const Protocol kMessages{.name = "messages",
                                   .path = "/v1/messages",
                                   .chat_template = true,
                                   .takes_token_ids = false,
                                   .prompt_key = "messages",
                                   .limit_key = "max_tokens",
                                   .reasoning_limit_key = "max_tokens",
                                   .headers = kHeaders,
                                   .append_prompt = append_prompt,
                                   .events = &kFormat};

}  // namespace paretoken::protocol
