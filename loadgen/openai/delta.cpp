#include "loadgen/openai/delta.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "loadgen/openai/sse.h"

namespace paretoken::openai {
namespace {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

static_assert(kReadablePadding >= simdjson::SIMDJSON_PADDING);

// ------------------------------------------------------------------ the hot path: one pass, on demand

/// Calls on_field(key, value) for every field; false when the JSON breaks.
template <class OnField>
bool for_each_field(ondemand::object object, OnField&& on_field) {
    for (auto result : object) {
        ondemand::field field;
        if (std::move(result).get(field)) return false;
        on_field(field.key(), field.value());
    }
    return true;
}

template <class OnElement>
bool for_each_element(ondemand::array array, OnElement&& on_element) {
    for (auto result : array) {
        ondemand::value value;
        if (std::move(result).get(value)) return false;
        on_element(value);
    }
    return true;
}

ondemand::json_type type_of(ondemand::value& value) {
    ondemand::json_type type;
    return value.type().get(type) ? ondemand::json_type::null : type;
}

/// Nothing for everything that is not text.
std::optional<std::string_view> text_of(ondemand::value& value) {
    std::string_view text;
    if (type_of(value) != ondemand::json_type::string || value.get_string().get(text)) return std::nullopt;
    return text;
}

/// A whole number, also written as 4.0 or "4".
std::optional<std::int64_t> count_of(ondemand::value& value) {
    if (const auto text = text_of(value)) {
        std::int64_t count = 0;
        const auto end = text->data() + text->size();
        const auto [stop, error] = std::from_chars(text->data(), end, count);
        return error == std::errc{} && stop == end ? std::optional(count) : std::nullopt;
    }
    if (type_of(value) != ondemand::json_type::number) return std::nullopt;
    double number = 0;
    if (value.get_double().get(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

struct OutputBytes {
    std::size_t content = 0;
    std::size_t reasoning = 0;
    std::size_t tool_call = 0;
};

/// Bytes of a string, of parts ([{"type": "text", "text": "…"}]), or of one part.
void add_text(ondemand::value& value, std::size_t& bytes, std::size_t& thinking) {
    switch (type_of(value)) {
        case ondemand::json_type::string:
            if (const auto text = text_of(value)) bytes += text->size();
            break;
        case ondemand::json_type::array: {
            ondemand::array parts;
            if (value.get_array().get(parts)) break;
            for_each_element(parts, [&](ondemand::value part) { add_text(part, bytes, thinking); });
            break;
        }
        case ondemand::json_type::object: {
            ondemand::object part;
            if (value.get_object().get(part)) break;
            for_each_field(part, [&](ondemand::raw_json_string key, ondemand::value inner) {
                if (key == "text") add_text(inner, bytes, thinking);
                if (key == "thinking") add_text(inner, thinking, thinking);
            });
            break;
        }
        default:
            break;
    }
}

/// Bytes of the texts under a tool call: its function's name and arguments, a custom tool's input.
void add_tool_call(ondemand::value& value, std::size_t& bytes) {
    if (type_of(value) == ondemand::json_type::array) {
        ondemand::array calls;
        if (value.get_array().get(calls)) return;
        for_each_element(calls, [&](ondemand::value call) { add_tool_call(call, bytes); });
        return;
    }
    ondemand::object call;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(call)) return;
    for_each_field(call, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "function" || key == "custom") add_tool_call(inner, bytes);
        if (key == "name" || key == "arguments" || key == "input") {
            if (const auto text = text_of(inner)) bytes += text->size();
        }
    });
}

void read_delta(ondemand::value& value, OutputBytes& output) {
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(object)) return;
    for_each_field(object, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "content" || key == "refusal") {
            add_text(inner, output.content, output.reasoning);
        } else if (key == "reasoning_content" || key == "reasoning") {
            // Some servers send the same text under both names.
            std::size_t bytes = 0;
            add_text(inner, bytes, bytes);
            output.reasoning = std::max(output.reasoning, bytes);
        } else if (key == "tool_calls" || key == "function_call") {
            add_tool_call(inner, output.tool_call);
        }
    });
}

std::uint32_t elements_in(ondemand::value& value) {
    std::uint32_t count = 0;
    ondemand::array array;
    if (type_of(value) != ondemand::json_type::array || value.get_array().get(array)) return 0;
    for_each_element(array, [&](ondemand::value) { ++count; });
    return count;
}

