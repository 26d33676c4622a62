#pragma once
// The readers of event JSON that all protocols share. They skip values of unexpected types. Those that return
// a bool return false when the JSON is found to be invalid, which ends the reading of the event.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/record/record.h"
#include "core/text/secrets.h"
#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/delta_shape.h"

namespace paretoken::protocol {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

using Key = ondemand::raw_json_string;
using Value = ondemand::value;

inline constexpr std::int64_t kAboveAll = kMostTokens + 1;  ///< value for every count that is too large
inline constexpr std::size_t kLongestReason = 64;  ///< bytes of a finish_reason, or of a model's name

/// The positions of the values that may differ between otherwise equal events (delta_shape.h).
struct Holes {
    std::string_view event;
    std::array<ShapeHole, DeltaShape::kMostHoles> list;
    std::size_t count = 0;
    /// Whether no shape may be made of the event: it has too many holes, a value that hole_at() cannot
    /// recognise, or an output that is neither a string nor null.
    bool unsafe = false;
    /// The first string with output, as it was written, without its quotes; empty if there is none.
    std::string_view first_output = {};

    /// Adds the position of a number if `kind` is number, else of a string; skips a value of another type.
    void add(ShapeHole::Kind kind, ondemand::value& value);
};

struct OutputBytes {
    std::size_t content = 0;
    std::size_t reasoning = 0;
    std::size_t tool_call = 0;

    std::size_t sum() const { return content + reasoning + tool_call; }
    EventKind kind() const {
        if (content == 0 && tool_call != 0) return EventKind::tool_call;
        return content == 0 && reasoning != 0 ? EventKind::reasoning : EventKind::content;
    }
};

/// Timings of llama.cpp: cache_n prompt tokens came from the cache, predicted_n tokens were sent so far.
struct Timings {
    std::optional<std::int64_t> cached;
    std::optional<std::int64_t> predicted;
};

/// The values of one event before its delta is complete.
struct Reading {
    OutputBytes output;
    std::uint32_t token_ids = 0;
    std::uint32_t logprobs = 0;
    Timings timings;
    Holes holes;
    const Secrets* secrets = nullptr;
    /// The event's "type", for protocols whose events have one.
    std::string_view type;
    std::string_view model;           ///< name of the model that answers
    std::string_view finish_message;  ///< what the server says of its reason to end the answer
    std::size_t typed_bytes = 0;      ///< bytes of output whose kind depends on `type`
    bool any_field = false;           ///< whether the event has a field
    bool known = false;               ///< whether it is an event of the protocol, with or without output
    bool error = false;               ///< whether it has an error, whose text a second parse then reads
    bool code = false;                ///< whether it has a "code" other than 0 and 200
    bool hidden_reasoning = false;    ///< as in Delta
    /// The place of text under an unknown name: "delta", "audio", "transcript" (the text of an object).
    std::string_view unknown_in = {}, unknown_name = {}, unknown_part = {};
};

/// How a protocol's events, and its answers without a stream, are read.
struct EventFormat {
    /// Reads a field of an event that protocols do not share; leaves an unknown field alone.
    bool (*read_field)(Key key, Value& value, Delta& delta, Reading& reading) = nullptr;
    /// Completes the delta once all fields are read. Null: there is nothing to do.
    void (*complete)(Delta& delta, Reading& reading) = nullptr;
    /// Appends the text that an event adds to the first choice's answer, without reasoning and tool calls.
    void (*append_text)(dom::element event, std::string& out) = nullptr;
    /// Reads the texts and the reason of the end of an answer without a stream; the reason is not cut yet.
    void (*read_whole)(dom::element answer, WholeAnswer& whole) = nullptr;
};

/// Returns the type of a value; null if it is not a valid value.
inline ondemand::json_type type_of(ondemand::value& value) {
    ondemand::json_type type;
    return value.type().get(type) ? ondemand::json_type::null : type;
}

/// Calls on_field(key, value) for each field. Returns false once a call does, or if the JSON is invalid.
template <class OnField>
bool for_each_field(ondemand::object& object, OnField&& on_field) {
    for (auto result : object) {
        ondemand::field field;
        if (std::move(result).get(field) || !on_field(field.key(), field.value())) return false;
    }
    return true;
}

/// Calls on_field like the overload above. For a value that is not an object, it returns true without a call.
template <class OnField>
bool for_each_field(ondemand::value& value, OnField&& on_field) {
    ondemand::object object;
    if (type_of(value) != ondemand::json_type::object) return true;
    return !value.get_object().get(object) && for_each_field(object, on_field);
}

/// Calls on_element(element) in the same way; for a value that is not a list, returns true without a call.
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

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, Key key) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return key.unsafe_is_equal(name); });
}

std::optional<std::string_view> text_of(ondemand::value& value);

/// Returns a whole number, also written as 4.0 or "4"; a fraction is cut off. Negative numbers become -1,
/// those above kMostTokens become kAboveAll. Returns nothing if the value is not a number.
std::optional<std::int64_t> count_of(ondemand::value& value);

/// Returns whether a count of tokens is negative or above kMostTokens.
bool is_impossible(const std::optional<std::int64_t>& count);
bool is_impossible(const TokenUsage& usage);

/// Adds the bytes of the texts in a value, which is a string, a list of parts ([{"type": "text", "text":
/// "…"}]) or one part, whose text may also be named "content" or "transcript", or be an object with a
/// "value". Texts under the key "thinking" are added to `thinking`, all others to `bytes`.
bool add_text(ondemand::value& value, std::size_t& bytes, std::size_t& thinking);

/// Returns whether a field of a part of a message, which has this name, is its text.
bool is_text_name(Key name);

/// Notes text under a name that is not known, if the value has any. `in`: the object with this name.
bool note_unknown_text(std::string_view in, Key name, ondemand::value& value, Reading& reading);

/// Returns whether the value is a text that is not empty.
bool has_text(ondemand::value& value);

/// Returns whether a reason of the end is none: some servers write a missing value as a text.
bool is_no_reason(std::string_view reason);

/// Adds the number of a list's elements.
bool count_elements(ondemand::value& value, std::uint32_t& count);

/// Reads usage into delta.usage and delta.total_tokens, in every known spelling. Cached tokens and reasoning
/// that the counts leave out are added to them. Predicted tokens that were rejected are no output.
bool read_usage(ondemand::value& value, Delta& delta);

bool read_timings(ondemand::value& value, Timings& timings);

bool read_type(ondemand::value& value, Reading& reading);

/// Sets `error` if the value is an error: an object or a text that is not empty.
bool read_error(ondemand::value& value, bool& error);

bool read_model(ondemand::value& value, Reading& reading);

/// Sets `error` if the value is a status object whose "status_code" is not 0.
bool read_status(ondemand::value& value, bool& error);

/// Returns a text as one printable line of at most `most` bytes, with secrets hidden.
std::string short_line(std::string_view text, std::size_t most, const Secrets& secrets);

/// Sets the reason why an answer ended: `common` in the words of chat completions, `own` in the server's.
void state_reason(std::string_view common, std::string_view own, Delta& delta, const Secrets& secrets);

/// Returns the member's text; empty if it is absent or not text.
std::string_view text_in(dom::element element, std::string_view key);
std::string_view text_in(simdjson::simdjson_result<dom::element> element, std::string_view key);

}  // namespace paretoken::protocol
