#include "loadgen/protocol/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "core/text/printable.h"
#include "loadgen/protocol/delta.h"

namespace paretoken::protocol {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostChoices = 1024;

struct EndpointRow {
    EndpointType endpoint;
    std::string_view name;
    std::string_view path;
};
constexpr std::array kEndpoints = {
    EndpointRow{EndpointType::chat, "chat", "/v1/chat/completions"},
    EndpointRow{EndpointType::completions, "completions", "/v1/completions"},
};

const EndpointRow& row_of(EndpointType endpoint) {
    for (const EndpointRow& row : kEndpoints) {
        if (row.endpoint == endpoint) return row;
    }
    throw std::logic_error("an endpoint without a row in the table");
}

Json parse_extra_body(const std::string& text) {
    if (text.empty()) return Json::object();
    Json extra;
    try {
        extra = Json::parse(text);
    } catch (const Json::parse_error& error) {
        const std::size_t at = error.byte == 0 ? 0 : error.byte - 1;
        const std::size_t from = at < 12 ? 0 : at - 12;
        throw UsageError(
            fmt::format("--extra-body is not JSON: wrong at character {} (near '{}'); give an object such "
                        "as {{\"top_p\": 0.9}}",
                        at + 1, text.substr(from, 24)));
    }
    if (!extra.is_object()) {
        throw UsageError(
            fmt::format("--extra-body is a JSON {}, not an object at character 1; give an object such "
                        "as {{\"top_p\": 0.9}}",
                        extra.type_name()));
    }
    return extra;
}

Json own_fields(const BodyOptions& options) {
    Json body = Json::object();
    body["model"] = options.model;
    body["stream"] = options.stream;
    if (options.stream && (options.include_usage || options.continuous_usage)) {
        body["stream_options"]["include_usage"] = true;
        if (options.continuous_usage) body["stream_options"]["continuous_usage_stats"] = true;
    }
    if (options.ignore_eos) body["ignore_eos"] = true;
    if (options.return_token_ids) body["return_token_ids"] = true;
    if (options.temperature) body["temperature"] = *options.temperature;
    return body;
}

void append_string(std::string& out, std::string_view text) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
}

void append_message(std::string& out, std::string_view role, std::string_view content,
                    std::string_view parts = {}) {
    out += "{\"role\":";
    append_string(out, role);
    out += ",\"content\":";
    if (parts.empty()) {
        append_string(out, content);
    } else {
        out += parts;
    }
    out += '}';
}

void append_chat_prompt(std::string& out, const Prompt& prompt) {
    out += "\"messages\":[";
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        append_message(out, "user", *text);
    } else if (const auto* messages = std::get_if<Messages>(&prompt)) {
        for (std::size_t i = 0; i < messages->size(); ++i) {
            if (i != 0) out += ',';
            const Message& message = (*messages)[i];
            append_message(out, message.role, message.content, message.parts);
        }
    } else {
        throw std::invalid_argument("the chat endpoint takes no prompt of token ids");
    }
    out += ']';
}

void append_completions_prompt(std::string& out, const Prompt& prompt) {
    out += "\"prompt\":";
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        append_string(out, *text);
    } else if (const auto* ids = std::get_if<TokenIds>(&prompt)) {
        out += '[';
        for (std::size_t i = 0; i < ids->size(); ++i) {
            if (i != 0) out += ',';
            const fmt::format_int digits((*ids)[i]);
            out.append(digits.data(), digits.size());
        }
        out += ']';
    } else {
        out += '"';
        const Messages& messages = std::get<Messages>(prompt);
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (i != 0) out += "\\n";
            append_json_escaped(out, messages[i].content);
        }
        out += '"';
    }
}

bool is_limit(std::string_view key) {
    return key == "max_tokens" || key == "max_completion_tokens";
}

std::size_t size_hint(const Prompt& prompt) {
    if (const auto* text = std::get_if<std::string>(&prompt)) return text->size() + text->size() / 8;
    if (const auto* ids = std::get_if<TokenIds>(&prompt)) return 6 * ids->size();
    std::size_t size = 0;
    for (const Message& message : std::get<Messages>(prompt))
        size += message.content.size() + message.parts.size() + 48;
    return size + size / 8;
}

}  // namespace

std::string_view name_of(EndpointType endpoint) {
    return row_of(endpoint).name;
}
std::string_view path_of(EndpointType endpoint) {
    return row_of(endpoint).path;
}

