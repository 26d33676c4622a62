#include "cli/words/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/json_nesting.h"

namespace paretoken::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Puts quotes around places to fill in and variables of a shell: {"n": <N>, "m": $M}.
std::string with_quoted_places(std::string_view text) {
    std::string out;
    bool in_quotes = false;
    for (std::size_t at = 0; at < text.size();) {
        in_quotes ^= text[at] == '"';
        const bool is_place = !in_quotes && (text[at] == '<' || text[at] == '$');
        const std::size_t end =
            !is_place ? at + 1
                      : std::min(text[at] == '<' ? text.find('>', at) + 1 : text.find_first_of(",]}", at + 2),
                                 text.size());
        const bool has_braces = is_place && text.substr(at).starts_with("${");
        const std::size_t after = std::max(at + 1, has_braces ? text.find('}', at) + 1 : end);
        const std::string_view part = text.substr(at, after - at);
        out += is_place ? fmt::format("\"{}\"", part) : std::string(part);
        at = after;
    }
    return out;
}

Json parsed(std::string_view text) {
    if (nests_deeper_than(kDeepestJson, text)) return Json(Json::value_t::discarded);
    Json json = Json::parse(text, nullptr, false);
    const bool may_have_places = json.is_discarded() && text.find_first_of("<$") != std::string_view::npos;
    return may_have_places ? Json::parse(with_quoted_places(text), nullptr, false) : json;
}

std::string text_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    const bool is_list =
        value.is_array() && std::ranges::none_of(value, [](const Json& one) { return one.is_structured(); });
    if (!is_list) return value.dump();
    std::string text;
    for (const Json& one : value) text += (text.empty() ? "" : ",") + text_of(one);
    return text;
}

void add_fields(Group& group, const std::string& prefix, const Json& object) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_object())
            add_fields(group, prefix + key + ".", value);
        else
            group[prefix + key] = text_of(value);
    }
}

Json object_in(const std::string& text) {
    Json object = text.empty() ? Json::object() : parsed(text);
    if (!object.is_object()) throw UsageError(fmt::format("'{}': expected a JSON object", text));
    return object;
}

/// Returns a number as JSON writes it, for .9, 1. and +0.9; any other text is returned as it is.
std::string without_short_form(const std::string& text) {
    std::string number = text.substr(text.starts_with('+') ? 1 : 0);
    const std::size_t sign = number.starts_with('-') ? 1 : 0;
    const std::size_t point = number.find('.');
    const std::string_view digits = std::string_view(number).substr(sign);
    if (digits.find_first_not_of("0123456789.") != std::string_view::npos ||
        digits.find_first_of("0123456789") == std::string_view::npos)
        return text;
    if (point == sign) number.insert(sign, "0");
    if (number.ends_with('.')) number += '0';
    return number;
}

}  // namespace

std::optional<Group> group_of(std::string_view text) {
    Group group;
    if (text.starts_with('{')) {
        const Json object = parsed(text);
        if (!object.is_object()) return std::nullopt;
        add_fields(group, "", object);
        return group;
    }
    std::string* last = nullptr;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view part = text.substr(begin, end - begin);
        begin = end + 1;
        const auto equals = part.find('=');
        if (equals != std::string_view::npos && equals > 0) {
            last = &group[std::string(part.substr(0, equals))];
            *last = part.substr(equals + 1);
        } else if (last != nullptr) {
            *last += fmt::format(",{}", part);  // a further value of a list: "rate=1,2"
        } else {
            return std::nullopt;
        }
    }
    return group;
}

std::vector<std::string> list_of(std::string_view text) {
    std::vector<std::string> values(1);
    for (const char c : text) {
        if (c == ',')
            values.emplace_back();
        else if (c != '[' && c != ']' && c != ' ')
            values.back() += c;
    }
    std::erase(values, "");
    return values;
}

std::string with_json_field(const std::string& body, const std::string& name, const std::string& value) {
    Json object = object_in(body);
    const Json read = parsed(without_short_form(value));
    std::string place = "/" + name;
    std::ranges::replace(place, '.', '/');  // "a.b" is a field of an inner object
    object[Json::json_pointer(place)] = read.is_discarded() ? Json(value) : read;
    return object.dump();
}

std::vector<std::pair<std::string, std::string>> fields_of(const std::string& object) {
    std::vector<std::pair<std::string, std::string>> fields;
    const Json read = object_in(object);
    for (const auto& [name, value] : read.items()) {
        const bool is_plain = value.is_string() && parsed(value.get<std::string>()).is_discarded();
        fields.emplace_back(name, is_plain ? value.get<std::string>() : value.dump());
    }
    return fields;
}

}  // namespace paretoken::cli
