#pragma once
// The weights of a config.json's model, counted from its shape. Norms, biases and position embeddings (mostly
// under 0.1 % of the weights) are left out, so that a limit is too high rather than too low.
#include <optional>
#include <string>
#include <vector>

#include "cards/config/attention.h"
#include "cards/config/model_types.h"
#include "cards/config/quantization.h"
#include "cards/model.h"

namespace paretoken::cards {

/// A part of a multimodal model beside the language model: an encoder of images or sound.
struct Tower {
    std::string key;                          ///< its key in the config: "vision_config"
    std::optional<std::uint64_t> parameters;  ///< nothing if the config does not show their number
};

/// The towers that a config describes.
std::vector<Tower> towers_of(const JsonCursor& whole);

/// Fills the card's parameters and bytes, each matrix in its own format. `linear` and `routed` say for each
/// layer whether its attention is linear and whether it has experts. The card's shape is complete. Throws
/// UsageError.
void fill_weights(ModelCard& card, const JsonCursor& config, const ModelType& type,
                  const LinearLayers& linear, const std::vector<bool>& routed,
                  const std::vector<Tower>& towers, Recipe& recipe);

}  // namespace paretoken::cards
