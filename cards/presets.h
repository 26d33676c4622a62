#pragma once
// Short names (presets) of the models whose weight matrices the microbenchmarks read by default. The name of
// a result row holds the short name as "preset:NAME", as in "weights/preset:llama3-8b/op:qkv/w:bf16/batch:1".
#include <span>
#include <string_view>

namespace paretoken::cards {

struct ModelPreset {
    std::string_view name;  ///< short name: "llama3-8b"
    std::string_view card;  ///< name of its model card (cards/model.h): "llama-3.1-8b"
};
std::span<const ModelPreset> model_presets();

/// Returns the name of the model card for a row's "preset:NAME", without an ending such as "-tp8". A NAME
/// that is no short name is itself the name of a card; the result is then a view into `name`.
std::string_view card_of_preset(std::string_view name);

}  // namespace paretoken::cards
