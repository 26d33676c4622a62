#include "datasets/files/custom_jsonl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/result/slo.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

/// Names that other programs give to "output_tokens".
constexpr std::array<std::string_view, 9> kOutputTokens = {
    "output_tokens", "max_tokens",    "max_completion_tokens", "max_output_tokens", "max_new_tokens",
    "output_len",    "output_length", "completion_tokens",     "n_predict"};
constexpr std::array<std::string_view, 12> kFields = {
    "prompt", "messages", "input_tokens", "output_tokens", "at_s",  "class",
    "slo",    "body",     "conversation", "turn",          "model", "expect"};
constexpr std::string_view kKnownFields =
    "prompt, messages, input_tokens, output_tokens (or max_tokens and the like), at_s, class, slo, body, "
    "conversation, turn and model; fields in \"body\" are sent";

TokenIds token_ids_of(dom::array array, const RowPlace& place) {
    TokenIds ids;
    for (const dom::element element : array) {
        std::int64_t id = 0;
        if (element.get(id) || id < 0 || id > INT32_MAX)
            place.refuse("\"prompt\" holds something that is not a token id");
        ids.push_back(static_cast<std::int32_t>(id));
    }
    if (ids.empty()) place.refuse("\"prompt\" is empty");
    return ids;
}

/// Returns whether the message calls tools, so that it needs no content.
bool calls_tools(dom::element message) {
    dom::element calls;
    return (!message["tool_calls"].get(calls) && !calls.is_null()) ||
           (!message["function_call"].get(calls) && !calls.is_null());
}

/// Sets the content of a message to a string, or to a list of parts, which is kept unchanged beside its text.
void set_content(Message& message, dom::element content, const RowPlace& place) {
    std::string_view text;
    if (!content.get(text)) {
        message.content = text;
        return;
    }
    dom::array parts;
    if (content.get(parts)) place.refuse("a message's \"content\" is neither text nor a list of parts");
    for (const dom::element part : parts) {
        if (!part.is_object()) place.refuse("a part of a message is not an object");
        if (!part["text"].get(text)) message.content += text;
    }
    message.parts = simdjson::minify(content);
}

Message message_of(dom::element element, const RowPlace& place) {
    Message message;
    std::string_view role;
    if (element["role"].get(role)) place.refuse("a message lacks \"role\"");
    message.role = role;
    dom::element content;
    const bool present = !element["content"].get(content);
    if ((!present || content.is_null()) && calls_tools(element)) {
        message.parts = "null";
    } else {
        if (!present) place.refuse("a message lacks \"content\"");
        set_content(message, content, place);
    }
    for (const dom::key_value_pair field : dom::object(element)) {
        if (field.key == "role" || field.key == "content") continue;
        message.fields += (message.fields.empty() ? "" : ",") + simdjson::minify(field);
    }
    return message;
}

Messages messages_in(dom::array array, const RowPlace& place) {
    Messages messages;
    for (const dom::element element : array) {
        messages.push_back(message_of(element, place));
    }
    if (messages.empty()) place.refuse("\"messages\" is empty");
    return messages;
}

Prompt prompt_in(dom::element object, const RowPlace& place) {
    dom::element value;
    dom::array array;
    std::string_view text;
    if (!object["messages"].get(value)) {
        if (value.get(array)) place.refuse("\"messages\" is not a list");
        return messages_in(array, place);
    }
    if (object["prompt"].get(value))
        place.refuse(
            "neither \"prompt\" nor \"messages\" is there; each line is an object with one of them, and "
            "optionally \"output_tokens\"");
    if (!value.get(text)) return std::string(text);
    if (value.get(array)) place.refuse("\"prompt\" is neither text nor token ids");
    return token_ids_of(array, place);
}

std::string body_in(dom::element object, const RowPlace& place) {
    dom::element body;
    if (object["body"].get(body) || body.is_null()) return {};
    if (!body.is_object()) place.refuse("\"body\" is not an object");
    return simdjson::minify(body);
}

/// Returns the limits of a request, in the form that they have in a record.
std::string slo_in(dom::element object, const RowPlace& place) {
    const std::string text = text_in(object, "slo", place);
    if (text.empty()) return {};
    try {
        std::vector<std::string> limits = slo_texts(text);
        for (const std::string& limit : limits) (void)parse_request_slo(limit);
        if (limits.empty()) throw UsageError("it holds no limit");
        return fmt::format("{}", fmt::join(limits, " "));
    } catch (const UsageError& error) {
        place.refuse(fmt::format("\"slo\": {}", error.what()));
    }
}

/// Returns the number of output tokens, which may have one of several names.
std::optional<std::int64_t> output_tokens_in(dom::element object, const RowPlace& place) {
    std::optional<std::int64_t> found;
    std::string_view first;
    for (const std::string_view name : kOutputTokens) {
        const auto tokens = tokens_in(object, name, place);
        if (found && tokens && *found != *tokens)
            place.refuse(
                fmt::format("\"{}\" is {} and \"{}\" is {}; leave one out", first, *found, name, *tokens));
        if (found || !tokens) continue;
        found = tokens;
        first = name;
    }
    return found;
}

std::vector<std::string> unknown_fields_in(dom::element element) {
    std::vector<std::string> unknown;
    const auto is_in = [](const auto& names, std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const dom::key_value_pair field : dom::object(element))
        if (!is_in(kFields, field.key) && !is_in(kOutputTokens, field.key)) unknown.emplace_back(field.key);
    return unknown;
}

Row read_custom_row(std::string_view text, const std::string&, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Row row;
    row.prompt = prompt_in(object, place);
    row.input_tokens = tokens_in(object, "input_tokens", place);
    if (const auto* ids = std::get_if<TokenIds>(&*row.prompt))
        row.input_tokens = static_cast<std::int64_t>(ids->size());
    row.output_tokens = output_tokens_in(object, place);
    row.at_s = number_in(object, "at_s", place);
    row.request_class = text_in(object, "class", place);
    row.slo = slo_in(object, place);
    row.conversation = text_in(object, "conversation", place);
    if (const auto turn = number_in(object, "turn", place)) {
        if (*turn != std::floor(*turn)) place.refuse("\"turn\" is not a whole number");
        row.turn = static_cast<std::int64_t>(*turn);
    }
    row.model = text_in(object, "model", place);
    row.body = body_in(object, place);
    row.unknown_fields = unknown_fields_in(object);
    return row;
}

}  // namespace

RowFormat custom_format(const Spec& spec) {
    spec.expect_only({"path", "osl"});
    return {
        .name = "custom", .layout = RowLayout::lines, .read = read_custom_row, .known_fields = kKnownFields};
}

std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options) {
    return make_file_dataset(options, custom_format(options.spec));
}

}  // namespace paretoken::datasets
