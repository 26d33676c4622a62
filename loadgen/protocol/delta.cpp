#include "loadgen/protocol/delta.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text/printable.h"
#include "loadgen/protocol/delta_shape.h"
#include "loadgen/protocol/sse.h"

namespace paretoken::protocol {
namespace {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

static_assert(kReadablePadding >= simdjson::SIMDJSON_PADDING);

// ------------------------------------------------------------------ the hot path: one pass, on demand

using Key = ondemand::raw_json_string;
using Value = ondemand::value;

constexpr std::int64_t kAboveAll = kMostTokens + 1;  ///< value for every count that is too large
constexpr std::size_t kLongestReason = 64;           ///< bytes of a finish_reason
constexpr std::size_t kLongestText = 400;            ///< bytes of an error

/// The positions of the values that may differ between events of the same shape.
struct Holes {
    std::string_view event;
    std::array<ShapeHole, DeltaShape::kMostHoles> list;
    std::size_t count = 0;
    bool unsafe = false;  ///< too many, of unexpected kinds, or output that is not one string

    /// Adds the position of a string or a number; other values are no holes.
    void add(ShapeHole::Kind kind, ondemand::value& value);
};

/// Returns the type of a value; null if it is not a valid value.
inline ondemand::json_type type_of(ondemand::value& value) {
    ondemand::json_type type;
    return value.type().get(type) ? ondemand::json_type::null : type;
}

void Holes::add(ShapeHole::Kind kind, ondemand::value& value) {
    const bool number = kind == ShapeHole::Kind::number;
    const ondemand::json_type type = type_of(value);
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

template <class OnField>
bool for_each_field(ondemand::object& object, OnField&& on_field) {
    for (auto result : object) {
        ondemand::field field;
        if (std::move(result).get(field) || !on_field(field.key(), field.value())) return false;
    }
    return true;
}

// Every reader returns false when the JSON is invalid, which ends the whole reading. A value of an unexpected
// type is skipped and is no error.

/// Returns whether nothing follows the value that was read. The parser does not check this, and an error
/// would then depend on the bytes behind the event in memory.
bool is_at_end(ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

/// Calls on_field(key, value) for every field, as long as it returns true.
template <class OnField>
bool for_each_field(ondemand::value& value, OnField&& on_field) {
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object) return true;
    return !value.get_object().get(object) && for_each_field(object, on_field);
}

template <class OnElement>
bool for_each_element(ondemand::value& value, OnElement&& on_element) {
    ondemand::array array;
    if (type_of(value) != ondemand::json_type::array) return true;
    if (value.get_array().get(array)) return false;
    for (auto result : array) {
        ondemand::value element;
        if (std::move(result).get(element) || !on_element(element)) return false;
    }
    return true;
}

/// Returns a text; nothing if the value is not text.
std::optional<std::string_view> text_of(ondemand::value& value) {
    std::string_view text;
    if (type_of(value) != ondemand::json_type::string || value.get_string().get(text)) return std::nullopt;
    return text;
}

/// Returns a whole number, also written as 4.0 or "4". Negative numbers become -1, too large ones kAboveAll;
/// see is_impossible.
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

bool read_count(ondemand::value& value, std::optional<std::int64_t>& target) {
    if (const auto count = count_of(value)) target = count;
    return true;
}

struct OutputBytes {
    std::size_t content = 0;
    std::size_t reasoning = 0;
    std::size_t tool_call = 0;
};

/// Counts the bytes of a string, of parts ([{"type": "text", "text": "…"}]), or of one part, which may be
/// thinking.
bool add_text(ondemand::value& value, std::size_t& bytes, std::size_t& thinking) {
    switch (type_of(value)) {
        case ondemand::json_type::string:
            if (const auto text = text_of(value)) bytes += text->size();
            return true;
        case ondemand::json_type::array:
            return for_each_element(value, [&](Value part) { return add_text(part, bytes, thinking); });
        case ondemand::json_type::object:
            return for_each_field(value, [&](Key key, Value inner) {
                if (key == "text") return add_text(inner, bytes, thinking);
                if (key == "thinking") return add_text(inner, thinking, thinking);
                return true;
            });
        default:
            return true;
    }
}

/// Counts the bytes of texts in tool calls: a function's name and arguments, a custom tool's input.
bool add_tool_call(ondemand::value& value, std::size_t& bytes, Holes& holes) {
    if (type_of(value) == ondemand::json_type::array) {
        return for_each_element(value, [&](Value call) { return add_tool_call(call, bytes, holes); });
    }
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "function" || key == "custom") return add_tool_call(inner, bytes, holes);
        if (key == "name" || key == "arguments" || key == "input") {
            if (key == "arguments") holes.add(ShapeHole::Kind::output, inner);
            if (const auto text = text_of(inner)) bytes += text->size();
        }
        return true;
    });
}

