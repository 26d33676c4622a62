#include "datasets/files/mooncake.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "core/error.h"
#include "datasets/files/json_row.h"

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
    const auto at = number_in(object, "timestamp", place);
    if (!at && needs_time) place.refuse("\"timestamp\" is missing");
    if (at) row.at_s = seconds_of(*at, options);
    row.input_tokens = needed_tokens_in(object, "input_length", place);
    row.output_tokens = tokens_in(object, "output_length", place);
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
    return trace_row_of(object, options, true, place);
}

Row read_agentic_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    Row row = trace_row_of(object, options, false, place);
    row.conversation = name_in(object, "session_id", place);
    row.job.id = name_in(object, "request_id", place);
    if (row.conversation.empty()) place.refuse("\"session_id\" is missing");
    if (row.job.id.empty()) place.refuse("\"request_id\" is missing");
    row.job.after = names_in(object, "wait_for", place);
    row.job.delay_s = milliseconds_in(object, "delay", place);
    row.job.tool_s = milliseconds_in(object, "tool_wait_ms", place);
    return row;
}

/// Returns a session's row whose prompt is stated as messages or as a text.
Row session_texts_of(const simdjson::dom::element& object, const TraceOptions& options,
                     const RowPlace& place) {
    Row row;
    if (const auto at = number_in(object, "timestamp", place)) row.at_s = seconds_of(*at, options);
    row.output_tokens = tokens_in(object, "output_length", place);
    const std::string text = text_in(object, "text_input", place);
    if (!text.empty())
        row.prompt = text;
    else
        row.prompt = messages_in(object, "messages", place);
    const std::string mode = text_in(object, "message_mode", place);
    if (!mode.empty() && mode != "history" && mode != "delta")
        place.refuse(fmt::format("\"message_mode\" is '{}'; known are history and delta", mode));
    row.whole_prompt = mode != "delta";
    row.body = object_in(object, "extra", place);
    const std::string tools = json_in(object, "tools");
    if (!tools.empty()) add_fields(row.body, "\"tools\":" + tools);
    return row;
}

Row read_session_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    if (!json_in(object, "payload").empty())
        place.refuse("\"payload\" is not read; give \"messages\" or \"input_length\" and \"hash_ids\"");
    const bool lengths = !json_in(object, "input_length").empty();
    Row row =
        lengths ? trace_row_of(object, options, false, place) : session_texts_of(object, options, place);
    row.conversation = name_in(object, "session_id", place);
    row.job.delay_s = milliseconds_in(object, "delay", place);
    return row;
}

}  // namespace

namespace {

using ReadTraceRow = Row (*)(std::string_view text, const TraceOptions& options, const RowPlace& place);

RowFormat trace_format(std::string_view name, const Spec& spec, ReadTraceRow read_row) {
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
            .note_if_fast = options.unit.empty()
                                ? "times were read as milliseconds; state unit=s if they are seconds"
                                : ""};
}

}  // namespace

RowFormat mooncake_format(const Spec& spec) {
    return trace_format("mooncake", spec, read_mooncake_row);
}
RowFormat mooncake_session_format(const Spec& spec) {
    return trace_format("mooncake_session", spec, read_session_row);
}
RowFormat agentic_mooncake_format(const Spec& spec) {
    RowFormat format = trace_format("agentic_mooncake", spec, read_agentic_row);
    format.jobs_by_edges = true;
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
