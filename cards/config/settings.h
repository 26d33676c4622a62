#pragma once
// Refuses by name the settings of a config.json that are not understood and could change KV cache or weights.
#include <string>

#include "cards/config/model_types.h"

namespace paretoken::cards {

/// Throws a UsageError for a setting of attention, of loops over layers, or of groups of layers.
void refuse_unknown_attention(const JsonCursor& config, const ModelType& type, const std::string& where);

/// Throws a UsageError for a setting of experts, in a model that has them.
void refuse_unknown_settings_of_experts(const JsonCursor& config);

/// Throws a UsageError for a number of experts under a name that is not known, also one level deeper.
void refuse_unknown_experts(const JsonCursor& config, bool deeper = true);

}  // namespace paretoken::cards
