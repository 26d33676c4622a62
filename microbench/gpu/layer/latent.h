#pragma once
// What a layer's latent attention must come to around its products, in fp64. Pure; compiles without CUDA.
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/latent_body.h"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

/// The latent attention of a layer; all else about its shapes is the kernels' (mla_body.h, latent_body.h).
struct LayerLatent {
    std::size_t q_rank = 0;

    bool operator==(const LayerLatent&) const = default;
};

/// What LatentCall makes of queries and the new tokens' rows.
struct LatentTurned {
    std::vector<double> nope;    ///< [heads, batch, 128]
    std::vector<double> turned;  ///< [batch, heads, 64]
    std::vector<double> rows;    ///< [batch, 576]
};
/// `q` [batch, heads, 192], `kv` [batch, 576], `turns` [batch, 32, 2], `gain` [512] in bf16.
LatentTurned latent_turned(std::span<const double> q, std::span<const double> kv,
                           std::span<const float> turns, std::span<const std::uint16_t> gain, double epsilon);

/// [outer, inner, size] → [inner, outer, size]
std::vector<double> transposed(std::span<const double> from, std::size_t outer, std::size_t inner);

/// [512]: attention of one absorbed query [576] over rows [tokens, 576].
std::vector<double> latent_attended(std::span<const double> q, std::span<const double> rows);

/// [128]: the same of one head without absorption. Keys and values are expanded token by token, by `absorb`
/// [512, 128] and `expand` [128, 512]; `nope` [128], `turned` [64].
std::vector<double> expanded_attended(std::span<const double> nope, std::span<const double> turned,
                                      std::span<const double> rows, std::span<const double> absorb,
                                      std::span<const double> expand);

}  // namespace paretoken::microbench::gpu
