#pragma once
// The KV cache of a config.json's model: heads, windows and chunks, latent attention, shared caches.
#include <vector>

#include "cards/config/model_types.h"
#include "cards/model.h"

namespace paretoken::cards {

/// Layers whose attention is linear (a gated delta net), and their widths in all heads together.
struct LinearLayers {
    std::vector<bool> linear = {};  ///< for each layer; all false if the model has none
    std::uint64_t keys = 0;         ///< width of keys, and as much of queries
    std::uint64_t values = 0;       ///< width of values, and as much of their gate
    std::uint64_t value_heads = 0;
    bool gated_attention = false;  ///< whether the other layers' queries have a gate as wide as they are
};

/// Sets the card's heads, window, KV values per token and FLOP of attention. `layers` and `hidden` of the
/// card are set already. Throws UsageError.
LinearLayers fill_attention(ModelCard& card, const JsonCursor& config, const ModelType& type);

}  // namespace paretoken::cards