bool read_delta(ondemand::value& value, OutputBytes& output, Holes& holes) {
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "content" || key == "refusal") {
            holes.add(ShapeHole::Kind::output, inner);
            return add_text(inner, output.content, output.reasoning);
        }
        if (key == "tool_calls" || key == "function_call") {
            return add_tool_call(inner, output.tool_call, holes);
        }
        if (key == "reasoning_content" || key == "reasoning") {
            holes.add(ShapeHole::Kind::output, inner);
            // Some servers send the same text under both names.
            std::size_t bytes = 0;
            if (!add_text(inner, bytes, bytes)) return false;
            output.reasoning = std::max(output.reasoning, bytes);
        }
        return true;
    });
}

bool count_elements(ondemand::value& value, std::uint32_t& count) {
    return for_each_element(value, [&](Value) {
        ++count;
        return true;
    });
}

/// Counts log probabilities, one entry per token: "content" in chat, "tokens" in completions.
bool count_logprobs(ondemand::value& value, std::uint32_t& count) {
    return for_each_field(value, [&](Key key, Value inner) {
        return (key == "content" || key == "tokens") ? count_elements(inner, count) : true;
    });
}

bool read_detail(ondemand::value& details, std::string_view name, std::optional<std::int64_t>& target) {
    return for_each_field(details, [&](Key key, Value inner) {
        return key.unsafe_is_equal(name) ? read_count(inner, target) : true;
    });
}

/// Reads usage in every spelling: OpenAI, Responses and Anthropic (input_tokens), DeepSeek
/// (prompt_cache_hit_tokens), Moonshot (cached_tokens).
bool read_usage(ondemand::value& value, std::optional<TokenUsage>& usage) {
    TokenUsage news;
    std::optional<std::int64_t> input, cache_read, cache_written;
    const bool whole = for_each_field(value, [&](Key key, Value inner) {
        if (key == "prompt_tokens") return read_count(inner, news.prompt);
        if (key == "input_tokens") return read_count(inner, input);
        if (key == "completion_tokens" || key == "output_tokens") return read_count(inner, news.completion);
        if (key == "prompt_tokens_details" || key == "input_tokens_details") {
            return read_detail(inner, "cached_tokens", news.cached_prompt);
        }
        if (key == "prompt_cache_hit_tokens" || key == "cached_tokens")
            return read_count(inner, news.cached_prompt);
        if (key == "cache_read_input_tokens") return read_count(inner, cache_read);
        if (key == "cache_creation_input_tokens") return read_count(inner, cache_written);
        if (key == "completion_tokens_details" || key == "output_tokens_details") {
            return read_detail(inner, "reasoning_tokens", news.reasoning);
        }
        return key == "reasoning_tokens" ? read_count(inner, news.reasoning) : true;
    });
    // Anthropic's input_tokens exclude tokens read from or stored in the cache; those of the Responses API
    // include them, and never come with cache_read_input_tokens.
    if (input && !news.prompt) {
        const bool possible =
            !is_impossible(input) && !is_impossible(cache_read) && !is_impossible(cache_written);
        news.prompt = possible ? *input + cache_read.value_or(0) + cache_written.value_or(0) : kAboveAll;
    }
    if (cache_read && !news.cached_prompt) news.cached_prompt = cache_read;
    if (news != TokenUsage{}) {
        if (!usage) usage.emplace();
        update(*usage, news);
    }
    return whole;
}

