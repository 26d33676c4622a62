#pragma once
// How values of a config.json are read: under one of several names, and within bounds.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "cards/json_value.h"

namespace paretoken::cards {

using Keys = std::initializer_list<const char*>;

constexpr Keys kQueryHeads{"num_attention_heads", "n_head", "n_heads"};
constexpr Keys kLayers{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
constexpr Keys kHidden{"hidden_size", "n_embd", "d_model", "n_embed"};

std::optional<JsonCursor> find_any(const JsonCursor& config, Keys keys);

/// A number from 1 to 2^24, which is small enough for products of three such numbers to be exact.
std::uint64_t extent_of(const JsonCursor& value);
std::uint64_t extent(const JsonCursor& config, Keys keys, std::string_view what);
std::uint64_t extent_or(const JsonCursor& config, Keys keys, std::uint64_t otherwise);

/// An extent, or a list that has the same extent for every layer.
std::uint64_t extent_of_every_layer(const JsonCursor& value);

/// A number, or 0 for "none", which configs write as absent, null, 0 or -1.
std::uint64_t count_or_none(const JsonCursor& config, Keys keys);

bool flag(const JsonCursor& config, const std::string& key, bool otherwise);

/// Whether a value switches a setting off: null, false, 0, or an empty text, list or object.
bool is_off(const JsonCursor& value);

/// The value of model_type, or "" if there is none.
std::string type_of(const JsonCursor& config);

/// Whether a list of words, each with a space before and after it, has this word.
bool lists(std::string_view words, std::string_view word);

}  // namespace paretoken::cards
