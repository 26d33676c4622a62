#include "datasets/sharegpt.h"

#include <simdjson.h>

#include "datasets/json_row.h"

namespace paretoken::datasets {
namespace {

bool is_human(std::string_view from) {
    return from == "human" || from == "user";
}

Row read_row(std::string_view text, const std::string&, const RowPlace& place) {
    const simdjson::dom::element& object = object_of(text, place);
    simdjson::dom::array turns;
    if (object["conversations"].get(turns) && object["conversation"].get(turns))
        place.refuse("\"conversations\" is missing");
    Messages messages;
    for (const auto turn : turns) {
        std::string_view from;
        std::string_view value;
        if (turn["from"].get(from) || turn["value"].get(value))
            place.refuse("a turn lacks \"from\" or \"value\"");
        if (from == "system" && messages.empty()) {
            messages.push_back({"system", std::string(value)});
        } else if (is_human(from)) {
            messages.push_back({"user", std::string(value)});
            Row row;
            row.prompt = std::move(messages);
            return row;
        }
    }
    place.refuse("no turn is the human's");
}

}  // namespace

RowFormat sharegpt_format(const Spec&) {
    return {.name = "sharegpt", .layout = RowLayout::lines_or_array, .read = read_row};
}

std::unique_ptr<Dataset> make_sharegpt(const DatasetOptions& options) {
    options.spec.expect_only({"path", "osl"});
    return make_file_dataset(options, sharegpt_format(options.spec));
}

}  // namespace paretoken::datasets