/// Timings of llama.cpp: cache_n prompt tokens came from the cache, predicted_n tokens were sent so far; -1:
/// unknown.
struct Timings {
    std::optional<std::int64_t> cached;
    std::optional<std::int64_t> predicted;
};
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

/// Hides secrets and cuts the text. Secrets are hidden first, because a cut secret would not be recognised.
std::string short_line(std::string_view text, std::size_t most, const Secrets& secrets) {
    return printable_line(secrets.redacted(text), most);
}

/// The values of one event before its delta is complete.
struct Reading {
    OutputBytes output;
    std::uint32_t token_ids = 0;
    std::uint32_t logprobs = 0;
    Timings timings;
    Holes holes;
    const Secrets* secrets = nullptr;
    bool known = false;  ///< whether it has choices, usage or timings
    bool error = false;  ///< whether it has an error, which the slow path then reads
};

/// Sets `error` if the value is an error; null, false and "" are none.
bool read_error(ondemand::value& value, bool& error) {
    const auto text = text_of(value);
    error |= text ? !text->empty() : type_of(value) == ondemand::json_type::object;
    return true;
}

/// Returns the output of an event with one output and no unsafe value; otherwise empty.
std::string_view only_output_in(std::string_view event, const Holes& holes) {
    std::string_view output;
    if (holes.unsafe) return output;
    for (const ShapeHole& hole : std::span(holes.list.data(), holes.count)) {
        if (hole.kind != ShapeHole::Kind::output || hole.length == 0) continue;
        if (!output.empty()) return {};
        output = event.substr(hole.begin, hole.length);
    }
    return output;
}

bool read_choice(ondemand::value& value, Delta& delta, Reading& reading) {
    return for_each_field(value, [&](Key key, Value inner) {
        if (key == "delta") return read_delta(inner, reading.output, reading.holes);
        if (key == "text") {
            reading.holes.add(ShapeHole::Kind::output, inner);
            return add_text(inner, reading.output.content, reading.output.reasoning);
        }
        if (key == "token_ids") return count_elements(inner, reading.token_ids);
        if (key == "logprobs") return count_logprobs(inner, reading.logprobs);
        if (key == "usage") return read_usage(inner, delta.usage);  // Moonshot
        if (key == "error") return read_error(inner, reading.error);
        if (key == "index") {
            delta.choice = static_cast<int>(count_of(inner).value_or(0));
        } else if (key == "finish_reason") {
            if (const auto reason = text_of(inner); reason && !reason->empty()) {
                delta.finish_reason = short_line(*reason, kLongestReason, *reading.secrets);
            }
        }
        return true;
    });
}

bool read_event(ondemand::object& event, Delta& delta, Reading& reading) {
    return for_each_field(event, [&](Key key, Value value) {
        if (key == "choices") {
            reading.known = true;
            return for_each_element(value, [&](Value choice) { return read_choice(choice, delta, reading); });
        }
        if (key == "usage") {
            reading.known = true;
            return read_usage(value, delta.usage);
        }
        if (key == "timings") {
            reading.known = true;
            return read_timings(value, reading.timings);
        }
        if (key == "error") return read_error(value, reading.error);
        if (key == "id" || key == "obfuscation") {
            reading.holes.add(ShapeHole::Kind::string, value);
        } else if (key == "created") {
            reading.holes.add(ShapeHole::Kind::number, value);
        }
        if (key == "x_groq") {
            return for_each_field(value, [&](Key inner_key, Value inner) {
                if (inner_key == "usage") return read_usage(inner, delta.usage);
                return inner_key == "error" ? read_error(inner, reading.error) : true;
            });
        }
        return true;
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
    delta.impossible_count =
        is_impossible(delta.completion_tokens_so_far) || (delta.usage && is_impossible(*delta.usage));
}

// ------------------------------------------------------------------ the slow path: errors, whole answers

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

/// Returns the text of an error given as a string, an object, or an object in an object. Empty: none.
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
    if (message.empty() && type.empty()) return object.size() ? simdjson::minify(object) : std::string();
    if (message.empty()) return type;
    return type.empty() ? message : message + " (" + type + ")";
}

/// Returns the text of FastAPI's "detail", which is a text or a list of {"loc": […], "msg": "…"}.
std::string detail_of(dom::element detail) {
    dom::array list;
    if (detail.get(list)) return error_of(detail);
    std::string text;
    for (const dom::element entry : list) text += (text.empty() ? "" : "; ") + error_of(entry);
    return text;
}

/// Returns the error in a JSON object, in any of the known places. Empty: none.
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
    // Older vLLM sends {"object": "error", "message": …}, gateways send {"message": …}. A message that is not
    // text belongs to another protocol.
    std::string_view message;
    if (text.empty() && !whole["message"].get(message)) text = error_of(whole);
    return text;
}

