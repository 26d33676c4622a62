#include "datasets/files/token_traces.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "datasets/files/csv_row.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

double time_in(std::string_view text, const RowPlace& place) {
    const auto at = seconds_of_time(text);
    if (!at) place.refuse(fmt::format("'{}' is neither a number of seconds nor a date and time", text));
    return *at;
}

Row read_azure(std::string_view text, const std::string& header, const RowPlace& place) {
    Row row;
    row.at_s = time_in(csv_field(text, header, "TIMESTAMP", place), place);
    row.input_tokens = csv_tokens(text, header, "ContextTokens", place, 0);
    row.output_tokens = csv_tokens(text, header, "GeneratedTokens", place, 0);
    constexpr std::string_view kImages = "NumImages";
    if (header.find(kImages) != std::string::npos && csv_tokens(text, header, kImages, place, 0) > 0)
        row.remarks = {"have images, which are not sent: their prompts are texts of as many tokens"};
    return row;
}

Row read_burstgpt(std::string_view text, const std::string& header, const RowPlace& place) {
    Row row;
    row.at_s = time_in(csv_field(text, header, "Timestamp", place), place);
    row.input_tokens = csv_tokens(text, header, "Request tokens", place, 0);
    row.output_tokens = csv_tokens(text, header, "Response tokens", place, 0);
    return row;
}

/// Returns the number of tokens under `key`, which must be there; 0 for null, as logs have for failed
/// requests.
std::int64_t logged_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place) {
    simdjson::dom::element value;
    if (!object[key].get(value) && value.is_null()) return 0;
    return needed_tokens_in(object, key, place);
}

Row read_log(std::string_view text, const std::string&, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    Row row;
    row.input_tokens = logged_tokens_in(object, "prompt_tokens", place);
    row.output_tokens = logged_tokens_in(object, "completion_tokens", place);
    for (const std::string_view name : {"at", "timestamp", "startTime", "created"})
        if (!row.at_s) row.at_s = time_in(object, name, seconds_of_number, place);
    if (!row.at_s)
        place.refuse(
            "\"at\" (or \"timestamp\", \"startTime\" or \"created\") is missing; without times, "
            "--dataset columns:input_tokens=prompt_tokens,output_tokens=completion_tokens reads it");
    return row;
}

RowFormat format_of(const Spec& spec, RowFormat format) {
    spec.expect_only({"path", "osl"});
    return format;
}

}  // namespace

RowFormat azure_format(const Spec& spec) {
    return format_of(spec, {.name = "azure", .layout = RowLayout::csv, .read = read_azure});
}
RowFormat burstgpt_format(const Spec& spec) {
    return format_of(spec, {.name = "burstgpt", .layout = RowLayout::csv, .read = read_burstgpt});
}
RowFormat log_format(const Spec& spec) {
    return format_of(spec, {.name = "log", .layout = RowLayout::lines_or_array, .read = read_log});
}

std::unique_ptr<Dataset> make_azure(const DatasetOptions& options) {
    return make_file_dataset(options, azure_format(options.spec));
}
std::unique_ptr<Dataset> make_burstgpt(const DatasetOptions& options) {
    return make_file_dataset(options, burstgpt_format(options.spec));
}
std::unique_ptr<Dataset> make_log(const DatasetOptions& options) {
    return make_file_dataset(options, log_format(options.spec));
}

}  // namespace paretoken::datasets
