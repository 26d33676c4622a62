#include "datasets/files/json_row.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace paretoken::datasets {

namespace dom = simdjson::dom;

const dom::element& object_of(std::string_view text, const RowPlace& place) {
    static_assert(RowFile::kPadding >= simdjson::SIMDJSON_PADDING);
    thread_local dom::parser parser;
    thread_local dom::element object;
    if (const auto error = parser.parse(text.data(), text.size(), false).get(object))
        place.refuse(fmt::format("not JSON ({})", simdjson::error_message(error)));
    if (!object.is_object()) place.refuse("no JSON object");
    return object;
}

std::optional<std::int64_t> tokens_in(const dom::element& object, std::string_view key, const RowPlace& place,
                                      std::int64_t least) {
    dom::element value;
    std::int64_t tokens = 0;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    if (value.get(tokens) || tokens < least)
        place.refuse(fmt::format("\"{}\" is not a whole number of at least {}", key, least));
    return tokens;
}

std::int64_t needed_tokens_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    const auto tokens = tokens_in(object, key, place, 0);
    if (!tokens) place.refuse(fmt::format("\"{}\" is missing", key));
    return *tokens;
}

std::optional<double> number_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    double number = 0;
    if (object[key].get(value) || value.is_null()) return std::nullopt;
    if (value.get(number) || !(number >= 0))
        place.refuse(fmt::format("\"{}\" is not a number of at least 0", key));
    return number;
}

std::string text_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    std::string_view text;
    if (object[key].get(value) || value.is_null()) return {};
    if (value.get(text)) place.refuse(fmt::format("\"{}\" is not text", key));
    return std::string(text);
}

}  // namespace paretoken::datasets
