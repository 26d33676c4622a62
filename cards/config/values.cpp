#include "cards/config/values.h"

#include <fmt/format.h>

#include <vector>

namespace paretoken::cards {

std::optional<JsonCursor> find_any(const JsonCursor& config, Keys keys) {
    for (const char* key : keys)
        if (auto found = config.find(key)) return found;
    return {};
}

std::uint64_t extent_of(const JsonCursor& value) {
    constexpr std::uint64_t kLargest = 1u << 24;
    const std::uint64_t count = value.count();
    if (count == 0 || count > kLargest) value.complain("a whole number between 1 and 2^24");
    return count;
}

std::uint64_t extent(const JsonCursor& config, Keys keys, std::string_view what) {
    if (const auto found = find_any(config, keys)) return extent_of(*found);
    return extent_of(config.at(*keys.begin(), what));
}

std::uint64_t extent_or(const JsonCursor& config, Keys keys, std::uint64_t otherwise) {
    const auto found = find_any(config, keys);
    return found ? extent_of(*found) : otherwise;
}

std::uint64_t extent_of_every_layer(const JsonCursor& value) {
    if (!value.is_array() || value.elements().empty()) return extent_of(value);
    const std::vector<JsonCursor> layers = value.elements();
    const std::uint64_t first = extent_of(layers.front());
    for (const JsonCursor& layer : layers)
        if (extent_of(layer) != first)
            layer.complain(fmt::format(
                "{}, the value of the first layer (give a GGUF file of a model whose layers differ)", first));
    return first;
}

std::uint64_t count_or_none(const JsonCursor& config, Keys keys) {
    const auto found = find_any(config, keys);
    if (!found || (found->is_number() && found->number() == -1)) return 0;
    return found->count() == 0 ? 0 : extent_of(*found);
}

bool flag(const JsonCursor& config, const std::string& key, bool otherwise) {
    const auto found = config.find(key);
    return found ? found->boolean() : otherwise;
}

bool is_off(const JsonCursor& value) {
    if (value.is_null()) return true;
    if (value.is_number()) return value.number() == 0;
    if (value.is_string()) return value.string().empty();
    if (value.is_array()) return value.elements().empty();
    if (value.is_object()) return value.members().empty();
    return !value.boolean();
}

std::string type_of(const JsonCursor& config) {
    const auto type = config.find("model_type");
    return type && type->is_string() ? type->string() : "";
}

bool lists(std::string_view words, std::string_view word) {
    return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

}  // namespace paretoken::cards
