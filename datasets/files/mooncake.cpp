#include "datasets/files/mooncake.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "datasets/files/json_row.h"
#include "datasets/recognise.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kBlockTokens = 512;

struct TraceOptions {
    std::int64_t block = kBlockTokens;
    std::string_view dataset = {};
    std::string unit = {};      ///< of the times: "s", "ms", "us" or "ns"; empty means whole milliseconds
    bool block_stated = false;  ///< whether the user stated `block`
};

/// A unit of time, and the range in which times since 1970 have it, with years from 2001 to 5138.
struct TimeUnit {
    std::string_view name;
    double per_s;
    double least;
    std::string_view plural;
};
constexpr std::array kTimeUnits = {
    TimeUnit{"ns", 1e9, 1e17, "nanoseconds"}, TimeUnit{"us", 1e6, 1e14, "microseconds"},
    TimeUnit{"ms", 1e3, 1e11, "milliseconds"}, TimeUnit{"s", 1, 1e9, "seconds"}};

/// Names of fields, and those that Dynamo gives to them besides.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOtherNames = {
    {{"timestamp", "created_time"},
     {"input_length", "input_tokens"},
     {"output_length", "output_tokens"},
     {"delay", "delay_ms"}}};

/// What a row of each format may have besides the first three of kOtherNames and "hash_ids".
constexpr std::array<std::string_view, 6> kSessionFields = {"session_id", "text_input", "messages",
                                                            "extra",      "tools",      "message_mode"};
constexpr std::array<std::string_view, 7> kAgenticFields = {"session_id", "request_id", "wait_for",
                                                            "tool_wait_ms",
                                                            // These inform, and schedule nothing.
                                                            "branches", "prefix_reset", "tool_events"};

bool has(const simdjson::dom::element& object, std::string_view key) {
    simdjson::dom::element value;
    return !object[key].get(value) && !value.is_null();
}

/// Returns the name that a field has in a row.
std::string_view name_in_row(const simdjson::dom::element& object, std::string_view name,
                             const RowPlace& place) {
    const auto* const names =
        std::ranges::find(kOtherNames, name, [](const auto& pair) { return pair.first; });
    if (!has(object, names->second)) return name;
    if (has(object, name))
        place.refuse(
            fmt::format("\"{}\" and \"{}\" are names of one field; leave one out", name, names->second));
    return names->second;
}

std::vector<std::string> unknown_fields_in(const simdjson::dom::element& object, bool has_delay,
                                           std::span<const std::string_view> known) {
    std::vector<std::string> unknown;
    for (const simdjson::dom::key_value_pair field : simdjson::dom::object(object)) {
        const bool is_known = std::ranges::any_of(kOtherNames, [&](const auto& names) {
            return (names.first == field.key || names.second == field.key) &&
                   (has_delay || names.first != "delay");
        });
        if (!is_known && field.key != "hash_ids" && std::ranges::find(known, field.key) == known.end())
            unknown.emplace_back(field.key);
    }
    return unknown;
}

double seconds_of(double time, const TraceOptions& options) {
    for (const TimeUnit& unit : kTimeUnits)
        if (unit.name == options.unit) return time / unit.per_s;
    return time / 1e3;
}

/// Returns the unit that a time without a stated unit has instead of milliseconds; null if it is none: a
/// fraction, or a number that is a time since 1970 in another unit.
const TimeUnit* other_unit_of(double time, const TraceOptions& options) {
    if (!options.unit.empty()) return nullptr;
    for (const TimeUnit& unit : kTimeUnits)
        if (time >= unit.least) return unit.name == "ms" ? nullptr : &unit;
    return time != std::floor(time) ? &kTimeUnits.back() : nullptr;
}

/// Returns whether a prompt may have so many blocks: one more than it needs is accepted, and one less. If the
/// user stated the size of blocks, it may be known for the first blocks only.
bool blocks_fit(const Row& row, const TraceOptions& options) {
    const auto ids = static_cast<std::int64_t>(row.blocks.size());
    const std::int64_t needed = (*row.input_tokens + options.block - 1) / options.block;
    return ids == 0 || (ids <= needed + 1 && (options.block_stated || ids + 1 >= needed));
}

/// Returns the number of tokens that the blocks of a prompt probably have: a power of two. Nothing if none
/// fits.
std::optional<std::int64_t> probable_block(const Row& row, TraceOptions options) {
    const auto ids = static_cast<std::int64_t>(row.blocks.size());
    options.block = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>((*row.input_tokens + ids - 1) / ids)));
    options.block_stated = true;
    return blocks_fit(row, options) ? std::optional(options.block) : std::nullopt;
}

