#pragma once
// A model spread over tensor-parallel ranks: what of the hardware it can use. Common to the hard limit and to
// the simulated server. Pure.
#include <optional>

#include "cards/model.h"

namespace paretoken::cards {

/// The share of the memory that servers take, as vLLM's default configuration does.
inline constexpr double kMemoryShare = 0.9;

/// Ranks that each hold a part of the KV cache of their own: more ranks than KV heads replicate it. A latent
/// cache is spread by requests instead.
double kv_ranks(const ModelCard& model, double ranks);

/// Bytes that kMemoryShare of `memory_bytes` (of all ranks) leaves beside the weights; nothing when they do
/// not fit.
std::optional<double> kv_pool_bytes(const ModelCard& model, double memory_bytes);

/// FLOP of one token in every linear layer, the output head included.
double linear_flops_per_token(const ModelCard& model);

/// FLOP of the output head (the projection to the vocabulary) for one token. An engine computes it once per
/// prompt, for the last token, and once for every token that it decodes.
double output_head_flops(const ModelCard& model);

}  // namespace paretoken::cards
