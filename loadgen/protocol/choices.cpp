#include "loadgen/protocol/choices.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "loadgen/protocol/event_reader.h"

namespace paretoken::protocol {
namespace {

/// Counts the bytes of texts in tool calls: a function's name and arguments (some servers send an object), a
/// custom tool's input.
bool add_tool_call(ondemand::value& value, std::size_t& bytes, Holes& holes) {
    if (type_of(value) == ondemand::json_type::array) {
        return for_each_element(value, [&](Value call) { return add_tool_call(call, bytes, holes); });
    }
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "function" || key == "custom") return add_tool_call(inner, bytes, holes);
        if (key == "name" || key == "arguments" || key == "input") {
            if (key == "arguments") holes.add(ShapeHole::Kind::output, inner);
            if (type_of(inner) == ondemand::json_type::object) {
                ondemand::object object;
                std::string_view raw;
                if (inner.get_object().get(object) || object.raw_json().get(raw)) return false;
                bytes += raw.size();
            } else if (const auto text = text_of(inner)) {
                bytes += text->size();
            }
        }
        return true;
    });
}

/// The names under which servers send reasoning: text, or a list of parts with a text or a summary.
constexpr std::array<std::string_view, 9> kReasoningKeys = {
    "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking",
    "thinking_content",  "think",     "thought",           "thoughts",
};

/// Reads a part of the reasoning, which may be encrypted.
bool read_part(Value& part, std::size_t& bytes, Reading& reading) {
    if (type_of(part) != ondemand::json_type::object) return add_text(part, bytes, bytes);
    return for_each_field(part, [&](Key key, Value inner) {
        if (key == "type") reading.hidden_reasoning |= text_of(inner) == "reasoning.encrypted";
        return !is_text_name(key) || add_text(inner, bytes, bytes);
    });
}

/// Reads OpenRouter's list of parts of the reasoning.
bool read_details(ondemand::value& value, Reading& reading) {
    std::size_t bytes = 0;
    const bool is_list = type_of(value) == ondemand::json_type::array;
    const bool whole =
        is_list ? for_each_element(value, [&](Value part) { return read_part(part, bytes, reading); })
                : add_text(value, bytes, bytes);
    reading.output.reasoning = std::max(reading.output.reasoning, bytes);
    return whole;
}

/// Texts of a delta that are no output.
constexpr std::array<std::string_view, 16> kNoOutput = {
    "role",    "name",      "id",       "type",  "index",         "tool_call_id", "status",       "object",
    "channel", "recipient", "provider", "model", "finish_reason", "stop_reason",  "service_tier", "signature",
};

bool read_delta(ondemand::value& value, Reading& reading) {
    OutputBytes& output = reading.output;
    Holes& holes = reading.holes;
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "content" || key == "refusal") {
            holes.add(ShapeHole::Kind::output, inner);
            return add_text(inner, output.content, output.reasoning);
        }
        if (key == "tool_calls" || key == "function_call") {
            return add_tool_call(inner, output.tool_call, holes);
        }
        if (is_one_of(kReasoningKeys, key)) {
            holes.add(ShapeHole::Kind::output, inner);
            if (key == "reasoning_details") return read_details(inner, reading);
            // Some servers send the same text under both names.
            std::size_t bytes = 0;
            if (!add_text(inner, bytes, bytes)) return false;
            output.reasoning = std::max(output.reasoning, bytes);
            return true;
        }
        return is_one_of(kNoOutput, key) || note_unknown_text("delta", key, inner, reading);
    });
}

/// Counts log probabilities, one entry per token: "content" in chat, "tokens" in completions.
bool count_logprobs(ondemand::value& value, std::uint32_t& count) {
    return for_each_field(value, [&](Key key, Value inner) {
        return (key == "content" || key == "tokens") ? count_elements(inner, count) : true;
    });
}

/// Reads the reason of an answer's end: a text, or an object with its type and perhaps a message (SGLang).
bool read_finish(ondemand::value& value, Delta& delta, Reading& reading) {
    if (const auto reason = text_of(value)) {
        if (!is_no_reason(*reason))
            delta.finish_reason = short_line(*reason, kLongestReason, *reading.secrets);
        return true;
    }
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "type") return read_finish(inner, delta, reading);
        if (key == "message") reading.finish_message = text_of(inner).value_or(std::string_view());
        return true;
    });
}

bool read_choice(ondemand::value& value, Delta& delta, Reading& reading) {
    const std::size_t before = reading.output.content;
    std::size_t text = 0;
    const bool whole = for_each_field(value, [&](Key key, Value inner) {
        if (key == "delta") return read_delta(inner, reading);
        if (key == "text") {
            reading.holes.add(ShapeHole::Kind::output, inner);
            return add_text(inner, text, reading.output.reasoning);
        }
        if (key == "token_ids") return count_elements(inner, reading.token_ids);
        if (key == "logprobs") return count_logprobs(inner, reading.logprobs);
        if (key == "usage") return read_usage(inner, delta);  // Moonshot
        if (key == "error") return read_error(inner, reading.error);
        if (key == "message")  // in place of a delta, or beside it
            return note_unknown_text({}, key, inner, reading);
        if (key == "finish_reason") return read_finish(inner, delta, reading);
        if (key == "index") delta.choice = static_cast<int>(count_of(inner).value_or(0));
        return true;
    });
    // Some servers send the same text in both places.
    reading.output.content = before + std::max(reading.output.content - before, text);
    return whole;
}

