#pragma once
// The KV cache of a config.json's model: heads, windows and chunks, latent attention, shared caches.
#include "cards/config/model_types.h"
#include "cards/model.h"

namespace paretoken::cards {

/// Sets the card's heads, window, KV values per token and FLOP of attention. `layers` and `hidden` of the
/// card are set already. Throws UsageError.
void fill_attention(ModelCard& card, const JsonCursor& config, const ModelType& type);

}  // namespace paretoken::cards