/// One entry per token: "content" in chat, "tokens" in completions.
std::uint32_t tokens_in_logprobs(ondemand::value& value) {
    std::uint32_t count = 0;
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(object)) return 0;
    for_each_field(object, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "content" || key == "tokens") count = std::max(count, elements_in(inner));
    });
    return count;
}

/// Every spelling: OpenAI, Responses and Anthropic (input_tokens), DeepSeek (prompt_cache_hit_tokens),
/// Moonshot (cached_tokens).
void read_usage(ondemand::value& value, std::optional<TokenUsage>& usage) {
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(object)) return;
    TokenUsage news;
    std::optional<std::int64_t> uncached_prompt, cache_read, cache_written;
    const auto detail = [](ondemand::value& details, std::string_view name) {
        std::optional<std::int64_t> count;
        ondemand::object inside;
        if (type_of(details) != ondemand::json_type::object || details.get_object().get(inside)) return count;
        for_each_field(inside, [&](ondemand::raw_json_string key, ondemand::value inner) {
            if (key.unsafe_is_equal(name)) count = count_of(inner);
        });
        return count;
    };
    const auto set = [](std::optional<std::int64_t>& target, std::optional<std::int64_t> count) {
        if (count) target = count;
    };
    for_each_field(object, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "prompt_tokens") {
            set(news.prompt, count_of(inner));
        } else if (key == "completion_tokens" || key == "output_tokens") {
            set(news.completion, count_of(inner));
        } else if (key == "input_tokens") {
            set(uncached_prompt, count_of(inner));
        } else if (key == "prompt_tokens_details" || key == "input_tokens_details") {
            set(news.cached_prompt, detail(inner, "cached_tokens"));
        } else if (key == "prompt_cache_hit_tokens" || key == "cached_tokens") {
            set(news.cached_prompt, count_of(inner));
        } else if (key == "cache_read_input_tokens") {
            set(cache_read, count_of(inner));
        } else if (key == "cache_creation_input_tokens") {
            set(cache_written, count_of(inner));
        } else if (key == "completion_tokens_details" || key == "output_tokens_details") {
            set(news.reasoning, detail(inner, "reasoning_tokens"));
        } else if (key == "reasoning_tokens") {
            set(news.reasoning, count_of(inner));
        }
    });
    // Anthropic's input_tokens leave out what the cache read or stored; the Responses API's do not, and never
    // come with cache_read_input_tokens.
    if (uncached_prompt && !news.prompt) {
        news.prompt = *uncached_prompt + cache_read.value_or(0) + cache_written.value_or(0);
    }
    if (cache_read && !news.cached_prompt) news.cached_prompt = cache_read;
    if (news == TokenUsage{}) return;
    if (!usage) usage.emplace();
    update(*usage, news);
}

/// llama.cpp: cache_n prompt tokens came from the cache, predicted_n tokens are out so far.
struct Timings {
    std::optional<std::int64_t> cached;
    std::optional<std::int64_t> predicted;
};
Timings read_timings(ondemand::value& value) {
    Timings timings;
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(object)) return timings;
    for_each_field(object, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "cache_n") timings.cached = count_of(inner);
        if (key == "predicted_n") timings.predicted = count_of(inner);
    });
    return timings;
}

/// What one event holds before it is put together.
struct Reading {
    OutputBytes output;
    std::uint32_t token_ids = 0;
    std::uint32_t logprobs = 0;
    Timings timings;
    bool known = false;  ///< it has choices, usage or timings
    bool error = false;  ///< it has an error somewhere; which one is looked up on the slow path
};

/// null, false and "" are no errors.
bool is_error(ondemand::value& value) {
    if (const auto text = text_of(value)) return !text->empty();
    return type_of(value) == ondemand::json_type::object;
}

void read_choice(ondemand::value& value, Delta& delta, Reading& reading) {
    ondemand::object choice;
    if (type_of(value) != ondemand::json_type::object || value.get_object().get(choice)) return;
    for_each_field(choice, [&](ondemand::raw_json_string key, ondemand::value inner) {
        if (key == "delta") {
            read_delta(inner, reading.output);
        } else if (key == "text") {
            add_text(inner, reading.output.content, reading.output.reasoning);
        } else if (key == "index") {
            delta.choice = static_cast<int>(count_of(inner).value_or(0));
        } else if (key == "finish_reason") {
            if (const auto reason = text_of(inner); reason && !reason->empty()) delta.finish_reason = *reason;
        } else if (key == "token_ids") {
            reading.token_ids += elements_in(inner);
        } else if (key == "logprobs") {
            reading.logprobs += tokens_in_logprobs(inner);
        } else if (key == "usage") {  // Moonshot
            read_usage(inner, delta.usage);
        } else if (key == "error") {
            reading.error |= is_error(inner);
        }
    });
}

