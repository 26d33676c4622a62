#pragma once
// Quantities of a model that is served by tensor-parallel ranks (GPUs that share its weights): the ranks that
// hold different parts of its KV cache, the memory for that cache, and the FLOP per token. The simulated
// server and the hardware limit (the upper bound on throughput that reports compute) use them. The functions
// are pure.
#include <optional>

#include "cards/model.h"

namespace paretoken::cards {

/// The share of the GPU memory that a server is assumed to use, as in vLLM's default configuration.
inline constexpr double kMemoryShare = 0.9;

/// The number of ranks that hold different parts of the KV cache: at most the number of KV heads, because
/// further ranks hold copies. For latent attention it is all ranks, because the requests are divided among
/// the ranks and each rank holds the cache of its own requests.
double kv_ranks(const ModelCard& model, double ranks);

/// The bytes that are left for the KV cache: kMemoryShare of `memory_bytes` (of all ranks together) less all
/// weights; nothing when nothing is left.
std::optional<double> kv_pool_bytes(const ModelCard& model, double memory_bytes);

/// The FLOP of one token in all linear layers, including the output head. Of the routed experts, only those
/// that are active for a token count.
double linear_flops_per_token(const ModelCard& model);

/// The FLOP of the output head (the projection to the vocabulary) for one token. An engine computes it once
/// per prompt, for the last token, and once for every token that it decodes.
double output_head_flops(const ModelCard& model);

}  // namespace paretoken::cards
