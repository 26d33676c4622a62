#include "datasets/files/custom_jsonl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/result/slo.h"
#include "datasets/files/agents/job_row.h"
#include "datasets/files/csv_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

/// Names that other programs give to "output_tokens".
constexpr std::array<std::string_view, 10> kOutputTokens = {
    "output_tokens", "max_tokens",    "max_completion_tokens", "max_output_tokens", "max_new_tokens",
    "output_len",    "output_length", "expected_output_len",   "completion_tokens", "n_predict"};
/// Names that other programs give to "prompt".
constexpr std::array<std::string_view, 6> kPrompts = {"prompt",   "text",        "text_input",
                                                      "question", "instruction", "query"};
constexpr std::array<std::string_view, 13> kFields = {
    "prompt", "messages", "input_tokens", "output_tokens", "at_s",      "class", "slo",
    "body",   "turn",     "model",        "expect",        "timestamp", "extra"};
constexpr std::array<std::string_view, 16> kTurnsFields = {
    "messages", "prompt",       "input_tokens", "output_tokens", "at_s", "timestamp",
    "class",    "slo",          "body",         "extra",         "turn", "model",
    "hash_ids", "block_tokens", "hash_scope",   "shared_blocks"};
constexpr std::string_view kKnownTurnsFields =
    "input_tokens, output_tokens (or max_tokens and the like), hash_ids, block_tokens, hash_scope, "
    "shared_blocks, at_s, "
    "class, slo, body, conversation, turn, job, id, after, delay_s, tool_s, fork_of, background, "
    "whole_prompt and model";
constexpr std::string_view kKnownFields =
    "prompt, messages, input_tokens, output_tokens (or max_tokens and the like), at_s, class, slo, body, "
    "conversation, turn, job, id, after, delay_s, tool_s, fork_of, background, whole_prompt and model; "
    "fields in \"body\" "
    "are sent";

TokenIds token_ids_of(dom::array array, const RowPlace& place) {
    TokenIds ids;
    for (const dom::element element : array) {
        std::int64_t id = 0;
        if (element.get(id) || id < 0 || id > INT32_MAX)
            place.refuse("\"prompt\" holds something that is not a token id");
        ids.push_back(static_cast<std::int32_t>(id));
    }
    if (ids.empty()) place.refuse("\"prompt\" is empty");
    return ids;
}

/// Returns the name of the field with the prompt; "prompt" if there is none.
std::string_view prompt_name_in(dom::element object) {
    dom::element value;
    for (const std::string_view name : kPrompts)
        if (!object[name].get(value)) return name;
    if (!object["turns"].get(value) && value.is_array()) return "turns";
    return "prompt";
}

/// Returns the first of several turns, as vLLM reads the questions of Spec-Bench and MT-Bench.
std::string first_turn_in(dom::array turns, const RowPlace& place) {
    std::string_view text;
    if (turns.at(0).get(text)) place.refuse("the first of the \"turns\" is not a text");
    return std::string(text);
}

Prompt prompt_in(dom::element object, const RowPlace& place) {
    dom::element value;
    dom::array array;
    std::string_view text;
    if (!object["messages"].get(value) && !value.is_null()) return messages_in(object, "messages", place);
    const std::string_view name = prompt_name_in(object);
    if (object[name].get(value))
        place.refuse(
            "neither \"prompt\" nor \"messages\" is there; each line is an object with one of them, and "
            "optionally \"output_tokens\"");
    if (!value.get(text)) return std::string(text);
    if (value.get(array)) place.refuse(fmt::format("\"{}\" is neither text nor token ids", name));
    if (name == "turns") return first_turn_in(array, place);
    return token_ids_of(array, place);
}

/// Returns the limits of a request, in the form that they have in a record.
std::string slo_in(dom::element object, const RowPlace& place) {
    const std::string text = text_in(object, "slo", place);
    if (text.empty()) return {};
    try {
        std::vector<std::string> limits = slo_texts(text);
        for (const std::string& limit : limits) (void)parse_request_slo(limit);
        if (limits.empty()) throw UsageError("it holds no limit");
        return fmt::format("{}", fmt::join(limits, " "));
    } catch (const UsageError& error) {
        place.refuse(fmt::format("\"slo\": {}", error.what()));
    }
}

/// Returns the number of output tokens, which may have one of several names.
std::optional<std::int64_t> output_tokens_in(dom::element object, const RowPlace& place) {
    std::optional<std::int64_t> found;
    std::string_view first;
    for (const std::string_view name : kOutputTokens) {
        const auto tokens = tokens_in(object, name, place, 0);
        if (found && tokens && *found != *tokens)
            place.refuse(
                fmt::format("\"{}\" is {} and \"{}\" is {}; leave one out", first, *found, name, *tokens));
        if (found || !tokens) continue;
        found = tokens;
        first = name;
    }
    return found;
}