std::optional<EndpointType> endpoint_type_named(std::string_view name) {
    for (const EndpointRow& row : kEndpoints) {
        if (row.name == name) return row.endpoint;
    }
    return std::nullopt;
}

void append_json_escaped(std::string& out, std::string_view text) {
    std::size_t plain = 0;  // bytes at the front that need no escape
    const auto flush = [&] {
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        plain = 0;
    };
    while (plain < text.size()) {
        const auto byte = static_cast<unsigned char>(text[plain]);
        if (byte >= 0x80) {
            if (const std::size_t length = utf8_length(text.substr(plain))) {
                plain += length;
                continue;
            }
            flush();
            out += "\xEF\xBF\xBD";
        } else if (byte == '"' || byte == '\\') {
            flush();
            out += '\\';
            out += static_cast<char>(byte);
        } else if (byte < 0x20) {
            flush();
            switch (byte) {
                case '\n':
                    out += "\\n";
                    break;
                case '\r':
                    out += "\\r";
                    break;
                case '\t':
                    out += "\\t";
                    break;
                default:
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(byte));
            }
        } else {
            ++plain;
            continue;
        }
        text.remove_prefix(1);
    }
    flush();
}

BodyWriter::BodyWriter(const BodyOptions& options)
    : endpoint_(options.endpoint),
      max_tokens_key_(options.max_completion_tokens && options.endpoint == EndpointType::chat
                          ? "max_completion_tokens"
                          : "max_tokens") {
    Json fields = own_fields(options);
    const Json extra = parse_extra_body(options.extra_body);
    for (const auto& [key, value] : extra.items()) {
        own_prompt_ &= !is_prompt(key);
        own_max_tokens_ &= !is_limit(key);
        if (is_limit(key) && value.is_number_integer()) extra_max_tokens_ = value.get<std::int64_t>();
        if ((key == "n" || key == "best_of") && value.is_number_integer()) {
            choices_ = std::clamp<std::int64_t>(value.get<std::int64_t>(), choices_, kMostChoices);
        }
        if (value.is_null()) {
            fields.erase(key);
        } else {
            fields[key] = value;
        }
    }
    const std::string object = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    constant_ = object.substr(1, object.size() - 2);
}

std::optional<std::int64_t> BodyWriter::asked_output_tokens(const Request& request) const {
    const auto each = own_max_tokens_ ? request.wanted_output_tokens : extra_max_tokens_;
    if (!each) return std::nullopt;
    return std::clamp<std::int64_t>(*each, 0, kMostTokens / choices_) * choices_;
}

/// Returns all fields except the prompt and its limit. The request's own model and fields override the run's.
BodyWriter::Fields BodyWriter::fields_of(const Request& request) const {
    Fields fields{.text = constant_, .own_prompt = own_prompt_, .own_max_tokens = own_max_tokens_};
    if (request.model.empty() && request.body.empty()) return fields;
    Json object = Json::parse("{" + constant_ + "}");
    if (!request.model.empty()) object["model"] = request.model;
    const Json own = request.body.empty() ? Json::object() : Json::parse(request.body);
    for (const auto& [key, value] : own.items()) {
        fields.own_prompt &= !is_prompt(key);
        fields.own_max_tokens &= !is_limit(key);
        if (value.is_null()) {
            object.erase(key);
        } else {
            object[key] = value;
        }
    }
    const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    fields.text = text.substr(1, text.size() - 2);
    return fields;
}

std::string BodyWriter::body(const Request& request) const {
    const Fields fields = fields_of(request);
    std::string out;
    out.reserve(fields.text.size() + size_hint(request.prompt) + 128);
    out += '{';
    out += fields.text;
    if (fields.own_max_tokens && request.wanted_output_tokens) {
        if (out.size() > 1) out += ',';
        fmt::format_to(std::back_inserter(out), "\"{}\":{}", max_tokens_key_, *request.wanted_output_tokens);
    }
    if (fields.own_prompt) {
        if (out.size() > 1) out += ',';
        if (endpoint_ == EndpointType::chat) {
            append_chat_prompt(out, request.prompt);
        } else {
            append_completions_prompt(out, request.prompt);
        }
    }
    out += '}';
    return out;
}

bool BodyWriter::is_prompt(std::string_view key) const {
    return key == (endpoint_ == EndpointType::chat ? "messages" : "prompt");
}

}  // namespace paretoken::protocol
