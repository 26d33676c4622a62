#pragma once
// Settings of a config.json that are not understood. Each could change the KV cache or the weights, which
// would then be a guess, so that they are refused by name.
#include <string>

#include "cards/config/model_types.h"

namespace paretoken::cards {

/// Throws a UsageError for a setting of attention, of loops over layers, or of groups of layers.
void refuse_unknown_attention(const JsonCursor& config, const ModelType& type, const std::string& where);

/// Throws a UsageError for a setting of experts, in a model that has them.
void refuse_unknown_settings_of_experts(const JsonCursor& config);

/// Throws a UsageError for a number of experts under a name that is not known, also one level deeper: the
/// weights would be those of a dense model.
void refuse_unknown_experts(const JsonCursor& config, bool deeper = true);

}  // namespace paretoken::cards
