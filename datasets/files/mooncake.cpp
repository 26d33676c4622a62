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
    place.refuse(fmt::format("{}; state them: --dataset mooncake:{}{}", why, fields,
                             fraction ? " if times are in seconds, or unit=ms" : ""));
}

Row read_mooncake_row(std::string_view text, const TraceOptions& options, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    Row row;
    const auto at = number_in(object, "timestamp", place);
    if (!at) place.refuse("\"timestamp\" is missing");
    row.at_s = options.unit == "s" ? *at : *at / 1e3;
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
    if (*row.input_tokens > 0) check_units(row, *at, options, place);
    return row;
}

}  // namespace

RowFormat mooncake_format(const Spec& spec) {
    spec.expect_only({"path", "osl", "block", "unit"});
    const double block = spec.number_or("block", static_cast<double>(kBlockTokens));
    if (!(block >= 1) || block > 1e6 || block != std::floor(block))
        throw UsageError(
            fmt::format("dataset 'mooncake': block={} is not a whole number from 1 to 1M", block));
    TraceOptions options{.block = static_cast<std::int64_t>(block)};
    if (const auto unit = spec.fields.find("unit"); unit != spec.fields.end()) {
        if (unit->second != "s" && unit->second != "ms")
            throw UsageError(fmt::format(
                "dataset 'mooncake': unit={} is neither s nor ms, the unit of the times", unit->second));
        options.unit = unit->second;
    }
    return {.name = "mooncake",
            .layout = RowLayout::lines,
            .read = [options](std::string_view text, const std::string&,
                              const RowPlace& place) { return read_mooncake_row(text, options, place); },
            .block_tokens = options.block};
}

std::unique_ptr<Dataset> make_mooncake(const DatasetOptions& options) {
    return make_file_dataset(options, mooncake_format(options.spec));
}

}  // namespace paretoken::datasets
