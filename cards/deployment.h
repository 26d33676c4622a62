#pragma once
// Bounds and work of a model that is served by several ranks (GPUs that share its weights), for any engine:
// the ranks that hold different parts of its KV cache, the memory for it, and the FLOP per token.
#include <optional>

#include "cards/model.h"

namespace paretoken::cards {

/// The most ranks that hold different parts of the KV cache: at most the number of KV heads; all ranks for
/// latent attention, because the requests can be divided among them.
double kv_ranks(const ModelCard& model, double ranks);

/// The share of attention's weights that every rank of tensor parallelism has whole: the matrices before the
/// latent vectors (MLA), which have no heads to divide. 0 for other attention.
double undivided_attention_share(const ModelCard& model);

/// The FLOP of one token in these matrices; 0 for other attention.
double undivided_flops_per_token(const ModelCard& model);

/// The bytes that are left for the KV cache at a usual setting, if nothing but the weights took memory: 0.9
/// of `memory_bytes` (of all ranks together) less all weights; nothing when nothing is left.
std::optional<double> kv_pool_bytes(const ModelCard& model, double memory_bytes);

/// The FLOP of one token in all linear layers, with the output head, and only with the experts that it uses.
double linear_flops_per_token(const ModelCard& model);

/// The FLOP of one token in its routed experts; 0 for a model without experts.
double routed_flops_per_token(const ModelCard& model);

/// The FLOP of the output head (the projection to the vocabulary) for one token. An engine computes it once
/// per prompt, for the last token, and once for every token that it decodes.
double output_head_flops(const ModelCard& model);

}  // namespace paretoken::cards
