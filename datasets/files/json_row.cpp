#include "datasets/files/json_row.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/text/letter_case.h"
#include "datasets/files/csv_row.h"

namespace paretoken::datasets {

namespace dom = simdjson::dom;

namespace {

/// Returns a number, which some programs write as a string; nothing for any other value.
std::optional<double> number_of(const dom::element& value) {
    double number = 0;
    if (!value.get(number)) return number;
    std::string_view text;
    if (value.get(text)) return std::nullopt;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end && std::isfinite(number) ? std::optional(number)
                                                                        : std::nullopt;
}

/// Reads a string or a whole number; returns false if the value is neither.
bool read_name(const dom::element& value, std::string& name) {
    std::string_view text;
    if (!value.get(text)) {
        name = text;
        return true;
    }
    if (!value.is_int64() && !value.is_uint64()) return false;
    name = simdjson::minify(value);
    return true;
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

/// Replaces halves of surrogate pairs in a JSON text ("\ud83d" without its other half), which some programs
/// leave where they cut a text, by the replacement character. Returns false if there are none.
bool mend_surrogates(std::string& text) {
    const auto half_at = [&](std::size_t at, std::string_view digits) {  // the third digit of "\udXxx"
        return at + 6 <= text.size() && text[at] == '\\' && text[at + 1] == 'u' &&
               (text[at + 2] | 0x20) == 'd' &&
               digits.find(lower_case(text.substr(at + 3, 1))) != std::string_view::npos;
    };
    bool mended = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') continue;
        const bool high = half_at(at, "89ab");
        if (high && half_at(at + 6, "cdef")) {
            at += 11;
        } else if (high || half_at(at, "cdef")) {
            text.replace(at, 6, "\\ufffd");
            mended = true;
            at += 5;
        } else {
            ++at;  // the escaped character
        }
    }
    return mended;
}

constexpr std::string_view kHintAtUtf8 =
    "; iconv -f WINDOWS-1252 -t UTF-8 FILE makes UTF-8 of a text of Western Europe";

/// Returns a hint at a usual reason why a row is not JSON; empty if none is seen.
std::string_view hint_at(simdjson::error_code error, std::string_view row) {
    if (error == simdjson::UTF8_ERROR) return kHintAtUtf8;
    if (row.ends_with(',')) return "; no comma may follow the object of a line";
    if (row == "{") return "; an object must be in one line, as jq -c . FILE writes it";
    for (const std::string_view number :
         {":NaN", ": NaN", ":Infinity", ": Infinity", ":-Infinity", ": -Infinity"})
        if (row.find(number) != std::string_view::npos) return "; NaN and Infinity are no JSON, write null";
    constexpr std::array kNamesOfPrompts = {"prompt", "text", "question", "input", "instruction", "query"};
    if (std::ranges::find(kNamesOfPrompts, row) != kNamesOfPrompts.end())
        return "; a CSV file with this heading is read by --dataset columns:path=FILE,prompt=HEADING";
    if (row.find_first_of("{[\"") == std::string_view::npos)
        return "; a dataset has one JSON object per line: jq -Rc '{prompt: .}' FILE makes them of a text "
               "with a "
               "prompt per line";
    if (row.starts_with("{'")) return "; JSON has double quotes, and this looks like Python's text";
    return {};
}

dom::parser& parser_of_thread() {
    thread_local dom::parser parser;
    return parser;
}

}  // namespace

void release_parser() {
    parser_of_thread() = dom::parser();
}

void require_utf8(std::string_view text, const RowPlace& place) {
    if (!simdjson::validate_utf8(text.data(), text.size()))
        place.refuse(fmt::format("the row is not valid UTF-8{}", kHintAtUtf8));
}

const dom::element& object_of(std::string_view text, const RowPlace& place) {
    static_assert(RowFile::kPadding >= simdjson::SIMDJSON_PADDING);
    thread_local dom::element object;
    auto error = parser_of_thread().parse(text.data(), text.size(), false).get(object);
    if (error == simdjson::STRING_ERROR) {
        std::string mended(text);
        if (mend_surrogates(mended)) error = parser_of_thread().parse(mended).get(object);
    }
    if (error)
        place.refuse(fmt::format("not JSON ({}){}", simdjson::error_message(error), hint_at(error, text)));
    if (!object.is_object()) place.refuse("no JSON object");
    return object;
}

std::optional<std::int64_t> tokens_in(const dom::element& object, std::string_view key, const RowPlace& place,
                                      std::int64_t least) {
    constexpr double kMost = 1e9;
    dom::element value;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    const auto tokens = number_of(value);
    if (!tokens || *tokens < static_cast<double>(least) || *tokens > kMost || *tokens != std::floor(*tokens))
        place.refuse(fmt::format("\"{}\" is not a whole number from {} to 1e9", key, least));
    return static_cast<std::int64_t>(*tokens);
}

std::int64_t needed_tokens_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    const auto tokens = tokens_in(object, key, place, 0);
    if (!tokens) place.refuse(fmt::format("\"{}\" is missing", key));
    return *tokens;
}