/// Appends the text of a choice: of its message or delta under `key`, as a string or parts, or of a
/// completion.
void append_answer_text(dom::element choice, std::string_view key, std::string& out) {
    std::string_view text;
    if (!choice["text"].get(text)) out += text;
    dom::element content;
    if (choice[key]["content"].get(content)) return;
    if (!content.get(text)) out += text;
    dom::array parts;
    if (content.get(parts)) return;
    for (const dom::element part : parts)
        if (!part["text"].get(text)) out += text;
}

/// Returns the bytes of output text in a choice of a whole answer.
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

/// The shapes of events parsed recently. If the events of a stream never repeat a shape, learning soon stops,
/// so that it costs only the look-up. Every learned shape uses credit. Every recognised event returns some,
/// and so do many events that were not recognised, because the next stream may be of another kind.
class DeltaParser::Shapes {
  public:
    /// Returns the delta of an event that needs no parser, and its output with escapes; otherwise null.
    const Delta* recognised(std::string_view event, std::string_view& output) {
        for (std::size_t i = 0; i < known_.size(); ++i) {
            Known& known = known_[(latest_ + i) % known_.size()];
            if (!known.shape) continue;
            const auto bytes = known.shape->output_bytes(event, output);
            if (!bytes) continue;
            latest_ = (latest_ + i) % known_.size();
            credit_ = std::min(credit_ + 1, kMostCredit);
            ++recognised_;
            known.delta.text_bytes = *bytes;
            return &known.delta;
        }
        if (++missed_ % kMissesPerCredit == 0) credit_ = std::min(credit_ + 1, kMostCredit);
        return nullptr;
    }

    std::uint64_t count() const { return recognised_; }

    void learn(std::string_view event, const Reading& reading, const Delta& delta) {
        if (credit_ == 0 || !only_text(reading, delta)) return;
        const std::span<const ShapeHole> holes(reading.holes.list.data(), reading.holes.count);
        auto shape = DeltaShape::of(event, holes);
        std::string_view output;
        if (!shape || shape->output_bytes(event, output) != delta.text_bytes) return;
        --credit_;
        latest_ = (latest_ + known_.size() - 1) % known_.size();
        known_[latest_] = {std::move(shape), delta};
    }

  private:
    struct Known {
        std::optional<DeltaShape> shape;
        Delta delta;
    };

    /// Returns whether the delta depends only on the text of the output.
    static bool only_text(const Reading& reading, const Delta& delta) {
        Delta plain;
        plain.has_output = true;
        plain.kind = delta.kind;
        plain.choice = delta.choice;
        plain.text_bytes = delta.text_bytes;
        return reading.known && !reading.holes.unsafe && delta == plain;
    }

    static constexpr int kMostCredit = 16;
    static constexpr int kMissesPerCredit = 64;
    std::array<Known, 4> known_;
    std::size_t latest_ = 0;
    int credit_ = kMostCredit;
    std::uint64_t recognised_ = 0;
    std::uint64_t missed_ = 0;
};

struct DeltaParser::State {
    Secrets secrets;
    ondemand::parser json;
    Shapes shapes;
    Delta delta;
    std::string_view event;  ///< event parsed last
};

DeltaParser::DeltaParser(Secrets secrets) : state_(std::make_unique<State>()) {
    state_->secrets = std::move(secrets);
}
DeltaParser::~DeltaParser() = default;
DeltaParser::DeltaParser(DeltaParser&&) noexcept = default;
DeltaParser& DeltaParser::operator=(DeltaParser&&) noexcept = default;

const Secrets& DeltaParser::secrets() const {
    return state_->secrets;
}