/// Refuses a row whose blocks or time show that the trace has another size of blocks or unit of time.
/// Bailian's traces have the fields of Mooncake's, but blocks of 16 tokens and times in seconds.
void check_units(const Row& row, double time, const TraceOptions& options, const RowPlace& place) {
    const bool fit = blocks_fit(row, options);
    const TimeUnit* const other = other_unit_of(time, options);
    if (fit && other == nullptr) return;
    std::string why;
    if (!fit)
        why = fmt::format("{} hash ids of {} tokens do not fit a prompt of {} tokens", row.blocks.size(),
                          options.block, *row.input_tokens);
    if (other != nullptr)
        why += fmt::format("{}the time {} is {}", why.empty() ? "" : ", and ", time,
                           time == std::floor(time) ? fmt::format("one in {} since 1970", other->plural)
                                                    : std::string("not a whole number of milliseconds"));
    const auto block = fit ? std::optional(options.block) : probable_block(row, options);
    if (!block)
        place.refuse(
            fmt::format("{}, and no power of two does; leave \"hash_ids\" out of the row, or state the size "
                        "of blocks if it "
                        "is another: --dataset {}:block=TOKENS",
                        why, options.dataset));
    std::string fields = fmt::format("block={}", *block);
    if (other != nullptr || !options.unit.empty())
        fields += fmt::format(",unit={}", other != nullptr ? other->name : options.unit);
    place.refuse(
        fmt::format("{}; state them: --dataset {}:{}{}", why, options.dataset, fields,
                    other != nullptr ? fmt::format(" if times are in {}, or unit=ms", other->plural) : ""));
}

/// Returns the blocks of a row. A trace without them states lengths only.
std::vector<std::uint64_t> trace_blocks_in(const simdjson::dom::element& object, const RowPlace& place) {
    return json_in(object, "hash_ids").empty() ? std::vector<std::uint64_t>()
                                               : blocks_in(object, "hash_ids", place);
}

/// Reads the time of a row, and the lengths and blocks of its prompt.
Row trace_row_of(const simdjson::dom::element& object, const TraceOptions& options, bool needs_time,
                 const RowPlace& place) {
    Row row;
    const auto at = number_in(object, name_in_row(object, "timestamp", place), place);
    if (!at && needs_time) place.refuse("\"timestamp\" is missing");
    if (at) row.at_s = seconds_of(*at, options);
    row.input_tokens = needed_tokens_in(object, name_in_row(object, "input_length", place), place);
    row.output_tokens = tokens_in(object, name_in_row(object, "output_length", place), place, 0);
    row.blocks = trace_blocks_in(object, place);
    if (*row.input_tokens > 0) check_units(row, at.value_or(0), options, place);
    return row;
}

/// Returns the seconds of the value of `key`, which is in milliseconds; 0 if it is absent or null.
double milliseconds_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place) {
    return number_in(object, key, place).value_or(0) / 1e3;
}

Row read_mooncake_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    if (!name_in(object, "session_id", place).empty())
        place.refuse(
            "the row has a \"session_id\", so that the file holds sessions: --dataset mooncake_session");
    Row row = trace_row_of(object, options, true, place);
    row.unknown_fields = unknown_fields_in(object, false, {});
    return row;
}

/// Reads the pause before a row.
void read_delay(const simdjson::dom::element& object, Row& row, const RowPlace& place) {
    const std::string_view name = name_in_row(object, "delay", place);
    row.job.delay_s = milliseconds_in(object, name, place);
    row.job.states_pause = has(object, name);
}

Row read_agentic_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    for (const std::string_view name : {"schema", "dependencies", "not_before_ms", "play_id"})
        if (has(object, name))
            place.refuse(
                fmt::format("\"{}\" is a field of agentic_mooncake's version 2, which is not read: {}", name,
                            kNoAgenticMooncake2));
    Row row = trace_row_of(object, options, false, place);
    row.conversation = name_in(object, "session_id", place);
    row.job.id = name_in(object, "request_id", place);
    if (row.job.id.empty()) place.refuse("\"request_id\" is missing");
    if (row.conversation.empty()) row.conversation = fmt::format("request {}", row.job.id);
    row.job.after = names_in(object, "wait_for", place);
    read_delay(object, row, place);
    row.job.starts_at_time = row.job.after.empty() && row.at_s;
    row.unknown_fields = unknown_fields_in(object, true, kAgenticFields);
    row.job.tool_s = milliseconds_in(object, "tool_wait_ms", place);
    return row;
}