std::optional<double> number_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    const auto number = number_of(value);
    if (!number || !(*number >= 0)) place.refuse(fmt::format("\"{}\" is not a number of at least 0", key));
    return number;
}

std::optional<double> time_in(const dom::element& object, std::string_view key, double (*seconds_of)(double),
                              const RowPlace& place) {
    dom::element value;
    std::string_view text;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    if (const auto number = number_of(value); number && *number >= 0) return seconds_of(*number);
    const auto time = value.get(text) ? std::nullopt : seconds_of_time(text);
    if (!time) place.refuse(fmt::format("\"{}\" is neither a number of at least 0 nor a date and time", key));
    return time;
}

std::string text_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    std::string_view text;
    if (object[key].get(value) || value.is_null()) return {};
    if (value.get(text)) place.refuse(fmt::format("\"{}\" is not text", key));
    return std::string(text);
}

std::string name_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    std::string name;
    if (object[key].get(value) || value.is_null()) return name;
    if (!read_name(value, name)) place.refuse(fmt::format("\"{}\" is neither text nor a whole number", key));
    return name;
}

std::vector<std::string> names_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    dom::array list;
    std::vector<std::string> names;
    if (object[key].get(value) || value.is_null()) return names;
    if (value.get(list)) place.refuse(fmt::format("\"{}\" is not a list", key));
    for (const dom::element element : list)
        if (!read_name(element, names.emplace_back()))
            place.refuse(fmt::format("\"{}\" holds something that is neither text nor a whole number", key));
    return names;
}

bool flag_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    bool flag = false;
    if (object[key].get(value) || value.is_null()) return false;
    if (value.get(flag)) place.refuse(fmt::format("\"{}\" is neither true nor false", key));
    return flag;
}

Message message_in(const dom::element& element, const RowPlace& place) {
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

Messages messages_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    dom::array array;
    if (object[key].get(value)) place.refuse(fmt::format("\"{}\" is missing", key));
    if (value.get(array)) place.refuse(fmt::format("\"{}\" is not a list", key));
    Messages messages;
    for (const dom::element element : array) messages.push_back(message_in(element, place));
    if (messages.empty()) place.refuse(fmt::format("\"{}\" is empty", key));
    return messages;
}

std::string object_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    if (object[key].get(value) || value.is_null()) return {};
    if (!value.is_object()) place.refuse(fmt::format("\"{}\" is not an object", key));
    return simdjson::minify(value);
}

std::string json_in(const dom::element& object, std::string_view key) {
    dom::element value;
    if (object[key].get(value) || value.is_null()) return {};
    return simdjson::minify(value);
}

std::vector<std::uint64_t> blocks_in(const dom::element& object, std::string_view key,
                                     const RowPlace& place) {
    dom::array ids;
    if (object[key].get(ids)) place.refuse(fmt::format("\"{}\" is not a list", key));
    std::vector<std::uint64_t> blocks;
    blocks.reserve(ids.size());
    for (const dom::element element : ids)
        if (element.get(blocks.emplace_back()))
            place.refuse(fmt::format("\"{}\" holds something that is not a whole number of at least 0", key));
    return blocks;
}

void add_fields(std::string& body, std::string_view fields) {
    if (fields.empty()) return;
    if (body.empty()) body = "{}";
    body.insert(body.size() - 1, fmt::format("{}{}", body.size() > 2 ? "," : "", fields));
}

}  // namespace paretoken::datasets
