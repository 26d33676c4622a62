#include "loadgen/protocol/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "loadgen/protocol/delta.h"

namespace paretoken::protocol {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostChoices = 1024;

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

/// Sets the fields of a JSON object in `body`.
void merge(Json& body, std::string_view fields) {
    if (!fields.empty()) body.update(Json::parse(fields));
}

Json own_fields(const BodyOptions& options) {
    const Protocol& protocol = *options.protocol;
    Json body = Json::object();
    body["model"] = options.model;
    body["stream"] = options.stream;
    merge(body, protocol.constant_fields);
    for (auto field = protocol.optional_fields.rbegin(); field != protocol.optional_fields.rend(); ++field) {
        if (!(options.*(field->flag)) || (field->only_with_stream && !options.stream)) continue;
        merge(body, field->fields);
    }
    if (options.temperature) body["temperature"] = *options.temperature;
    return body;
}

bool is_limit(std::string_view key) {
    return key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens";
}

std::size_t size_hint(const Prompt& prompt) {
    if (const auto* text = std::get_if<std::string>(&prompt)) return text->size() + text->size() / 8;
    if (const auto* ids = std::get_if<TokenIds>(&prompt)) return 6 * ids->size();
    std::size_t size = 0;
    for (const Message& message : std::get<Messages>(prompt))
        size += message.content.size() + message.parts.size() + message.fields.size() + 48;
    return size + size / 8;
}

/// Applies a field of extra_body, or of a request's own body.
void change_limit(BodyWriter::OutputLimit& limit, const std::string& key, const Json& value) {
    const auto number = value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
    if (is_limit(key)) {
        limit.is_wanted = false;
        limit.given = number;
    }
    if ((key == "n" || key == "best_of") && number)
        limit.choices = std::clamp<std::int64_t>(*number, limit.choices, kMostChoices);
    if (key == "n" && number) limit.shown = std::clamp<std::int64_t>(*number, 1, kMostChoices);
}

}  // namespace

BodyWriter::BodyWriter(const BodyOptions& options)
    : protocol_(options.protocol),
      limit_key_(options.max_completion_tokens ? protocol_->reasoning_limit_key : protocol_->limit_key) {
    Json fields = own_fields(options);
    const Json extra = parse_extra_body(options.extra_body);
    for (const auto& [key, value] : extra.items()) {
        own_prompt_ &= !is_prompt(key);
        echoes_prompt_ |= key == "echo" && value == true;
        change_limit(limit_, key, value);
        if (value.is_null()) {
            fields.erase(key);
        } else {
            fields[key] = value;
        }
    }
    const std::string object = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    constant_ = object.substr(1, object.size() - 2);
}

BodyWriter::OutputLimit BodyWriter::limit_of(const Request& request) const {
    OutputLimit limit = limit_;
    const Json own = request.body.empty() ? Json::object() : Json::parse(request.body);
    for (const auto& [key, value] : own.items()) change_limit(limit, key, value);
    return limit;
}

std::optional<std::int64_t> BodyWriter::wanted_output_tokens(const Request& request) const {
    const OutputLimit limit = limit_of(request);
    if (!request.wanted_output_tokens) return std::nullopt;
    std::int64_t each = *request.wanted_output_tokens;
    if (!limit.is_wanted && limit.given) each = std::min(each, std::max<std::int64_t>(0, *limit.given));
    return limit.shown == 1 ? each : std::min(each, kMostTokens / limit.shown) * limit.shown;
}

std::optional<std::int64_t> BodyWriter::asked_output_tokens(const Request& request) const {
    const OutputLimit limit = limit_of(request);
    const auto each = limit.is_wanted ? request.wanted_output_tokens : limit.given;
    if (!each) return std::nullopt;
    return std::clamp<std::int64_t>(*each, 0, kMostTokens / limit.choices) * limit.choices;
}

/// Returns all fields except the prompt and its limit. The request's own model and fields override the run's.
BodyWriter::Fields BodyWriter::fields_of(const Request& request) const {
    Fields fields{.text = constant_, .own_prompt = own_prompt_, .own_max_tokens = limit_.is_wanted};
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
        fmt::format_to(std::back_inserter(out), "\"{}\":{}", limit_key_, *request.wanted_output_tokens);
    }
    if (fields.own_prompt) {
        if (out.size() > 1) out += ',';
        if (!protocol_->takes_token_ids && std::holds_alternative<TokenIds>(request.prompt))
            throw std::invalid_argument(
                fmt::format("the {} endpoint takes no prompt of token ids", protocol_->name));
        protocol_->append_prompt(out, request.prompt);
    }
    out += '}';
    return out;
}

bool BodyWriter::is_prompt(std::string_view key) const {
    return key == protocol_->prompt_key;
}

}  // namespace paretoken::protocol