bool read_event(ondemand::object object, Delta& delta, Reading& reading) {
    return for_each_field(object, [&](ondemand::raw_json_string key, ondemand::value value) {
        if (key == "choices") {
            ondemand::array choices;
            reading.known = true;
            if (type_of(value) != ondemand::json_type::array || value.get_array().get(choices)) return;
            for_each_element(choices, [&](ondemand::value choice) { read_choice(choice, delta, reading); });
        } else if (key == "usage") {
            reading.known = true;
            read_usage(value, delta.usage);
        } else if (key == "timings") {
            reading.known = true;
            reading.timings = read_timings(value);
        } else if (key == "error") {
            reading.error |= is_error(value);
        } else if (key == "x_groq") {
            ondemand::object inside;
            if (type_of(value) != ondemand::json_type::object || value.get_object().get(inside)) return;
            for_each_field(inside, [&](ondemand::raw_json_string inner_key, ondemand::value inner) {
                if (inner_key == "usage") read_usage(inner, delta.usage);
                if (inner_key == "error") reading.error |= is_error(inner);
            });
        }
    });
}

void put_together(const Reading& reading, Delta& delta) {
    const OutputBytes& output = reading.output;
    delta.text_bytes = static_cast<std::uint32_t>(output.content + output.reasoning + output.tool_call);
    delta.token_ids = reading.token_ids ? reading.token_ids : reading.logprobs;
    delta.has_output = delta.text_bytes != 0 || reading.token_ids != 0;
    delta.kind = output.content     ? EventKind::content
                 : output.tool_call ? EventKind::tool_call
                 : output.reasoning ? EventKind::reasoning
                                    : EventKind::content;
    if (reading.timings.cached) {
        if (!delta.usage) delta.usage.emplace();
        if (!delta.usage->cached_prompt) delta.usage->cached_prompt = reading.timings.cached;
    }
    if (delta.usage && delta.usage->completion) {
        delta.completion_tokens_so_far = delta.usage->completion;
    } else {
        delta.completion_tokens_so_far = reading.timings.predicted;
    }
}

// ------------------------------------------------------------------ the slow path: errors, whole answers

std::string one_line(std::string_view text) {
    constexpr std::size_t kLongestText = 400;
    std::string line;
    for (const char byte : text) {
        const bool blank = static_cast<unsigned char>(byte) <= ' ';
        if (blank && (line.empty() || line.back() == ' ')) continue;
        line += blank ? ' ' : byte;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (line.size() > kLongestText) {
        line.resize(kLongestText);
        while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
        if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0) line.pop_back();
        line += "…";
    }
    return line;
}

std::string string_of(dom::element element) {
    std::string_view text;
    if (!element.get(text)) return std::string(text);
    if (element.is_null()) return {};
    return simdjson::minify(element);
}

std::string member(dom::object object, std::string_view key) {
    dom::element element;
    return object[key].get(element) ? std::string() : string_of(element);
}

/// The text of an error given as a string, an object, or an object in an object. Empty: none.
std::string error_of(dom::element error) {
    dom::object object;
    if (error.is_null() || error.is_bool()) return {};
    if (error.get(object)) return string_of(error);
    dom::element inner;
    if (!object["error"].get(inner)) {
        if (std::string text = error_of(inner); !text.empty()) return text;
    }
    std::string message;
    for (const auto key : {"message", "detail", "msg"}) {
        if (message.empty()) message = member(object, key);
    }
    std::string type = member(object, "type");
    if (type.empty()) type = member(object, "code");
    if (message.empty() && type.empty()) return simdjson::minify(object);
    if (message.empty()) return type;
    return type.empty() ? message : message + " (" + type + ")";
}

/// FastAPI: "detail" is a text or a list of {"loc": […], "msg": "…"}.
std::string detail_of(dom::element detail) {
    dom::array list;
    if (detail.get(list)) return error_of(detail);
    std::string text;
    for (const dom::element entry : list) text += (text.empty() ? "" : "; ") + error_of(entry);
    return text;
}

