#pragma once
// Short names of models whose matrices microbenchmarks stream by default: what rows call `preset`.
#include <span>
#include <string_view>

namespace paretoken::cards {

struct ModelPreset {
    std::string_view name;  ///< "llama3-8b"
    std::string_view card;  ///< "llama-3.1-8b"
};
std::span<const ModelPreset> model_presets();

/// The card that a row's preset stands for; a name that is no preset is a card's own name. A share of it
/// ("deepseek-v3-tp8") leads to the card of the whole.
std::string_view card_of_preset(std::string_view name);

}  // namespace paretoken::cards
