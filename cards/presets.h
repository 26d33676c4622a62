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

/// Returns the card's name for a row's preset. An ending "-tp" and a number (the share of one GPU of several)
/// is ignored. The rest, if it is no preset, is itself the card's name; the result then views `name`.
std::string_view card_of_preset(std::string_view name);

}  // namespace paretoken::cards
