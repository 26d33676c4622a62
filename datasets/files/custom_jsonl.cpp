#include "datasets/files/custom_jsonl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/result/slo.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

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

/// Makes a message of a string, or of a list of parts, which is kept unchanged beside its text.
Message message_of(std::string_view role, dom::element content, const RowPlace& place) {
    Message message;
    message.role = role;
    std::string_view text;
    if (!content.get(text)) {
        message.content = text;
        return message;
    }
    dom::array parts;
    if (content.get(parts)) place.refuse("a message's \"content\" is neither text nor a list of parts");
    for (const dom::element part : parts) {
        if (!part.is_object()) place.refuse("a part of a message is not an object");
        if (!part["text"].get(text)) message.content += text;
    }
    message.parts = simdjson::minify(content);
    return message;
}

Messages messages_in(dom::array array, const RowPlace& place) {
    Messages messages;
    for (const dom::element element : array) {
        std::string_view role;
        dom::element content;
        if (element["role"].get(role)) place.refuse("a message lacks \"role\"");
        if (element["content"].get(content)) place.refuse("a message lacks \"content\"");
        messages.push_back(message_of(role, content, place));
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

Row read_custom_row(std::string_view text, const std::string&, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Row row;
    row.prompt = prompt_in(object, place);
    row.input_tokens = tokens_in(object, "input_tokens", place);
    if (const auto* ids = std::get_if<TokenIds>(&*row.prompt))
        row.input_tokens = static_cast<std::int64_t>(ids->size());
    row.output_tokens = tokens_in(object, "output_tokens", place);
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
    return row;
}

}  // namespace

RowFormat custom_format(const Spec& spec) {
    spec.expect_only({"path", "osl"});
    return {.name = "custom", .layout = RowLayout::lines, .read = read_custom_row};
}

std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options) {
    return make_file_dataset(options, custom_format(options.spec));
}

}  // namespace paretoken::datasets
