#pragma once
// Short names of the models whose matrices microbenchmarks stream by default. The name of a result row holds
// the short name as "preset:NAME", for example "weights/preset:llama3-8b/op:qkv/w:bf16/batch:1".
#include <span>
#include <string_view>

namespace paretoken::cards {

struct ModelPreset {
    std::string_view name;  ///< "llama3-8b"
    std::string_view card;  ///< "llama-3.1-8b"
};
std::span<const ModelPreset> model_presets();

/// The name of the card for a row's preset. The share of a model on one of several GPUs ("deepseek-v3-tp8")
/// has the card of the whole model. A name that is not a preset is taken as the name of a card.
std::string_view card_of_preset(std::string_view name);

}  // namespace paretoken::cards