std::vector<std::string> unknown_fields_in(dom::element element, const Row& row,
                                           std::span<const std::string_view> fields) {
    std::vector<std::string> unknown;
    const auto is_in = [](const auto& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    for (const dom::key_value_pair field : dom::object(element))
        if (!is_in(fields, field.key) && !is_in(kOutputTokens, field.key) && !is_job_field(field.key, row))
            unknown.emplace_back(field.key);
    return unknown;
}

/// Returns the seconds of a number under "timestamp".
using SecondsOf = double (*)(double);

/// Reads the fields that rows with texts and rows with lengths both have.
Row common_fields_in(const dom::element& object, SecondsOf seconds_of, const RowPlace& place) {
    Row row;
    row.input_tokens = tokens_in(object, "input_tokens", place);
    row.output_tokens = output_tokens_in(object, place);
    row.at_s = time_in(object, "at_s", seconds_of_number, place);
    if (!row.at_s) row.at_s = time_in(object, "timestamp", seconds_of, place);  // AIPerf's name
    row.request_class = text_in(object, "class", place);
    row.slo = slo_in(object, place);
    read_job_fields(object, row, place);
    if (const auto turn = number_in(object, "turn", place)) {
        if (*turn != std::floor(*turn)) place.refuse("\"turn\" is not a whole number");
        row.turn = static_cast<std::int64_t>(*turn);
    }
    row.model = text_in(object, "model", place);
    row.body = object_in(object, "body", place);
    if (row.body.empty()) row.body = object_in(object, "extra", place);  // AIPerf's name
    return row;
}

/// Returns whether the row has no prompt, or one without a content: null, "" or [].
bool has_no_prompt(const dom::element& object) {
    dom::element value;
    dom::array list;
    std::string_view text;
    const bool has_messages = !object["messages"].get(value) && !value.is_null();
    if (!has_messages && object[prompt_name_in(object)].get(value)) return true;
    if (!value.get(list)) return list.size() == 0;
    return value.is_null() || (!has_messages && !value.get(text) && text.empty());
}

Row read_custom_row(std::string_view text, SecondsOf seconds_of, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Row row = common_fields_in(object, seconds_of, place);
    row.unknown_fields = unknown_fields_in(object, row, kFields);
    std::erase(row.unknown_fields, prompt_name_in(object));
    if (has_no_prompt(object)) {
        row.unusable = "for their prompt is empty or missing";
        return row;
    }
    row.prompt = prompt_in(object, place);
    if (const auto* ids = std::get_if<TokenIds>(&*row.prompt))
        row.input_tokens = static_cast<std::int64_t>(ids->size());
    const auto* messages = std::get_if<Messages>(&*row.prompt);
    if (messages != nullptr && messages->back().role == "assistant" && messages->back().fields.empty())
        row.remarks.emplace_back(
            "end with a message of the assistant, which is sent as the end of the prompt; leave it out if "
            "the server shall write it");
    const auto has = [&](const char* name) {
        dom::element value;
        return !object[name].get(value) && !value.is_null();
    };
    if (has("messages") && has("prompt")) row.unknown_fields.emplace_back("prompt");
    return row;
}

/// Returns the scope of a row's hash ids: the job, or 0 for the whole file.
std::uint64_t scope_in(const dom::element& object, const Row& row, const RowPlace& place) {
    const std::string scope = text_in(object, "hash_scope", place);
    if (scope.empty() || scope == "file") return 0;
    if (scope != "job") place.refuse(fmt::format("\"hash_scope\" is '{}'; known are job and file", scope));
    const std::string& job = row.job.name.empty() ? row.conversation : row.job.name;
    if (job.empty()) place.refuse("\"hash_scope\" is 'job', but the row has no \"job\"");
    return derived_seed(1, job);
}

Row read_turns_row(std::string_view text, SecondsOf seconds_of, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Row row = common_fields_in(object, seconds_of, place);
    dom::element ids;
    const bool has_text = !object["messages"].get(ids) || !object["prompt"].get(ids);
    if (has_text) row.prompt = prompt_in(object, place);
    if (!has_text && !row.input_tokens) place.refuse("\"input_tokens\" is missing");
    if (!object["hash_ids"].get(ids)) {
        row.blocks = blocks_in(object, "hash_ids", place);
        row.scope = scope_in(object, row, place);
        if (const auto shared = number_in(object, "shared_blocks", place)) {
            if (*shared < 0 || *shared != std::floor(*shared) ||
                *shared > static_cast<double>(row.blocks.size()))
                place.refuse("\"shared_blocks\" is not a number of the row's hash_ids");
            row.shared_blocks = static_cast<std::uint64_t>(*shared);
        }
        row.block_tokens = tokens_in(object, "block_tokens", place).value_or(0);
        if (row.block_tokens == 0) place.refuse("\"hash_ids\" need \"block_tokens\", the tokens of a block");
    }
    row.unknown_fields = unknown_fields_in(object, row, kTurnsFields);
    return row;
}

using ReadRow = Row (*)(std::string_view text, SecondsOf seconds_of, const RowPlace& place);

void set_unit(RowFormat& format, ReadRow read_row, SecondsOf seconds_of) {
    format.read = [=](std::string_view text, const std::string&, const RowPlace& place) {
        return read_row(text, seconds_of, place);
    };
}

/// Returns the time that the file lasts if its times under "timestamp" are milliseconds; nothing unless some
/// have fractions and all lie within a second. The file is read until a row shows that this is not so.
std::optional<double> seconds_of_fractions(const std::string& path, RowLayout layout,
                                           const RenamedRow& renamed) {
    constexpr double kLongest = 1000;  // milliseconds
    constexpr double kSince1970 = 1e9;
    struct AreMilliseconds {};
    std::string header;
    std::string row;
    double first = -1;
    double last = -1;
    bool has_fractions = false;
    try {
        const RowFile file(path, layout, [&](std::string_view text, const RowPlace& place) {
            if (layout == RowLayout::csv && header.empty()) {
                header = text;
                return;
            }
            if (renamed) {
                row = renamed(text, header, place);
                row.reserve(row.size() + RowFile::kPadding);
                text = row;
            }
            const dom::element& object = object_of(text, place);
            dom::element stated;
            const auto time = time_in(
                object, "timestamp", [](double at) { return at; }, place);
            if (first < 0) first = time.value_or(0);
            if (!time || !object["at_s"].get(stated) || *time >= kSince1970 || *time - first >= kLongest)
                throw AreMilliseconds{};
            last = *time;
            has_fractions = has_fractions || last != std::floor(last);
        });
    } catch (const AreMilliseconds&) {
        return std::nullopt;
    } catch (const UsageError&) {  // which the rows' own reader tells with the names that the file has
        return std::nullopt;
    }
    return has_fractions && last > first ? std::optional((last - first) / 1e3) : std::nullopt;
}

RowFormat custom_rows(const Spec& spec, std::string_view name, ReadRow read_row,
                      std::string_view known_fields) {
    spec.expect_only({"path", "osl", "unit"});
    const std::string unit = spec.text_or("unit", "");
    if (!unit.empty() && unit != "s" && unit != "ms")
        throw UsageError(fmt::format(
            "dataset '{}': unit={} is neither s nor ms, the unit of times under \"timestamp\"", name, unit));
    RowFormat format{.name = name, .layout = RowLayout::lines_or_array, .known_fields = known_fields};
    set_unit(format, read_row, unit == "s" ? seconds_of_number : seconds_of_milliseconds);
    if (!unit.empty()) return format;
    format.look = [read_row](const std::string& path, RowFormat& own) {
        if (note_if_seconds(path, own)) set_unit(own, read_row, seconds_of_number);
    };
    format.note_if_fast =
        "times under \"timestamp\" were read as milliseconds, and those under \"at_s\" as seconds; state "
        "unit=s if both are seconds";
    return format;
}

}  // namespace

bool note_if_seconds(const std::string& path, RowFormat& format, const RenamedRow& renamed) {
    const auto lasts_s = seconds_of_fractions(path, format.layout, renamed);
    if (!lasts_s) return false;
    format.note_if_fast.clear();
    format.note = fmt::format(
        "times under \"timestamp\" were read as seconds, because they have fractions, and all rows would lie "
        "within {:.2g} s if they were milliseconds; state unit=ms if they are",
        *lasts_s);
    return true;
}

RowFormat custom_format(const Spec& spec) {
    return custom_rows(spec, "custom", read_custom_row, kKnownFields);
}

RowFormat turns_format(const Spec& spec) {
    return custom_rows(spec, "turns", read_turns_row, kKnownTurnsFields);
}

std::unique_ptr<Dataset> make_turns(const DatasetOptions& options) {
    return make_file_dataset(options, turns_format(options.spec));
}

std::unique_ptr<Dataset> make_custom_jsonl(const DatasetOptions& options) {
    return make_file_dataset(options, custom_format(options.spec));
}

}  // namespace paretoken::datasets