/// Adds what a choice has to delta.choices, in which every choice is once.
void add_choice(const ChoiceOutput& own, Delta& delta) {
    const auto same = std::ranges::find(delta.choices, own.choice, &ChoiceOutput::choice);
    if (same == delta.choices.end()) return delta.choices.push_back(own);
    if (own.text_bytes > 0) same->kind = own.kind;
    same->text_bytes += own.text_bytes;
    same->token_ids += own.token_ids;
    same->has_output |= own.has_output;
    same->finished |= own.finished;
}

/// Reads a choice, adds it to the sums of the event, and returns it through `own`.
bool read_choice_apart(ondemand::value& value, Delta& delta, Reading& reading, ChoiceOutput& own) {
    const OutputBytes output = std::exchange(reading.output, {});
    const std::uint32_t ids = std::exchange(reading.token_ids, 0);
    const std::uint32_t logprobs = std::exchange(reading.logprobs, 0);
    std::string reason = std::exchange(delta.finish_reason, {});
    delta.choice = 0;
    const bool whole = read_choice(value, delta, reading);
    own = {.choice = delta.choice,
           .kind = reading.output.kind(),
           .text_bytes = static_cast<std::uint32_t>(reading.output.sum()),
           .token_ids = reading.token_ids ? reading.token_ids : reading.logprobs,
           .has_output = reading.output.sum() != 0 || reading.token_ids != 0,
           .finished = !delta.finish_reason.empty()};
    reading.output.content += output.content;
    reading.output.reasoning += output.reasoning;
    reading.output.tool_call += output.tool_call;
    reading.token_ids += ids;
    reading.logprobs += logprobs;
    if (!own.finished) delta.finish_reason = std::move(reason);
    return whole;
}

bool read_field(Key key, Value& value, Delta& delta, Reading& reading) {
    if (key != "choices") return true;
    reading.known = true;
    ChoiceOutput first;
    std::size_t number = 0;
    const bool whole = for_each_element(value, [&](Value choice) {
        ChoiceOutput own;
        if (!read_choice_apart(choice, delta, reading, own)) return false;
        if (number++ == 0) {
            first = own;
            return true;
        }
        if (number == 2) add_choice(first, delta);
        add_choice(own, delta);
        return true;
    });
    if (delta.choices.size() == 1) delta.choices.clear();  // both entries are of one choice
    return whole;
}

/// Appends the text of a choice: of its message or delta under `key`, as a string or parts, or else of a
/// completion.
void append_answer_text(dom::element choice, std::string_view key, std::string& out) {
    const std::size_t before = out.size();
    std::string_view text;
    dom::element content;
    dom::array parts;
    if (!choice[key]["content"].get(content)) {
        if (!content.get(text)) out += text;
        if (!content.get(parts))
            for (const dom::element part : parts)
                if (!part["text"].get(text)) out += text;
    }
    if (out.size() == before && !choice["text"].get(text)) out += text;
}

/// Returns the bytes of output text in a choice of a whole answer.
std::uint64_t text_bytes_in(dom::element choice) {
    std::uint64_t bytes = 0;
    std::string_view text;
    dom::object message;
    if (choice["message"].get(message)) return choice["text"].get(text) ? 0 : text.size();
    for (const auto key : {"content", "refusal"})
        if (!message[key].get(text)) bytes += text.size();
    for (const std::string_view key : kReasoningKeys)
        if (!message[key].get(text)) bytes += text.size();
    dom::array calls;
    if (!message["tool_calls"].get(calls)) bytes += simdjson::minify(calls).size();
    return bytes;
}

bool is_first(dom::element choice) {
    std::int64_t index = 0;
    return choice["index"].get(index) || index == 0;
}

void append_text(dom::element event, std::string& out) {
    dom::array choices;
    if (event["choices"].get(choices)) return;
    for (const dom::element choice : choices)
        if (is_first(choice)) append_answer_text(choice, "delta", out);
}

void read_whole(dom::element answer, WholeAnswer& whole) {
    dom::array choices;
    if (answer["choices"].get(choices)) return;
    for (const dom::element choice : choices) {
        if (const auto reason = text_in(choice, "finish_reason"); !reason.empty())
            whole.finish_reason = is_no_reason(reason) ? std::string_view() : reason;
        whole.text_bytes += text_bytes_in(choice);
        if (is_first(choice)) append_answer_text(choice, "message", whole.text);
    }
}

}  // namespace

constinit const EventFormat kChoices{
    .read_field = read_field, .append_text = append_text, .read_whole = read_whole};

}  // namespace paretoken::protocol
