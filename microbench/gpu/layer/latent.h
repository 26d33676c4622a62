#pragma once
// The reference in fp64 for the operations of latent attention between its products. Compiles without CUDA.
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/latent_body.h"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

/// The latent attention of a layer. All its other sizes are constants of the kernels (mla_body.h,
/// latent_body.h).
struct LayerLatent {
    std::size_t q_rank = 0;

    bool operator==(const LayerLatent&) const = default;
};

/// The results of LatentCall: the queries and the new tokens' rows.
struct LatentTurned {
    std::vector<double> nope;    ///< [heads, batch, 128]
    std::vector<double> turned;  ///< [batch, heads, 64]
    std::vector<double> rows;    ///< [batch, 576]
};
/// Returns the results of LatentCall. `q` is [batch, heads, 192], `kv` [batch, 576], `turns` [batch, 32, 2],
/// and `gain` [512] in bf16.
LatentTurned latent_turned(std::span<const double> q, std::span<const double> kv,
                           std::span<const float> turns, std::span<const std::uint16_t> gain, double epsilon);

/// Returns [inner, outer, size] for `from` [outer, inner, size].
std::vector<double> transposed(std::span<const double> from, std::size_t outer, std::size_t inner);

/// Returns the attention of one absorbed query [576] over rows [tokens, 576]: [512].
std::vector<double> latent_attended(std::span<const double> q, std::span<const double> rows);

/// Returns the attention of one head computed without absorption: [128]. The keys and values of every token
/// are expanded by `absorb` [512, 128] and `expand` [128, 512]. `nope` is [128] and `turned` [64].
std::vector<double> expanded_attended(std::span<const double> nope, std::span<const double> turned,
                                      std::span<const double> rows, std::span<const double> absorb,
                                      std::span<const double> expand);

}  // namespace paretoken::microbench::gpu
