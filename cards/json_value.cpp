#include "cards/json_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace paretoken::cards {
namespace {

constexpr int kDeepest = 64;

JsonValue converted(const nlohmann::json& json) {
    switch (json.type()) {
        case nlohmann::json::value_t::boolean:
            return {json.get<bool>()};
        case nlohmann::json::value_t::number_integer:
        case nlohmann::json::value_t::number_unsigned:
        case nlohmann::json::value_t::number_float:
            return {json.get<double>()};
        case nlohmann::json::value_t::string:
            return {json.get<std::string>()};
        case nlohmann::json::value_t::array: {
            JsonValue::Array array;
            array.reserve(json.size());
            for (const auto& element : json) array.push_back(converted(element));
            return {std::move(array)};
        }
        case nlohmann::json::value_t::object: {
            JsonValue::Object object;
            for (const auto& [key, element] : json.items()) object.emplace(key, converted(element));
            return {std::move(object)};
        }
        default:
            return {};
    }
}

/// The position " at line 3, column 5" from the library's message, which is too long for users.
std::string place_in(const std::string& message) {
    const auto begin = message.find("line ");
    const auto end = message.find(':', begin == std::string::npos ? 0 : begin);
    return begin == std::string::npos || end == std::string::npos
               ? ""
               : " at " + message.substr(begin, end - begin);
}

std::string described(const JsonValue& value) {
    struct Describe {
        std::string operator()(std::monostate) const { return "null"; }
        std::string operator()(bool b) const { return b ? "true" : "false"; }
        std::string operator()(double d) const { return fmt::format("{}", d); }
        std::string operator()(const std::string& s) const {
            return s.size() > 40 ? fmt::format("\"{}…\"", s.substr(0, 40)) : fmt::format("\"{}\"", s);
        }
        std::string operator()(const JsonValue::Array&) const { return "an array"; }
        std::string operator()(const JsonValue::Object&) const { return "an object"; }
    };
    return std::visit(Describe{}, value.value);
}

}  // namespace

JsonValue parse_json_value(std::string_view text, const std::string& where) {
    try {
        const auto shallow = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
            if (depth > kDeepest)
                throw UsageError(fmt::format("{}: nested deeper than {} levels", where, kDeepest));
            return true;
        };
        return converted(nlohmann::json::parse(text.begin(), text.end(), shallow));
    } catch (const nlohmann::json::exception& error) {
        throw UsageError(fmt::format("{}: not valid JSON{}", where, place_in(error.what())));
    }
}

bool JsonCursor::is_object() const {
    return std::holds_alternative<JsonValue::Object>(value_->value);
}
bool JsonCursor::is_array() const {
    return std::holds_alternative<JsonValue::Array>(value_->value);
}
bool JsonCursor::is_string() const {
    return std::holds_alternative<std::string>(value_->value);
}
bool JsonCursor::is_number() const {
    return std::holds_alternative<double>(value_->value);
}
bool JsonCursor::is_null() const {
    return std::holds_alternative<std::monostate>(value_->value);
}

JsonCursor JsonCursor::child(const JsonValue& value, const std::string& step) const {
    return {value, where_, path_.empty() ? step : path_ + "." + step};
}

std::optional<JsonCursor> JsonCursor::find(const std::string& key) const {
    if (!is_object()) complain("an object");
    const auto& object = std::get<JsonValue::Object>(value_->value);
    const auto found = object.find(key);
    if (found == object.end()) return {};
    JsonCursor cursor = child(found->second, key);
    if (cursor.is_null()) return {};
    return cursor;
}

JsonCursor JsonCursor::at(const std::string& key, std::string_view expected) const {
    if (auto found = find(key)) return *found;
    throw UsageError(fmt::format("{}: {}: missing; expected {}", where_,
                                 path_.empty() ? key : path_ + "." + key, expected));
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
    if (!is_object()) complain("an object");
    std::vector<std::pair<std::string, JsonCursor>> out;
    for (const auto& [key, value] : std::get<JsonValue::Object>(value_->value))
        out.emplace_back(key, child(value, key));
    return out;
}

std::vector<JsonCursor> JsonCursor::elements() const {
    if (!is_array()) complain("an array");
    std::vector<JsonCursor> out;
    const auto& array = std::get<JsonValue::Array>(value_->value);
    for (std::size_t i = 0; i < array.size(); ++i) out.push_back(child(array[i], fmt::format("[{}]", i)));
    return out;
}

void JsonCursor::expect_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : members()) {
        if (std::ranges::find(keys, key) != keys.end()) continue;
        throw UsageError(fmt::format("{}: {}{}{}: unknown key; expected one of {}", where_, path_,
                                     path_.empty() ? "" : ".", key, fmt::join(keys, ", ")));
    }
}

std::string JsonCursor::string() const {
    if (!is_string()) complain("a string");
    return std::get<std::string>(value_->value);
}

bool JsonCursor::boolean() const {
    if (!std::holds_alternative<bool>(value_->value)) complain("true or false");
    return std::get<bool>(value_->value);
}

double JsonCursor::number() const {
    if (!is_number()) complain("a number");
    return std::get<double>(value_->value);
}

double JsonCursor::positive() const {
    if (!is_number() || !(number() > 0)) complain("a positive number");
    return number();
}

double JsonCursor::not_negative() const {
    if (!is_number() || !(number() >= 0)) complain("a number of at least 0");
    return number();
}

std::uint64_t JsonCursor::count() const {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!is_number() || !(number() >= 0) || number() > kExact || number() != std::floor(number()))
        complain("a whole number of at least 0");
    return static_cast<std::uint64_t>(number());
}

void JsonCursor::complain(std::string_view expected) const {
    throw UsageError(fmt::format("{}: {}expected {}, got {}", where_, path_.empty() ? "" : path_ + ": ",
                                 expected, described(*value_)));
}

}  // namespace paretoken::cards
