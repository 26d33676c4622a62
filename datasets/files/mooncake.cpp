#include "datasets/files/mooncake.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>

#include "core/error.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kBlockTokens = 512;

Row read_mooncake_row(std::string_view text, const std::string&, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    Row row;
    const auto at_ms = number_in(object, "timestamp", place);
    if (!at_ms) place.refuse("\"timestamp\" is missing");
    row.at_s = *at_ms / 1e3;
    row.input_tokens = needed_tokens_in(object, "input_length", place);
    row.output_tokens = needed_tokens_in(object, "output_length", place);
    simdjson::dom::array ids;
    if (object["hash_ids"].get(ids)) place.refuse("\"hash_ids\" is not a list");
    for (const auto element : ids) {
        std::uint64_t id = 0;
        if (element.get(id))
            place.refuse("\"hash_ids\" holds something that is not a whole number of at least 0");
        row.blocks.push_back(id);
    }
    return row;
}

}  // namespace

RowFormat mooncake_format(const Spec& spec) {
    spec.expect_only({"path", "osl", "block"});
    const double block = spec.number_or("block", static_cast<double>(kBlockTokens));
    if (!(block >= 1) || block > 1e6 || block != std::floor(block))
        throw UsageError(
            fmt::format("dataset 'mooncake': block={} is not a whole number from 1 to 1M", block));
    return {.name = "mooncake",
            .layout = RowLayout::lines,
            .read = read_mooncake_row,
            .block_tokens = static_cast<std::int64_t>(block)};
}

std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options) {
    return make_file_dataset(options, mooncake_format(options.spec));
}

}  // namespace paretoken::datasets
