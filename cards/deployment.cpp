#include "cards/deployment.h"

#include <algorithm>

#include "cards/fit.h"

namespace paretoken::cards {
namespace {

/// Weights of a layer that turn its input into the latent vectors of keys, values and queries.
double undivided_parameters(const ModelCard& model) {
    if (!model.mla) return 0;
    return static_cast<double>(model.hidden * (model.mla->q_rank + model.mla->kv_rank + model.mla->rope_dim));
}

}  // namespace

double kv_ranks(const ModelCard& model, double ranks) {
    if (model.mla) return ranks;
    return std::min(ranks, static_cast<double>(std::max<std::uint64_t>(1, model.kv_heads)));
}

double undivided_attention_share(const ModelCard& model) {
    return undivided_parameters(model) / static_cast<double>(attention_parameters(model));
}

double undivided_flops_per_token(const ModelCard& model) {
    return 2 * static_cast<double>(model.layers) * undivided_parameters(model);
}

std::optional<double> kv_pool_bytes(const ModelCard& model, double memory_bytes) {
    const double left = fit_of(model, {.memory_bytes = memory_bytes,
                                       .weight_bytes = static_cast<double>(model.resident_weight_bytes),
                                       .overhead_bytes = 0})
                            .left;
    return left > 0 ? std::optional(left) : std::nullopt;
}

double linear_flops_per_token(const ModelCard& model) {
    return 2 * static_cast<double>(model.active_parameters);
}

double routed_flops_per_token(const ModelCard& model) {
    if (!model.moe) return 0;
    const double matrices = model.gated_ffn ? 3 : 2;
    const double parameters = matrices * static_cast<double>(model.hidden * model.moe->expert_ffn);
    return 2 * static_cast<double>(model.moe->layers * model.moe->active) * parameters;
}

double output_head_flops(const ModelCard& model) {
    return 2 * static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
}

}  // namespace paretoken::cards
