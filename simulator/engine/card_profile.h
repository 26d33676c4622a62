#pragma once
// Makes profiles of a model on GPUs from their cards: "llama3-70b/h200x2/fp8" is
// MODEL/GPU[xN][/WEIGHTS[/KV]], with N ranks; "smollm2-135m/cpu:FILE/q8_0" is a model on the CPU of a JSON
// card. docs/simulator.md has the efficiencies that step times assume, with their sources.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cards/fit.h"
#include "cards/gpu.h"
#include "cards/model.h"
#include "simulator/engine/communication.h"
#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// The shares of a datasheet's figures that a server reaches, and the constants beside them. A spec changes
/// them by name: "reach.linear=.6".
struct CardEfficiencies {
    double weight_bandwidth = 0.8;
    double kv_bandwidth = 0.87;
    double linear = 0.65;            ///< matrix multiplications in 16 bits
    double linear_narrow = 0.59;     ///< matrix multiplications in 8 bits
    double linear_fp4 = 0.37;        ///< matrix multiplications in 4 bits (nvfp4)
    double linear_decoded = 0.2;     ///< blocks of integers (q4_0 and so on), decoded while multiplying
    double linear_expanded = 0.42;   ///< weights expanded to 16 bits while multiplying, likewise
    double attention = 0.455;        ///< attention of prefill, as share of the bf16 figure
    double attention_narrow = 0.35;  ///< the same with an fp8 cache, as share of the fp8 figure
    double latent_attention = 0.5;   ///< attention of decodes on latent caches, likewise
    double output_head = 0.61;       ///< output head, as share of the bf16 figure
    double linear_vector = 0;     ///< products of one row, as in decoding; 0: as fast as those of many rows
    double decode_attention = 0;  ///< arithmetic of decode attention, as share of the bf16 figure; 0: ignored
    double experts = 0.7;         ///< arithmetic of experts, as share of what dense layers reach
    double expert_bandwidth = 0.8;  ///< reading of experts, likewise
    double expert_skew = 0.7;       ///< standard deviation ÷ mean of how often experts are chosen
    double link_share = 0;          ///< bandwidth of the link; 0: the share of its kind (LinkTimes)
    double step = 1e-3;             ///< seconds per step: scheduling and sampling
    double layer = 0;               ///< seconds per step and layer to launch its kernels; 0: that of its kind
    double prompt_layer = 0;  ///< least seconds per layer of a step with a part of a prompt; 0: likewise
    double launches = 1;      ///< factor of both where they are those of the kind
    double request = 8e-3;    ///< seconds from the arrival of a request until the engine may begin it
};

/// What a spec says about a deployment besides model, GPUs and types, as changes after the "?":
/// "engine=trtllm&parallel=dep&link=pcie&kv_memory=8GiB".
struct CardChoices {
    cards::Engine engine = cards::Engine::vllm;
    Parallelism parallel = Parallelism::tensor;
    std::uint32_t stages = 1;                       ///< of a pipeline, each with as many of the GPUs
    std::uint32_t expert_ranks = 1;                 ///< ranks of a stage that have whole experts of their own
    std::optional<LinkKind> link = {};              ///< the usual one of the hardware and engine if absent
    std::optional<double> kv_memory_bytes = {};     ///< memory of a GPU for the KV cache
    std::optional<double> memory_fraction = {};     ///< in the engine's own meaning; its default if absent
    std::optional<std::uint64_t> sequences = {};    ///< largest batch; the engine's default if absent
    std::optional<std::uint64_t> step_tokens = {};  ///< largest step, likewise
    bool cache_is_given = false;  ///< whether the spec states the blocks, so that the computed ones may be 0
    CardEfficiencies reached = {};
};

/// Sets a choice by its name in a spec. Returns false if there is no choice of this name. `spec` is for
/// messages. Throws UsageError for a wrong value.
bool choose(CardChoices& choices, std::string_view name, std::string_view value, std::string_view spec);

/// Returns the usual choices for the hardware of a spec: a CPU has other shares, and llama.cpp as its engine.
CardChoices usual_choices(std::string_view spec);

/// Returns what servers reach on a GPU. AMD's GPUs reach smaller shares and launch kernels more slowly.
CardEfficiencies usual_efficiencies(const cards::GpuCard& gpu);

/// Returns whether a spec may be MODEL/GPU: it has a slash and does not end in .json, or names a CPU's card.
bool names_cards(std::string_view spec);

/// Returns the model that a profile of the form MODEL/GPU serves, with the types that the spec names; nothing
/// for any other profile. Throws UsageError for an unknown model or type.
std::optional<cards::ModelCard> model_of_card_profile(std::string_view profile);

/// Returns the number of GPUs: 2 for "llama3-70b/h200x2/fp8?jitter=0"; 1 for a profile that names no GPU.
std::uint32_t gpu_count_of(std::string_view profile);

/// Makes the profile of a model on `ranks` GPUs. Throws UsageError as card_profile() does.
Profile gpu_profile(const cards::ModelCard& model, const cards::GpuCard& gpu, std::uint32_t ranks,
                    const CardChoices& choices);

/// Makes the profile of a model on a machine without a card: a plausible speed, which a fit replaces, room
/// for every context, and at most `sequences` sequences.
Profile machine_profile(const cards::ModelCard& model, std::uint64_t sequences);

/// Makes the profile of a spec without changes ("?field=value"). Throws UsageError for an unknown model, GPU
/// or type, too many parts, a card without a type's FLOP/s, and weights that leave no room for a KV cache.
Profile card_profile(const std::string& spec, const CardChoices& choices = {});

}  // namespace paretoken::sim
