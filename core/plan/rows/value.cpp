#include "core/plan/rows/value.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

#include "core/error.h"

namespace paretoken::rows {
namespace {

template <class Number>
Number whole_number(const std::string& text) {
    Number value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) {
        throw UsageError(fmt::format("'{}' is not a whole number from {} to {}", text,
                                     std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()));
    }
    return value;
}

}  // namespace

Texts texts_of(const std::string& value) {
    if (value.empty()) return {};
    return {value};
}
Texts texts_of(bool value) {
    return {value ? "true" : "false"};
}
Texts texts_of(std::uint32_t value) {
    return {fmt::format("{}", value)};
}
Texts texts_of(std::uint64_t value) {
    return {fmt::format("{}", value)};
}
Texts texts_of(std::int64_t value) {
    return {fmt::format("{}", value)};
}
Texts texts_of(double value) {
    return {fmt::format("{}", value)};  // the shortest text that is read as the same number; "inf"
}
Texts texts_of(Duration value) {
    return {text_of(value)};
}
Texts texts_of(const Spec& value) {
    return texts_of(text_of(value));
}
Texts texts_of(const std::vector<std::string>& value) {
    return value;
}
Texts texts_of(const std::map<std::string, std::string>& value) {
    Texts texts;
    for (const auto& [key, text] : value) texts.push_back(fmt::format("{}={}", key, text));
    return texts;
}

void read(const std::string& text, std::string& value) {
    value = text;
}
void read(const std::string& text, bool& value) {
    if (text != "true" && text != "false")
        throw UsageError(fmt::format("'{}': expected true or false", text));
    value = text == "true";
}
void read(const std::string& text, std::uint32_t& value) {
    value = whole_number<std::uint32_t>(text);
}
void read(const std::string& text, std::uint64_t& value) {
    value = whole_number<std::uint64_t>(text);
}
void read(const std::string& text, std::int64_t& value) {
    value = whole_number<std::int64_t>(text);
}
void read(const std::string& text, double& value) {
    value = parse_number(text);
}
void read(const std::string& text, Duration& value) {
    value = parse_duration(text);
}
void read(const std::string& text, Spec& value) {
    value = parse_spec(text);
}

const std::string& only(const Texts& texts) {
    if (texts.size() != 1) throw UsageError(fmt::format("takes one value, not {}", texts.size()));
    return texts.front();
}

void read_texts(const Texts& texts, std::vector<std::string>& values) {
    values = texts;
}
void read_texts(const Texts& texts, std::map<std::string, std::string>& values) {
    values.clear();
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError(fmt::format("'{}': expected KEY=VALUE", text));
        const std::string key = text.substr(0, equals);
        if (!values.emplace(key, text.substr(equals + 1)).second)
            throw UsageError(fmt::format("'{}': {} is given twice", text, key));
    }
}

}  // namespace paretoken::rows
