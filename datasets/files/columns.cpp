#include "datasets/files/columns.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/error.h"
#include "datasets/files/csv_row.h"
#include "datasets/files/custom_jsonl.h"
#include "datasets/files/json_row.h"
#include "datasets/recognise.h"

namespace paretoken::datasets {
namespace {

/// The columns of a file, by the names that our rows have for them.
using Columns = std::map<std::string, std::string>;

/// Returns a field of a table as JSON. Values that are lists or objects are JSON already; a number may be a
/// text.
std::string json_of_field(std::string_view ours, const std::string& field) {
    constexpr std::array<std::string_view, 3> kJson = {"messages", "hash_ids", "body"};
    if (field.empty()) return "null";
    if (std::ranges::find(kJson, ours) != kJson.end()) return field;
    return nlohmann::json(field).dump();
}

/// Returns the value of a key as JSON; an empty text if the object does not have it.
std::string json_of_member(std::string_view object, const std::string& key, const RowPlace& place) {
    simdjson::dom::element value;
    return object_of(object, place)[key].get(value) ? std::string() : simdjson::minify(value);
}

/// Whether any row has had a column so far, by our names.
using SeenColumns = std::map<std::string, std::atomic<bool>>;

/// Returns the values of a row under our names, as the text of a JSON object. A JSON row may lack columns,
/// like a row of `custom`.
std::string renamed(std::string_view text, const std::string& header, const Columns& columns,
                    SeenColumns& seen, const RowPlace& place) {
    if (!header.empty()) {
        require_utf8(text, place);
        refuse_more_fields(text, header, place);
    }
    std::string row = "{";
    for (const auto& [ours, theirs] : columns) {
        const std::string value = header.empty() ? json_of_member(text, theirs, place)
                                                 : json_of_field(ours, csv_text(text, header, theirs, place));
        if (value.empty()) continue;
        seen.at(ours) = true;
        row += fmt::format("{}\"{}\":{}", row.size() > 1 ? "," : "", ours, value);
    }
    return row + "}";
}

/// Throws UsageError for a column that no row has.
void require_columns(const Columns& columns, const SeenColumns& seen, const std::string& path) {
    for (const auto& [ours, theirs] : columns)
        if (!seen.at(ours))
            throw UsageError(fmt::format("--dataset columns: no row of '{}' has a field \"{}\" ({}={})", path,
                                         theirs, ours, theirs));
}

/// Returns a message about a value under one of our names with the name of its column.
std::string with_names_of_file(std::string message, const Columns& columns) {
    for (const auto& [ours, theirs] : columns) {
        const std::string name = fmt::format("\"{}\"", ours);
        const auto found = message.find(name);
        if (found != std::string::npos && ours != theirs)
            message.insert(found + name.size(), fmt::format(" (the column '{}')", theirs));
    }
    return message;
}

}  // namespace

RowFormat columns_format(const Spec& spec) {
    spec.expect_only({"path", "osl", "prompt", "messages", "input_tokens", "output_tokens", "at_s",
                      "timestamp", "class", "slo", "body", "conversation", "turn", "model", "hash_ids",
                      "block", "unit"});
    Columns columns = spec.fields;
    for (const char* const own : {"path", "osl", "block", "unit"}) columns.erase(own);
    const bool has_text = columns.contains("prompt") || columns.contains("messages");
    if (!has_text && !columns.contains("input_tokens"))
        throw UsageError(
            "--dataset columns: name the column of the prompts, or of their lengths: columns:prompt=question "
            "or columns:input_tokens=n");
    const std::string block = fmt::format(",\"block_tokens\":{:.0f}}}", spec.number_or("block", 512));
    Spec of_rows{.name = "columns", .fields = {}};
    if (const auto unit = spec.fields.find("unit"); unit != spec.fields.end()) of_rows.fields.insert(*unit);
    const RowFormat inner = has_text ? custom_format(of_rows) : turns_format(of_rows);
    const bool has_blocks = columns.contains("hash_ids");
    const auto seen = std::make_shared<SeenColumns>();
    for (const auto& [ours, theirs] : columns) seen->try_emplace(ours, false);
    return {
        .name = "columns",
        .read =
            [=, read = inner.read](std::string_view text, const std::string& header, const RowPlace& place) {
                std::string row = renamed(text, header, columns, *seen, place);
                if (has_blocks) row.replace(row.size() - 1, 1, block);
                row.reserve(row.size() + RowFile::kPadding);
                try {
                    return read(row, {}, place);
                } catch (const UsageError& error) {
                    throw UsageError(with_names_of_file(error.what(), columns));
                }
            },
        .look =
            [=](const std::string& path, RowFormat& format) {
                format.layout = is_table(path) ? RowLayout::csv : RowLayout::lines_or_array;
                if (spec.fields.contains("unit") || !columns.contains("timestamp")) return;
                const auto with_our_names = [&](std::string_view text, const std::string& header,
                                                const RowPlace& place) {
                    return renamed(text, header, columns, *seen, place);
                };
                if (!note_if_seconds(path, format, with_our_names)) return;
                Spec in_seconds = spec;
                in_seconds.fields["unit"] = "s";
                const RowFormat of_seconds = columns_format(in_seconds);
                format.read = of_seconds.read;
                format.end = of_seconds.end;
            },
        .end = [=](const std::string& path) { require_columns(columns, *seen, path); },
        .note_if_fast = inner.note_if_fast,
        .known_fields = inner.known_fields};
}

std::unique_ptr<Dataset> make_columns(const DatasetOptions& options) {
    return make_file_dataset(options, columns_format(options.spec));
}

}  // namespace paretoken::datasets