/// Returns a session's row whose prompt is stated as messages or as a text, which is the user's new message.
Row session_texts_of(const simdjson::dom::element& object, const TraceOptions& options,
                     const RowPlace& place) {
    Row row;
    if (const auto at = number_in(object, name_in_row(object, "timestamp", place), place))
        row.at_s = seconds_of(*at, options);
    row.output_tokens = tokens_in(object, name_in_row(object, "output_length", place), place, 0);
    const std::string text = text_in(object, "text_input", place);
    if (!text.empty())
        row.prompt = text;
    else
        row.prompt = messages_in(object, "messages", place);
    const std::string mode = text_in(object, "message_mode", place);
    if (!mode.empty() && mode != "history" && mode != "delta")
        place.refuse(fmt::format("\"message_mode\" is '{}'; known are history and delta", mode));
    row.whole_prompt = mode.empty() ? text.empty() : mode == "history";
    row.body = object_in(object, "extra", place);
    const std::string tools = json_in(object, "tools");
    if (!tools.empty()) add_fields(row.body, "\"tools\":" + tools);
    return row;
}

Row read_session_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    if (!json_in(object, "payload").empty())
        place.refuse("\"payload\" is not read; give \"messages\" or \"input_length\" and \"hash_ids\"");
    if (has(object, "wait_for"))
        place.refuse("\"wait_for\" says which requests the row waits for: --dataset agentic_mooncake");
    const bool lengths = has(object, name_in_row(object, "input_length", place));
    Row row =
        lengths ? trace_row_of(object, options, false, place) : session_texts_of(object, options, place);
    row.conversation = name_in(object, "session_id", place);
    read_delay(object, row, place);
    row.unknown_fields = unknown_fields_in(object, true, kSessionFields);
    return row;
}

}  // namespace

namespace {

using ReadTraceRow = Row (*)(std::string_view text, const TraceOptions& options, const RowPlace& place);

RowFormat trace_format(std::string_view name, const Spec& spec, ReadTraceRow read_row,
                       std::string_view known_fields) {
    spec.expect_only({"path", "osl", "block", "unit"});
    const double block = spec.number_or("block", static_cast<double>(kBlockTokens));
    if (!(block >= 1) || block > 1e6 || block != std::floor(block))
        throw UsageError(
            fmt::format("dataset '{}': block={} is not a whole number from 1 to 1M", name, block));
    TraceOptions options{.block = static_cast<std::int64_t>(block),
                         .block_stated = spec.fields.contains("block")};
    if (const auto unit = spec.fields.find("unit"); unit != spec.fields.end()) {
        if (std::ranges::none_of(kTimeUnits,
                                 [&](const TimeUnit& known) { return known.name == unit->second; }))
            throw UsageError(
                fmt::format("dataset '{}': unit={} is none of s, ms, us and ns, the unit of the times", name,
                            unit->second));
        options.unit = unit->second;
    }
    options.dataset = name;
    return {.name = name,
            .layout = RowLayout::lines_or_array,
            .read = [options, read_row](std::string_view text, const std::string&,
                                        const RowPlace& place) { return read_row(text, options, place); },
            .block_tokens = options.block,
            .pauses_from_times = true,
            .note_if_fast = options.unit.empty()
                                ? "times were read as milliseconds; state unit=s if they are seconds"
                                : "",
            .known_fields = known_fields};
}

}  // namespace

RowFormat mooncake_format(const Spec& spec) {
    return trace_format("mooncake", spec, read_mooncake_row,
                        "timestamp, input_length, output_length and hash_ids");
}
RowFormat mooncake_session_format(const Spec& spec) {
    return trace_format("mooncake_session", spec, read_session_row,
                        "session_id, timestamp, delay, input_length, output_length, hash_ids, messages, "
                        "text_input, message_mode, tools and extra");
}
RowFormat agentic_mooncake_format(const Spec& spec) {
    RowFormat format =
        trace_format("agentic_mooncake", spec, read_agentic_row,
                     "request_id, session_id, wait_for, delay, tool_wait_ms, timestamp, input_length, "
                     "output_length and hash_ids");
    format.jobs_by_edges = true;
    format.fields = {.id = "request_id", .after = "wait_for"};
    return format;
}

std::unique_ptr<Dataset> make_mooncake_session(const DatasetOptions& options) {
    return make_file_dataset(options, mooncake_session_format(options.spec));
}
std::unique_ptr<Dataset> make_agentic_mooncake(const DatasetOptions& options) {
    return make_file_dataset(options, agentic_mooncake_format(options.spec));
}

std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options) {
    return make_file_dataset(options, mooncake_format(options.spec));
}

}  // namespace paretoken::datasets
