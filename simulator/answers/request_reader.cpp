#include "simulator/answers/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {

void refuse_field(std::string_view type, std::string_view field, std::string_view message) {
    throw Refused{
        {.fault = FieldFault{
             .type = std::string(type), .field = std::string(field), .message = std::string(message)}}};
}

void refuse(std::string_view message, std::string_view param) {
    throw Refused{{.message = std::string(message), .param = std::string(param)}};
}

dom::object parsed_object(dom::parser& parser, std::string_view body) {
    dom::element root;
    if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS)
        refuse_field("json_invalid", "", "JSON decode error");
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS)
        refuse_field("model_attributes_type", "", "Input should be a valid dictionary");
    return object;
}

std::optional<dom::element> field_of(const dom::object& object, std::string_view name) {
    dom::element value;
    if (object.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
    return value;
}

bool flag_of(const dom::object& object, std::string_view name, bool otherwise) {
    const auto field = field_of(object, name);
    if (!field) return otherwise;
    bool value = false;
    if (field->get(value) != simdjson::SUCCESS) {
        refuse_field("bool_type", name, "Input should be a valid boolean");
    }
    return value;
}

std::optional<std::int64_t> integer_of(const dom::object& object, std::string_view name) {
    const auto field = field_of(object, name);
    if (!field) return std::nullopt;
    std::int64_t value = 0;
    if (field->get(value) != simdjson::SUCCESS) {
        refuse_field("int_type", name, "Input should be a valid integer");
    }
    return value;
}

dom::array list_of(const dom::element& element, std::string_view name) {
    dom::array list;
    if (element.get(list) != simdjson::SUCCESS) {
        refuse_field("list_type", name, "Input should be a valid list");
    }
    return list;
}

dom::object object_of(const dom::element& element, std::string_view name) {
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
        refuse_field("dict_type", name, "Input should be a valid dictionary");
    }
    return object;
}

std::string_view text_of(const dom::element& element, std::string_view name) {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) {
        refuse_field("string_type", name, "Input should be a valid string");
    }
    return text;
}

std::string_view required_text(const dom::object& object, std::string_view key, std::string_view name) {
    const auto field = field_of(object, key);
    if (!field) refuse_field("missing", name, "Field required");
    return text_of(*field, name);
}

void begin_text(TokenSink& sink) {
    sink.special(kTokensPerText, "begin");
}

void open_message(std::string_view role, TokenSink& sink) {
    sink.special(kTokensOfAnswerHeader, role);
}

void close_message(TokenSink& sink) {
    sink.special(kTokensPerMessage - kTokensOfAnswerHeader, "end");
}

void read_content(const dom::element& content, std::string_view prompt_key, TokenSink& sink) {
    std::string_view text;
    if (content.get(text) == simdjson::SUCCESS) return sink.text(text);
    dom::array parts;
    if (content.get(parts) != simdjson::SUCCESS)
        refuse_field("list_type", fmt::format("{}.content", prompt_key), "Input should be a valid list");
    for (const dom::element part : parts) {
        dom::object object;
        if (part.get(object) != simdjson::SUCCESS)
            refuse_field("dict_type", fmt::format("{}.content", prompt_key),
                         "Input should be a valid dictionary");
        const auto words = field_of(object, "text");
        if (!words) refuse("Only content parts of type text are supported by this server.", prompt_key);
        if (words->get(text) != simdjson::SUCCESS)
            refuse_field("string_type", fmt::format("{}.content.text", prompt_key),
                         "Input should be a valid string");
        sink.text(text);
    }
}

void read_messages(const dom::element& messages, bool answer_header, TokenSink& sink) {
    begin_text(sink);
    bool any = false;
    for (const dom::element message : list_of(messages, "messages")) {
        const dom::object object = object_of(message, "messages");
        open_message(required_text(object, "role", "messages.role"), sink);
        if (const auto content = field_of(object, "content")) read_content(*content, "messages", sink);
        if (const auto calls = field_of(object, "tool_calls")) sink.text(simdjson::minify(*calls));
        close_message(sink);
        any = true;
    }
    if (!any) refuse("At least one message is required.", "messages");
    if (answer_header) open_message("assistant", sink);
}

void read_chat_prompt(const dom::object& object, TokenSink& sink) {
    if (const auto tools = field_of(object, "tools")) sink.text(simdjson::minify(*tools));
    read_messages(*field_of(object, "messages"), flag_of(object, "add_generation_prompt", true), sink);
}

void read_text_prompt(std::string_view text, bool add_special, TokenSink& sink) {
    if (add_special) begin_text(sink);
    sink.text(text);
}

std::optional<std::int64_t> checked_limit(std::optional<std::int64_t> asked, std::string_view name,
                                          const ServedModel& model) {
    if (traits_of(model.dialect).requests.any_limit) {
        if (asked && *asked < 0) return std::nullopt;
        if (asked == 0) return 1;
    }
    if (asked && *asked < 1) refuse(fmt::format("{} must be at least 1, got {}.", name, *asked), name);
    return asked;
}

void choose_tool(const dom::object& object, std::string_view (*name_of)(const dom::element& tool),
                 ToolChoice (*choice_of)(const dom::element& choice), GenerationRequest& request) {
    const auto tools = field_of(object, "tools");
    if (!tools) return;
    const dom::array list = list_of(*tools, "tools");
    if (list.size() == 0) return;
    request.tool = name_of(list.at(0).value_unsafe());
    const auto field = field_of(object, "tool_choice");
    if (!field) return;
    const ToolChoice choice = choice_of(*field);
    if (choice.none) request.tool.clear();
    if (choice.name.empty()) return;
    const bool offered =
        std::ranges::any_of(list, [&](dom::element tool) { return name_of(tool) == choice.name; });
    if (!offered)
        refuse(fmt::format("The tool specified in `tool_choice` ({}) does not match any of `tools`.",
                           choice.name),
               "tool_choice");
    request.tool = choice.name;
    request.tool_was_named = true;
}

}  // namespace paretoken::sim
