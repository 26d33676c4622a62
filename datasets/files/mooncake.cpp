#include "datasets/files/mooncake.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/error.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kBlockTokens = 512;

struct TraceOptions {
    std::int64_t block = kBlockTokens;
    std::string_view dataset = {};
    std::string unit = {};  ///< of the times: "s" or "ms"; empty means whole milliseconds
};

/// Returns the number of tokens that the blocks of a prompt probably have: a power of two.
std::int64_t probable_block(const Row& row) {
    const auto ids = static_cast<std::int64_t>(row.blocks.size());
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>((*row.input_tokens + ids - 1) / ids)));
}

/// Refuses a row whose blocks or time show that the trace has another size of blocks or unit of time.
/// Bailian's traces have the fields of Mooncake's, but blocks of 16 tokens and times in seconds. One block
/// more than the prompt needs is accepted.
void check_units(const Row& row, double time, const TraceOptions& options, const RowPlace& place) {
    const auto ids = static_cast<std::int64_t>(row.blocks.size());
    const bool blocks_fit = ids <= (*row.input_tokens + options.block - 1) / options.block + 1;
    const bool fraction = options.unit.empty() && time != std::floor(time);
    if (blocks_fit && !fraction) return;
    std::string why;
    if (!blocks_fit)
        why = fmt::format("{} hash ids of {} tokens do not fit a prompt of {} tokens", ids, options.block,
                          *row.input_tokens);
    if (fraction)
        why += fmt::format("{}the time {} is not a whole number of milliseconds", why.empty() ? "" : ", and ",
                           time);
    const std::int64_t block = blocks_fit ? options.block : probable_block(row);
    std::string fields = fmt::format("block={}", block);
    if (fraction || !options.unit.empty()) fields += fmt::format(",unit={}", fraction ? "s" : options.unit);
    place.refuse(fmt::format("{}; state them: --dataset {}:{}{}", why, options.dataset, fields,
                             fraction ? " if times are in seconds, or unit=ms" : ""));
}

/// Reads the time of a row, and the lengths and blocks of its prompt.
Row trace_row_of(const simdjson::dom::element& object, const TraceOptions& options, bool needs_time,
                 const RowPlace& place) {
    Row row;
    const auto at = number_in(object, "timestamp", place);
    if (!at && needs_time) place.refuse("\"timestamp\" is missing");
    if (at) row.at_s = options.unit == "s" ? *at : *at / 1e3;
    row.input_tokens = needed_tokens_in(object, "input_length", place);
    row.output_tokens = needed_tokens_in(object, "output_length", place);
    row.blocks = blocks_in(object, "hash_ids", place);
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
    if (const auto at = number_in(object, "timestamp", place))
        row.at_s = options.unit == "s" ? *at : *at / 1e3;
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
    TraceOptions options{.block = static_cast<std::int64_t>(block)};
    if (const auto unit = spec.fields.find("unit"); unit != spec.fields.end()) {
        if (unit->second != "s" && unit->second != "ms")
            throw UsageError(fmt::format("dataset '{}': unit={} is neither s nor ms, the unit of the times",
                                         name, unit->second));
        options.unit = unit->second;
    }
    options.dataset = name;
    return {.name = name,
            .layout = RowLayout::lines,
            .read = [options, read_row](std::string_view text, const std::string&,
                                        const RowPlace& place) { return read_row(text, options, place); },
            .block_tokens = options.block};
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
