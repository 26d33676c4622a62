#pragma once
// Makes profiles of a model on GPUs from their cards: "llama3-70b/h200x2/fp8" is
// MODEL/GPU[xN][/WEIGHTS[/KV]], with N ranks of tensor parallelism. Step times are bytes ÷ (the datasheet's
// bandwidth · an efficiency) and FLOP ÷ (the datasheet's FLOP/s · an efficiency), plus fixed times. The
// efficiencies below are those of the measured profile llama3-8b-h100-bf16.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cards/model.h"
#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// The shares of a datasheet's figures that a server reaches.
struct CardEfficiencies {
    double weight_bandwidth = 0.69;
    double kv_bandwidth = 0.87;
    double linear = 0.65;         ///< matrix multiplications in 16 bits
    double linear_narrow = 0.59;  ///< matrix multiplications in fewer bits
    double attention = 0.455;     ///< attention of prefill, as share of the bf16 figure
    double output_head = 0.61;    ///< output head, as share of the bf16 figure
};

/// Returns whether a spec may have the form MODEL/GPU: it contains a slash and does not end in .json.
bool names_cards(std::string_view spec);

/// Returns the model that a profile of the form MODEL/GPU serves, with the types that the spec names; nothing
/// for any other profile. Throws UsageError for an unknown model or type.
std::optional<cards::ModelCard> model_of_card_profile(std::string_view profile);

/// Returns the number of GPUs: 2 for "llama3-70b/h200x2/fp8?jitter=0"; 1 for a profile that names no GPU.
std::uint32_t gpu_count_of(std::string_view profile);

/// Makes the profile of a spec, which must not have changes ("?field=value"). Throws UsageError for an
/// unknown model, GPU or type (naming the known ones), for a spec with too many parts, for a GPU whose card
/// has no FLOP/s for a type, and for weights that leave no room for a KV cache.
Profile card_profile(const std::string& spec, const CardEfficiencies& efficiencies = {});

}  // namespace paretoken::sim