std::uint64_t DeltaParser::recognised() const {
    return state_->shapes.count();
}

const Delta& DeltaParser::parse(std::string_view data) {
    const auto is_blank = [](char byte) {
        return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
    };
    while (!data.empty() && is_blank(data.front())) data.remove_prefix(1);
    while (!data.empty() && is_blank(data.back())) data.remove_suffix(1);
    state_->event = data;
    if (const Delta* known = state_->shapes.recognised(data, output_)) return *known;
    state_->delta = {};
    output_ = {};
    read(data);
    return state_->delta;
}

void DeltaParser::append_other_text(const Delta& delta, PaddedBuffer& text) const {
    if (!delta.has_output) return;
    dom::parser slow;
    dom::element whole;
    dom::array choices;
    if (slow.parse(state_->event.data(), state_->event.size()).get(whole) || whole["choices"].get(choices))
        return;
    std::string added;
    for (const dom::element choice : choices) {
        std::int64_t index = 0;
        if (choice["index"].get(index) || index == 0) append_answer_text(choice, "delta", added);
    }
    text.append(added);
}

void DeltaParser::read(std::string_view data) {
    Delta& delta = state_->delta;
    if (data.empty()) return;
    if (data == "[DONE]") {
        delta.done = true;
        return;
    }
    Reading reading;
    reading.holes.event = data;
    reading.secrets = &state_->secrets;
    ondemand::document document;
    ondemand::object object;
    if (state_->json.iterate(data, data.size() + kReadablePadding).get(document) ||
        document.get_object().get(object) || !read_event(object, delta, reading) || !is_at_end(document)) {
        delta = Delta{};
        delta.malformed = true;
        return;
    }
    put_together(reading, delta);
    if (reading.error || !reading.known) {
        dom::parser slow;
        dom::element whole;
        if (!slow.parse(data.data(), data.size()).get(whole))
            delta.error = short_line(error_in(whole), kLongestText, state_->secrets);
        if (reading.error && delta.error.empty()) delta.error = "an error without a text";
    }
    if (delta.finish_reason == "error" && delta.error.empty()) delta.error = "finish_reason is \"error\"";
    output_ = only_output_in(data, reading.holes);
    state_->shapes.learn(data, reading, delta);
}

void update(TokenUsage& usage, const TokenUsage& news) {
    if (news.prompt) usage.prompt = news.prompt;
    if (news.cached_prompt) usage.cached_prompt = news.cached_prompt;
    if (news.completion) usage.completion = news.completion;
    if (news.reasoning) usage.reasoning = news.reasoning;
}

std::string error_text_of(std::string_view body, const Secrets& secrets) {
    constexpr std::size_t kShown = 200;
    dom::parser parser;
    dom::element whole;
    std::string text;
    if (!parser.parse(body.data(), body.size()).get(whole)) {
        std::string_view string;
        text = short_line(whole.get(string) ? error_in(whole) : std::string(string), kLongestText, secrets);
    }
    return text.empty() ? short_line(body, kShown, secrets) : text;
}

std::optional<WholeAnswer> parse_whole_answer(std::string_view body, const Secrets& secrets) {
    dom::parser parser;
    dom::element whole;
    if (parser.parse(body.data(), body.size()).get(whole) || !whole.is_object()) return std::nullopt;
    WholeAnswer answer;
    answer.error = short_line(error_in(whole), kLongestText, secrets);
    dom::array choices;
    if (!whole["choices"].get(choices)) {
        for (const dom::element choice : choices) {
            std::string_view reason;
            if (!choice["finish_reason"].get(reason)) {
                answer.finish_reason = short_line(reason, kLongestReason, secrets);
            }
            answer.text_bytes += text_bytes_in(choice);
            std::int64_t index = 0;
            if (choice["index"].get(index) || index == 0) append_answer_text(choice, "message", answer.text);
        }
    }
    // Usage has the same form and spellings as in a stream's last event.
    PaddedBuffer padded;
    padded.append(body);
    DeltaParser usage_parser;
    const Delta& delta = usage_parser.parse(padded.view());
    answer.usage = delta.usage;
    answer.impossible_count = delta.impossible_count;
    return answer;
}

}  // namespace paretoken::protocol
