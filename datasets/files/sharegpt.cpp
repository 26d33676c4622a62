#include "datasets/files/sharegpt.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <utility>

#include "core/error.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

bool is_human(std::string_view from) {
    return from == "human" || from == "user";
}

bool is_reply(std::string_view from) {
    return from == "gpt" || from == "assistant" || from == "chatgpt" || from == "bing" || from == "bard";
}

Row read_sharegpt_row(std::string_view text, const std::string&, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    simdjson::dom::array turns;
    if (object["conversations"].get(turns) && object["conversation"].get(turns))
        place.refuse("\"conversations\" is missing");
    Row row;
    Messages messages;
    for (const auto turn : turns) {
        std::string_view from;
        std::string_view value;
        if (turn["from"].get(from) || turn["value"].get(value))
            place.refuse("a turn lacks \"from\" or \"value\"");
        if (from == "system" && !row.prompt && messages.empty()) {
            messages.push_back({"system", std::string(value)});
        } else if (is_human(from)) {
            messages.push_back({"user", std::string(value)});
            if (row.prompt) {
                row.further.push_back({.prompt = std::move(messages)});
            } else {
                row.prompt = std::move(messages);
            }
            messages = {};
        } else if (row.prompt && is_reply(from)) {
            messages.push_back({"assistant", std::string(value)});
        }
    }
    if (!row.prompt) row.unusable = "for they have no message of the human's";
    return row;
}

}  // namespace

RowFormat sharegpt_format(const Spec& spec) {
    spec.expect_only({"path", "osl", "turns"});
    const double turns = spec.number_or("turns", 1);
    if (!(turns >= 1) || turns > UINT16_MAX || turns != std::floor(turns))
        throw UsageError(fmt::format("dataset 'sharegpt': turns={} is not a whole number from 1 to {}", turns,
                                     UINT16_MAX));
    return {.name = "sharegpt",
            .layout = RowLayout::lines_or_array,
            .read = read_sharegpt_row,
            .most_turns = static_cast<std::uint32_t>(turns)};
}

std::unique_ptr<Dataset> make_sharegpt(const DatasetOptions& options) {
    return make_file_dataset(options, sharegpt_format(options.spec));
}

}  // namespace paretoken::datasets