/// The error that a JSON object tells of, wherever it does. Empty: none.
std::string error_in(dom::element whole) {
    dom::element element;
    dom::array choices;
    std::string text;
    if (!whole["error"].get(element)) text = error_of(element);
    if (text.empty() && !whole["choices"].get(choices)) {
        for (const dom::element choice : choices) {
            if (text.empty() && !choice["error"].get(element)) text = error_of(element);
        }
    }
    if (text.empty() && !whole["x_groq"]["error"].get(element)) text = error_of(element);
    if (text.empty() && !whole["detail"].get(element)) text = detail_of(element);
    // {"object": "error", "message": …} of older vLLM; {"message": …} of gateways. A message that is no text
    // belongs to another protocol.
    std::string_view message;
    if (text.empty() && !whole["message"].get(message)) text = error_of(whole);
    return text;
}

/// Bytes of output text in a choice of a whole answer.
std::uint64_t text_bytes_in(dom::element choice) {
    std::uint64_t bytes = 0;
    std::string_view text;
    if (!choice["text"].get(text)) bytes += text.size();
    dom::object message;
    if (choice["message"].get(message)) return bytes;
    for (const auto key : {"content", "reasoning_content", "reasoning", "refusal"}) {
        if (!message[key].get(text)) bytes += text.size();
    }
    dom::array calls;
    if (!message["tool_calls"].get(calls)) bytes += simdjson::minify(calls).size();
    return bytes;
}

}  // namespace

struct DeltaParser::State {
    ondemand::parser json;
};

DeltaParser::DeltaParser() : state_(std::make_unique<State>()) {}
DeltaParser::~DeltaParser() = default;
DeltaParser::DeltaParser(DeltaParser&&) noexcept = default;
DeltaParser& DeltaParser::operator=(DeltaParser&&) noexcept = default;

Delta DeltaParser::parse(std::string_view data) {
    Delta delta;
    const auto is_blank = [](char byte) {
        return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
    };
    while (!data.empty() && is_blank(data.front())) data.remove_prefix(1);
    while (!data.empty() && is_blank(data.back())) data.remove_suffix(1);
    if (data.empty()) return delta;
    if (data == "[DONE]") {
        delta.done = true;
        return delta;
    }
    Reading reading;
    ondemand::document document;
    ondemand::object object;
    if (state_->json.iterate(data, data.size() + kReadablePadding).get(document) ||
        document.get_object().get(object) || !read_event(object, delta, reading)) {
        delta = Delta{};
        delta.malformed = true;
        return delta;
    }
    put_together(reading, delta);
    if (reading.error || !reading.known) {
        dom::parser slow;
        dom::element whole;
        if (!slow.parse(data.data(), data.size()).get(whole)) delta.error = one_line(error_in(whole));
        if (reading.error && delta.error.empty()) delta.error = "an error without a text";
    }
    if (delta.finish_reason == "error" && delta.error.empty()) delta.error = "finish_reason is \"error\"";
    return delta;
}

void update(TokenUsage& usage, const TokenUsage& news) {
    if (news.prompt) usage.prompt = news.prompt;
    if (news.cached_prompt) usage.cached_prompt = news.cached_prompt;
    if (news.completion) usage.completion = news.completion;
    if (news.reasoning) usage.reasoning = news.reasoning;
}

std::string error_text_of(std::string_view body) {
    constexpr std::size_t kShown = 200;
    dom::parser parser;
    dom::element whole;
    std::string text;
    if (!parser.parse(body.data(), body.size()).get(whole)) {
        std::string_view string;
        text = one_line(whole.get(string) ? error_in(whole) : std::string(string));
    }
    return text.empty() ? one_line(body.substr(0, kShown)) : text;
}

std::optional<WholeAnswer> parse_whole_answer(std::string_view body) {
    dom::parser parser;
    dom::element whole;
    if (parser.parse(body.data(), body.size()).get(whole) || !whole.is_object()) return std::nullopt;
    WholeAnswer answer;
    answer.error = one_line(error_in(whole));
    dom::array choices;
    if (!whole["choices"].get(choices)) {
        for (const dom::element choice : choices) {
            std::string_view reason;
            if (!choice["finish_reason"].get(reason)) answer.finish_reason = reason;
            answer.text_bytes += text_bytes_in(choice);
        }
    }
    // The same usage, in the same spellings, as in a stream's last event.
    PaddedBuffer padded;
    padded.append(body);
    answer.usage = DeltaParser().parse(padded.view()).usage;
    return answer;
}

}  // namespace paretoken::openai
