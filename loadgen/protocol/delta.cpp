#include "loadgen/protocol/delta.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/text/letter_case.h"
#include "loadgen/protocol/delta_shape.h"
#include "loadgen/protocol/event_reader.h"
#include "loadgen/protocol/protocol.h"
#include "loadgen/protocol/sse.h"

namespace paretoken::protocol {
namespace {

constexpr std::size_t kLongestText = 400;  ///< bytes of an error

// ------------------------------------------------------------------ the hot path: one pass, on demand

/// Returns whether nothing follows the value that was read. The parser does not check this, and an error
/// would then depend on the bytes behind the event in memory.
bool is_at_end(ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
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

/// The names under which servers and gateways send counts of tokens.
constexpr std::array<std::string_view, 4> kUsageKeys = {"usage", "usageMetadata", "usage_metadata",
                                                        "amazon-bedrock-invocationMetrics"};

/// Reads the fields that all protocols share, and leaves the others to the protocol.
bool read_event(ondemand::object& event, const EventFormat& format, Delta& delta, Reading& reading) {
    return for_each_field(event, [&](Key key, Value value) {
        reading.any_field = true;
        if (is_one_of(kUsageKeys, key)) {
            reading.known = true;
            return read_usage(value, delta);
        }
        if (key == "timings") {
            reading.known = true;
            return read_timings(value, reading.timings);
        }
        if (key == "error") return read_error(value, reading.error);
        if (key == "model") return read_model(value, reading);
        if (key == "code") {
            const std::int64_t code = count_of(value).value_or(0);
            reading.code |= code != 0 && code != 200;
            return true;
        }
        if (key == "base_resp") return read_status(value, reading.error);
        if (key == "prompt_progress") delta.progress = true;  // llama.cpp
        if (key == "id" || key == "obfuscation") {
            reading.holes.add(ShapeHole::Kind::string, value);
            return true;
        }
        if (key == "created") {
            reading.holes.add(ShapeHole::Kind::number, value);
            return true;
        }
        if (key == "x_groq") {
            return for_each_field(value, [&](Key inner_key, Value inner) {
                if (inner_key == "usage") return read_usage(inner, delta);
                return inner_key == "error" ? read_error(inner, reading.error) : true;
            });
        }
        return format.read_field(key, value, delta, reading);
    });
}

void put_together(const Reading& reading, Delta& delta) {
    const OutputBytes& output = reading.output;
    delta.text_bytes = static_cast<std::uint32_t>(output.sum());
    delta.token_ids = reading.token_ids ? reading.token_ids : reading.logprobs;
    delta.has_output = delta.text_bytes != 0 || reading.token_ids != 0;
    delta.hidden_reasoning = reading.hidden_reasoning;
    if (!reading.unknown_name.empty() && !delta.has_output) {
        delta.unknown_field = reading.unknown_in;
        for (const std::string_view name : {reading.unknown_name, reading.unknown_part}) {
            if (!delta.unknown_field.empty() && !name.empty()) delta.unknown_field += '.';
            delta.unknown_field += name;
        }
        delta.unknown_field = short_line(delta.unknown_field, kLongestReason, *reading.secrets);
    }
    delta.foreign = reading.any_field && !reading.known && !reading.error;
    delta.kind = output.kind();
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

std::string error_of(dom::element error);

/// Returns the error of the provider behind a gateway, with its name: OpenRouter has them in the "metadata"
/// of its own error. Empty: none.
std::string provider_error_in(dom::object error) {
    dom::element metadata;
    dom::element raw;
    dom::object object;
    if (error["metadata"].get(metadata) || metadata.get(object) || object["raw"].get(raw)) return {};
    const std::string quoted = string_of(raw);
    dom::parser parser;
    dom::element whole;
    // The provider's answer is mostly JSON, of which the words are enough.
    std::string text = parser.parse(quoted).get(whole) || !whole.is_object() ? quoted : error_of(whole);
    if (text.empty()) text = quoted;
    const std::string name = member(object, "provider_name");
    return name.empty() || text.empty() ? text : name + ": " + text;
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
    for (const auto key : {"message", "detail", "msg", "status_msg", "error_msg", "errmsg", "title"}) {
        if (message.empty()) message = member(object, key);
    }
    std::string type;
    for (const auto key : {"type", "code", "status_code", "error_code", "errcode"}) {
        if (type.empty()) type = member(object, key);
    }
    if (message.empty() && type.empty()) return object.size() ? simdjson::minify(object) : std::string();
    if (message.empty()) return type;
    std::string text = type.empty() ? message : message + " (" + type + ")";
    if (const std::string provider = provider_error_in(object); !provider.empty()) text += ": " + provider;
    return text;
}

/// Returns the text of FastAPI's "detail", which is a text or a list of {"loc": […], "msg": "…"}.
std::string detail_of(dom::element detail) {
    dom::array list;
    if (detail.get(list)) return error_of(detail);
    std::string text;
    for (const dom::element entry : list) text += (text.empty() ? "" : "; ") + error_of(entry);
    return text;
}

/// Returns whether a status object such as {"status_code": 0, "status_msg": ""} tells of a success.
bool succeeded(dom::element status) {
    std::int64_t code = 0;
    return status["status_code"].get(code) || code == 0;
}

/// Returns the error of an answer that was given up although its HTTP status is that of a success; empty if
/// the reason is none of a failure. vLLM and SGLang end a dropped request with "abort", DeepSeek with
/// "insufficient_system_resource", GLM with "network_error"; filters cut answers off with "content_filter",
/// "SAFETY", "sensitive" or "guardrail_intervened".
/// `own`: the server's word for it, if that is another one.
std::string error_of_reason(std::string_view reason, std::string_view own, std::string_view message = {}) {
    constexpr std::array<std::string_view, 16> kOfFailures = {
        "error",    "abort",  "cancel", "timeout",    "timed",      "fail",      "insufficient", "interrupt",
        "overload", "filter", "safety", "recitation", "prohibited", "blocklist", "sensitive",    "guardrail"};
    const std::string small = lower_case(reason);
    if (std::none_of(kOfFailures.begin(), kOfFailures.end(),
                     [&](std::string_view word) { return small.find(word) != std::string::npos; }))
        return {};
    std::string text = "finish_reason is \"";
    text += own.empty() ? reason : own;
    text += '"';
    if (!message.empty()) text += ": ";
    text += message;
    return text;
}

/// Returns whether a value says nothing: null, false, 0, an empty text, or an object or a list of such
/// values.
bool is_nothing(dom::element element) {
    dom::object object;
    dom::array list;
    double number = 0;
    std::string_view text;
    bool truth = false;
    if (!element.get(object))
        return std::all_of(object.begin(), object.end(),
                           [](const auto& field) { return is_nothing(field.value); });
    if (!element.get(list))
        return std::all_of(list.begin(), list.end(), [](dom::element inner) { return is_nothing(inner); });
    if (!element.get(number)) return number == 0;
    if (!element.get(text)) return text.empty();
    return element.is_null() || (!element.get(truth) && !truth);
}

/// What an object with a bare message says of its kind, by a code, a type or a status beside the message.
enum class Says : std::uint8_t { nothing, success, failure };

Says kind_of_message(dom::element whole) {
    dom::element element;
    Says says = Says::nothing;
    const std::string words = lower_case(text_in(whole, "message"));
    if (words == "success" || words == "ok") return Says::success;
    for (const auto key : {"code", "status_code", "error_code", "errcode"}) {
        if (whole[key].get(element)) continue;
        const std::string value = lower_case(string_of(element));
        if (!is_nothing(element) && value != "0" && value != "200" && value != "success" && value != "ok")
            return Says::failure;
        says = Says::success;
    }
    std::int64_t status = 0;
    if (!whole["status"].get(status) && status >= 400) return Says::failure;
    bool truth = false;
    if (!whole["error"].get(truth) && truth) return Says::failure;
    if (!whole["success"].get(truth) && !truth) return Says::failure;
    for (const auto key : {"type", "object", "status"}) {
        if (whole[key].get(element)) continue;
        const std::string value = lower_case(string_of(element));
        for (const char* const word : {"error", "exception", "fail", "overload"})
            if (value.find(word) != std::string::npos) return Says::failure;
    }
    return says;
}

/// Returns the error in a JSON object, or in the first object of a list, in any of the known places. Empty:
/// none. `in_stream`: whether it is an event of a stream, in which a bare message may be a note of a gateway:
/// it is an error only if a code or a type says so.
std::string error_in(dom::element whole, bool in_stream = false) {
    dom::element element;
    dom::array choices;
    std::string text;
    if (whole.is_array()) return whole.at(0).get(element) ? std::string() : error_in(element, in_stream);
    if (!whole["error"].get(element) && !is_nothing(element)) text = error_of(element);
    if (text.empty() && !whole["errors"].get(element)) text = detail_of(element);
    if (text.empty() && !whole["choices"].get(choices)) {
        for (const dom::element choice : choices) {
            if (text.empty() && !choice["error"].get(element) && !is_nothing(element))
                text = error_of(element);
        }
    }
    for (const auto key : {"x_groq", "response"}) {
        if (text.empty() && !whole[key]["error"].get(element)) text = error_of(element);
    }
    if (text.empty() && !whole["base_resp"].get(element) && !succeeded(element)) text = error_of(element);
    const Says says = text.empty() ? kind_of_message(whole) : Says::failure;
    if (!text.empty() || says == Says::success) return text;
    if (!whole["detail"].get(element)) text = detail_of(element);
    if (in_stream && says == Says::nothing) return text;
    // Older vLLM sends {"object": "error", "message": …}, gateways send {"message": …}. A message that is not
    // text belongs to another protocol.
    std::string_view message;
    for (const auto key : {"message", "msg", "error_msg", "errmsg"}) {
        if (text.empty() && !whole[key].get(message)) text = error_of(whole);
    }
    return text;
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
    const Protocol* protocol = nullptr;
    Secrets secrets;
    ondemand::parser json;
    Shapes shapes;
    Delta delta;
    std::string_view event;  ///< event parsed last
};

DeltaParser::DeltaParser(Secrets secrets, const Protocol& protocol) : state_(std::make_unique<State>()) {
    state_->protocol = &protocol;
    state_->secrets = std::move(secrets);
}
DeltaParser::~DeltaParser() = default;
DeltaParser::DeltaParser(DeltaParser&&) noexcept = default;
DeltaParser& DeltaParser::operator=(DeltaParser&&) noexcept = default;

bool DeltaParser::is_invisible() const {
    constexpr std::array<std::string_view, 3> kPlain = {"\xe2\x80\x8b", "\xe2\x81\xa0", "\xef\xbb\xbf"};
    constexpr std::array<std::string_view, 3> kEscaped = {"\"\\u200b\"", "\"\\u2060\"", "\"\\ufeff\""};
    if (!output_.empty()) return std::ranges::find(kPlain, output_) != kPlain.end();
    const std::string event = lower_case(state_->event);
    return std::ranges::any_of(kEscaped,
                               [&](std::string_view text) { return event.find(text) != std::string::npos; });
}

const Secrets& DeltaParser::secrets() const {
    return state_->secrets;
}

const Protocol& DeltaParser::protocol() const {
    return *state_->protocol;
}

std::uint64_t DeltaParser::recognised() const {
    return state_->shapes.count();
}

bool DeltaParser::is_beyond_ascii() const {
    const std::string_view text = output_.empty() ? state_->event : output_;
    const auto is_wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    return std::ranges::any_of(text, is_wide) || text.find("\\u") != std::string_view::npos;
}

const Delta& DeltaParser::parse(std::string_view data) {
    while (!data.empty() && is_blank(data.front())) data.remove_prefix(1);
    while (!data.empty() && is_blank(data.back())) data.remove_suffix(1);
    state_->event = data;
    model_ = {};
    if (const Delta* known = state_->shapes.recognised(data, output_)) return *known;
    state_->delta = {};
    output_ = first_output_ = {};
    read(data);
    return state_->delta;
}

void DeltaParser::append_other_text(const Delta& delta, PaddedBuffer& text) const {
    if (!delta.has_output) return;
    dom::parser slow;
    dom::element whole;
    if (slow.parse(state_->event.data(), state_->event.size()).get(whole)) return;
    std::string added;
    state_->protocol->events->append_text(whole, added);
    text.append(added);
}

void DeltaParser::read(std::string_view data) {
    Delta& delta = state_->delta;
    if (data.empty()) return;
    if (data == "null") return;  // some gateways keep the connection open with it
    if (data == "[DONE]" || data == "\"[DONE]\"" || data == "[done]") {
        delta.done = true;
        return;
    }
    const EventFormat& format = *state_->protocol->events;
    Reading reading;
    reading.holes.event = data;
    reading.secrets = &state_->secrets;
    ondemand::document document;
    ondemand::object object;
    if (state_->json.iterate(data, data.size() + kReadablePadding).get(document) ||
        document.get_object().get(object) || !read_event(object, format, delta, reading) ||
        !is_at_end(document)) {
        delta = Delta{};
        delta.malformed = true;
        return;
    }
    if (format.complete != nullptr) format.complete(delta, reading);
    put_together(reading, delta);
    model_ = reading.model;
    if (reading.error || !reading.known || (reading.code && !delta.has_output)) {
        dom::parser slow;
        dom::element whole;
        if (!slow.parse(data.data(), data.size()).get(whole))
            delta.error = short_line(error_in(whole, true), kLongestText, state_->secrets);
        if (reading.error && !reading.known && delta.error.empty()) delta.error = "an error without a text";
    }
    if (delta.error.empty())
        delta.error = error_of_reason(delta.finish_reason, delta.own_reason,
                                      short_line(reading.finish_message, kLongestText, state_->secrets));
    output_ = only_output_in(data, reading.holes);
    first_output_ = reading.holes.first_output;
    state_->shapes.learn(data, reading, delta);
}

void update(TokenUsage& usage, const TokenUsage& news, std::int64_t cache_written) {
    // Some servers state the tokens beside the cache again at the end, and those of the cache at the
    // beginning only.
    const std::int64_t in_cache = usage.cached_prompt.value_or(0) + cache_written;
    const bool lacks_cached = news.prompt > 0 && !news.cached_prompt && usage.prompt && in_cache > 0 &&
                              *news.prompt <= *usage.prompt - in_cache;
    for (const auto count :
         {&TokenUsage::prompt, &TokenUsage::cached_prompt, &TokenUsage::completion, &TokenUsage::reasoning}) {
        if (count == &TokenUsage::prompt && lacks_cached)
            usage.prompt = *news.prompt + in_cache;
        else if (news.*count && (news.*count != 0 || !(usage.*count)))
            usage.*count = news.*count;
    }
}

namespace {

/// Returns the words of a page of HTML without its head, in which only the title stands; other text as it is.
std::string text_of_page(std::string text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string::npos || text[begin] != '<') return text;
    const std::size_t head_end = text.find("</head>");
    std::string shown;
    bool in_tag = false;
    for (const char c : std::string_view(text).substr(head_end == std::string::npos ? begin : head_end)) {
        const bool separates = in_tag || c == '<' || kBlanks.find(c) != std::string_view::npos;
        if (c == '<' || c == '>') in_tag = c == '<';
        if (!separates)
            shown += c;
        else if (!shown.empty() && shown.back() != ' ')
            shown += ' ';
    }
    if (shown.ends_with(' ')) shown.pop_back();
    return shown.empty() ? text : shown;
}

}  // namespace

std::string stated_error(std::string_view json, const Secrets& secrets) {
    dom::parser parser;
    dom::element whole;
    std::string_view text;
    if (parser.parse(json.data(), json.size()).get(whole)) return {};
    return short_line(whole.get(text) ? error_in(whole) : std::string(text), kLongestText, secrets);
}

std::string error_text_of(std::string_view body, const Secrets& secrets) {
    constexpr std::size_t kShown = 200;
    const std::string text = stated_error(body, secrets);
    return text.empty() ? short_line(text_of_page(secrets.redacted(body)), kShown, secrets) : text;
}

std::optional<WholeAnswer> parse_whole_answer(std::string_view body, const Secrets& secrets,
                                              const Protocol& protocol) {
    dom::parser parser;
    dom::element whole;
    if (parser.parse(body.data(), body.size()).get(whole) || !whole.is_object()) return std::nullopt;
    WholeAnswer answer;
    answer.error = short_line(error_in(whole), kLongestText, secrets);
    protocol.events->read_whole(whole, answer);
    for (std::string* const reason : {&answer.finish_reason, &answer.own_reason})
        *reason = short_line(*reason, kLongestReason, secrets);
    if (answer.error.empty()) answer.error = error_of_reason(answer.finish_reason, answer.own_reason);
    answer.model = short_line(text_in(whole, "model"), kLongestReason, secrets);
    // Usage has the same form and spellings as in a stream's last event.
    PaddedBuffer padded;
    padded.append(body);
    DeltaParser usage_parser({}, protocol);
    const Delta& delta = usage_parser.parse(padded.view());
    answer.usage = delta.usage;
    answer.total_tokens = delta.total_tokens;
    answer.impossible_count = delta.impossible_count;
    return answer;
}

}  // namespace paretoken::protocol
