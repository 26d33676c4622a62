#pragma once
// The feed-forward layers of a config.json's model: which layers have experts, and their widths.
#include <optional>
#include <vector>

#include "cards/config/model_types.h"
#include "cards/model.h"

namespace paretoken::cards {

/// The experts of a model, and for each layer whether it has them. Without experts, all layers are dense.
struct Experts {
    std::optional<MixtureOfExperts> moe;
    std::vector<bool> routed;  ///< one value per layer
};

/// Throws UsageError, also for settings of experts that are not understood.
Experts experts_of(const JsonCursor& config, const ModelType& type, std::uint64_t layers);

/// The width of dense feed-forward layers. Throws UsageError if neither the config nor the type says it.
std::uint64_t dense_width_of(const JsonCursor& config, const ModelType& type, std::uint64_t hidden);

}  // namespace paretoken::cards
