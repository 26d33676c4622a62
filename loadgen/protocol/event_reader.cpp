#include "loadgen/protocol/event_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text/printable.h"

namespace paretoken::protocol {

static_assert(kReadablePadding >= simdjson::SIMDJSON_PADDING);

void Holes::add(ShapeHole::Kind kind, ondemand::value& value) {
    const bool number = kind == ShapeHole::Kind::number;
    const ondemand::json_type type = type_of(value);
    if (kind == ShapeHole::Kind::output && type == ondemand::json_type::string && first_output.empty()) {
        const std::string_view token = value.raw_json_token();
        first_output = token.substr(1, std::max<std::size_t>(1, token.rfind('"')) - 1);
    }
    if (type != (number ? ondemand::json_type::number : ondemand::json_type::string)) {
        unsafe |= kind == ShapeHole::Kind::output && type != ondemand::json_type::null;
        return;
    }
    if (count == list.size()) {
        unsafe = true;
        return;
    }
    const char* const begin = value.raw_json_token().data() + (number ? 0 : 1);
    if (const auto hole = hole_at(kind, event, static_cast<std::size_t>(begin - event.data()))) {
        list[count++] = *hole;
    } else {
        unsafe = true;
    }
}

std::optional<std::string_view> text_of(ondemand::value& value) {
    std::string_view text;
    if (type_of(value) != ondemand::json_type::string) return std::nullopt;
    const std::string_view token = value.raw_json_token();
    if (!value.get_string().get(text)) return text;
    // Half of a surrogate pair ("\ud83d"), from a gateway that cuts UTF-16: it is output, and stays as
    // written.
    const std::size_t end = token.rfind('"');
    return end == 0 || end == std::string_view::npos ? std::string_view() : token.substr(1, end - 1);
}

std::optional<std::int64_t> count_of(ondemand::value& value) {
    const auto within = [](std::int64_t count) { return std::clamp<std::int64_t>(count, -1, kAboveAll); };
    if (const auto text = text_of(value)) {
        std::int64_t count = 0;
        const auto end = text->data() + text->size();
        const auto [stop, error] = std::from_chars(text->data(), end, count);
        if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
        if (error == std::errc::result_out_of_range) return text->starts_with('-') ? -1 : kAboveAll;
        return within(count);
    }
    if (type_of(value) != ondemand::json_type::number) return std::nullopt;
    if (std::int64_t count = 0; !value.get_int64().get(count)) return within(count);
    double number = 0;
    if (value.get_double().get(number)) return std::nullopt;
    if (number < 0) return -1;
    return number < static_cast<double>(kAboveAll) ? static_cast<std::int64_t>(number) : kAboveAll;
}

bool is_impossible(const std::optional<std::int64_t>& count) {
    return count && (*count < 0 || *count > kMostTokens);
}

bool is_impossible(const TokenUsage& usage) {
    return is_impossible(usage.prompt) || is_impossible(usage.cached_prompt) ||
           is_impossible(usage.completion) || is_impossible(usage.reasoning);
}

/// The names of the text in a part of a message; that of speech is its transcript.
constexpr std::array<std::string_view, 4> kTextNames = {"text", "content", "value", "transcript"};

bool add_text(ondemand::value& value, std::size_t& bytes, std::size_t& thinking) {
    switch (type_of(value)) {
        case ondemand::json_type::string:
            if (const auto text = text_of(value)) bytes += text->size();
            return true;
        case ondemand::json_type::array:
            return for_each_element(value, [&](Value part) { return add_text(part, bytes, thinking); });
        case ondemand::json_type::object:
            return for_each_field(value, [&](Key key, Value inner) {
                if (is_one_of(kTextNames, key)) return add_text(inner, bytes, thinking);
                if (key == "thinking" || key == "summary") return add_text(inner, thinking, thinking);
                return true;
            });
        default:
            return true;
    }
}

bool is_text_name(Key name) {
    return is_one_of(kTextNames, name) || name == "thinking" || name == "summary";
}

namespace {

/// Returns the name of a field as it was written.
std::string_view written_name(Key name) {
    const char* const begin = name.raw();
    const char* end = begin;
    while (*end != '"') ++end;  // the parser has found the quote
    return {begin, end};
}

}  // namespace

bool note_unknown_text(std::string_view in, Key name, ondemand::value& value, Reading& reading) {
    const auto note = [&](std::string_view part, Value text) {
        std::size_t bytes = 0;
        if (!add_text(text, bytes, bytes)) return false;
        if (bytes != 0 && reading.unknown_name.empty()) {
            reading.unknown_in = in;
            reading.unknown_name = written_name(name);
            reading.unknown_part = part;
        }
        return true;
    };
    if (type_of(value) != ondemand::json_type::object) return note({}, value);
    return for_each_field(
        value, [&](Key key, Value inner) { return !is_text_name(key) || note(written_name(key), inner); });
}

bool has_text(ondemand::value& value) {
    const auto text = text_of(value);
    return text && !text->empty();
}

bool is_no_reason(std::string_view reason) {
    return reason.empty() || reason == "null" || reason == "None";
}

bool count_elements(ondemand::value& value, std::uint32_t& count) {
    return for_each_element(value, [&](Value) {
        ++count;
        return true;
    });
}

namespace {

bool read_count(ondemand::value& value, std::optional<std::int64_t>& target) {
    if (const auto count = count_of(value)) target = count;
    return true;
}

/// Adds to the counts of prompt and output tokens what they leave out: tokens that were read from a cache or
/// `written` to it, if the total is above their sum by exactly these, or reasoning, if it is above the sum by
/// the count of reasoning, or by any number if reasoning is not counted.
void add_tokens_left_out(TokenUsage& usage, std::optional<std::int64_t> written,
                         std::optional<std::int64_t> total) {
    if (!usage.completion || is_impossible(usage) || is_impossible(total) || is_impossible(written)) return;
    std::int64_t left_out = 0;
    if (total && usage.prompt) left_out = *total - *usage.prompt - *usage.completion;
    const std::int64_t read = usage.cached_prompt.value_or(0);
    if (left_out > 0 && (left_out == read || left_out == written || left_out == read + written.value_or(0))) {
        *usage.prompt += left_out;
    } else if (left_out > 0 && usage.reasoning.value_or(left_out) == left_out) {
        usage.reasoning = left_out;
        *usage.completion += left_out;
    }
}

/// The names of counts, as servers and gateways spell them.
constexpr std::array<std::string_view, 3> kPromptNames = {"prompt_tokens", "promptTokens",
                                                          "promptTokenCount"};
constexpr std::array<std::string_view, 3> kTotalNames = {"total_tokens", "totalTokens", "totalTokenCount"};
constexpr std::array<std::string_view, 6> kOutputNames = {
    "completion_tokens", "output_tokens",    "completionTokens",
    "outputTokens",      "outputTokenCount", "candidatesTokenCount",
};
constexpr std::array<std::string_view, 8> kCachedNames = {
    "cached_tokens",        "cachedTokens",      "cachedInputTokens",   "prompt_cache_hit_tokens",
    "promptCacheHitTokens", "cache_read_tokens", "cached_input_tokens", "cachedContentTokenCount",
};
constexpr std::array<std::string_view, 3> kWrittenNames = {
    "cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_input_tokens"};
constexpr std::array<std::string_view, 3> kWrittenDetails = {"cache_creation_tokens", "cache_write_tokens",
                                                             "cached_creation_tokens"};
constexpr std::array<std::string_view, 8> kReasoningNames = {
    "reasoning_tokens", "reasoningTokens",      "reasoning_token_count", "internal_reasoning_tokens",
    "thinking_tokens",  "thoughts_token_count", "thoughtsTokenCount",    "thinkingTokens",
};

}  // namespace

bool read_usage(ondemand::value& value, Delta& delta) {
    TokenUsage news;
    std::optional<std::int64_t> input, cache_read, cache_written, written_detail, rejected, total;
    const bool whole = for_each_field(value, [&](Key key, Value inner) {
        if (is_one_of(kPromptNames, key)) return read_count(inner, news.prompt);
        if (key == "input_tokens" || key == "inputTokens" || key == "inputTokenCount")
            return read_count(inner, input);
        if (is_one_of(kTotalNames, key)) return read_count(inner, total);
        if (is_one_of(kOutputNames, key)) return read_count(inner, news.completion);
        if (key == "prompt_tokens_details" || key == "input_tokens_details" || key == "promptTokensDetails")
            return for_each_field(inner, [&](Key name, Value count) {
                if (is_one_of(kCachedNames, name)) return read_count(count, news.cached_prompt);
                return is_one_of(kWrittenDetails, name) ? read_count(count, written_detail) : true;
            });
        if (is_one_of(kCachedNames, key)) return read_count(inner, news.cached_prompt);
        if (key == "cache_read_input_tokens" || key == "cacheReadInputTokens")
            return read_count(inner, cache_read);
        if (is_one_of(kWrittenNames, key)) return read_count(inner, cache_written);
        if (key == "completion_tokens_details" || key == "output_tokens_details" ||
            key == "completionTokensDetails")
            return for_each_field(inner, [&](Key name, Value count) {
                if (name == "rejected_prediction_tokens") return read_count(count, rejected);
                return is_one_of(kReasoningNames, name) ? read_count(count, news.reasoning) : true;
            });
        return is_one_of(kReasoningNames, key) ? read_count(inner, news.reasoning) : true;
    });
    // Anthropic's input_tokens exclude tokens read from or stored in the cache; those of the Responses API
    // include them, and never come with cache_read_input_tokens.
    if (input && !news.prompt) {
        delta.cache_written = std::clamp<std::int64_t>(cache_written.value_or(0), 0, kMostTokens);
        const bool possible =
            !is_impossible(input) && !is_impossible(cache_read) && !is_impossible(cache_written);
        news.prompt = possible ? *input + cache_read.value_or(0) + cache_written.value_or(0) : kAboveAll;
    }
    if (cache_read && !news.cached_prompt) news.cached_prompt = cache_read;
    if (total && news.prompt && !news.completion && *total > *news.prompt && !is_impossible(total))
        news.completion = *total - *news.prompt;
    add_tokens_left_out(news, cache_written ? cache_written : written_detail, total);
    if (rejected > 0 && news.completion > rejected) *news.completion -= *rejected;
    if (news != TokenUsage{}) {
        if (!delta.usage) delta.usage.emplace();
        update(*delta.usage, news);
    }
    if (total) delta.total_tokens = total;
    return whole;
}

bool read_timings(ondemand::value& value, Timings& timings) {
    const bool whole = for_each_field(value, [&](Key key, Value inner) {
        if (key == "cache_n") return read_count(inner, timings.cached);
        return key == "predicted_n" ? read_count(inner, timings.predicted) : true;
    });
    for (auto* count : {&timings.cached, &timings.predicted}) {
        if (*count && **count < 0) count->reset();
    }
    return whole;
}

bool read_type(ondemand::value& value, Reading& reading) {
    const auto type = text_of(value);
    reading.known |= type.has_value();
    reading.type = type.value_or(std::string_view());
    return true;
}

bool read_error(ondemand::value& value, bool& error) {
    const auto text = text_of(value);
    error |= text ? !text->empty() : type_of(value) == ondemand::json_type::object;
    return true;
}

bool read_model(ondemand::value& value, Reading& reading) {
    reading.model = text_of(value).value_or(std::string_view());
    return true;
}

bool read_status(ondemand::value& value, bool& error) {
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "status_code") error |= count_of(inner).value_or(0) != 0;
        return true;
    });
}

std::string short_line(std::string_view text, std::size_t most, const Secrets& secrets) {
    return printable_line(secrets.redacted(text), most);
}

void state_reason(std::string_view common, std::string_view own, Delta& delta, const Secrets& secrets) {
    delta.finish_reason = short_line(common, kLongestReason, secrets);
    delta.own_reason = common == own ? std::string() : short_line(own, kLongestReason, secrets);
}

std::string_view text_in(dom::element element, std::string_view key) {
    std::string_view text;
    return element[key].get(text) ? std::string_view() : text;
}

std::string_view text_in(simdjson::simdjson_result<dom::element> element, std::string_view key) {
    dom::element found;
    return element.get(found) ? std::string_view() : text_in(found, key);
}

}  // namespace paretoken::protocol
