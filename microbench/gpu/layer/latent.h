#pragma once
// The reference in fp64 for multi-head latent attention (MLA) in a decoder layer: the operations between its
// matrix products. The cache holds a row of 576 numbers per token: 512 latent numbers and a rotary key of 64
// numbers. A query has 192 numbers, of which the last 64 are rotary. Absorption multiplies the other 128 by a
// matrix, so that the query can be compared with the latent numbers directly. Compiles without CUDA.
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/latent_body.h"
#include "microbench/gpu/mla/mla.h"

namespace paretoken::microbench::gpu {

/// The latent attention of a layer. All its other sizes are constants of the kernels (mla_body.h,
/// latent_body.h).
struct LayerLatent {
    std::size_t q_rank = 0;  ///< numbers between the two projections that compute the queries

    bool operator==(const LayerLatent&) const = default;
};

/// The results of the kernel that rotates, normalises and appends (LatentCall in latent_body.h).
struct LatentTurned {
    std::vector<double> nope;    ///< [heads, batch, 128]: the numbers of the queries that are not rotated
    std::vector<double> turned;  ///< [batch, heads, 64]: the rotated numbers of the queries
    std::vector<double> rows;    ///< [batch, 576]: the new tokens' rows
};
/// Returns the results that this kernel must compute. `q` is [batch, heads, 192], `kv` [batch, 576],
/// `turns` [batch, 32, 2] (cosine and sine), and `gain` [512] in bf16.
LatentTurned latent_turned(std::span<const double> q, std::span<const double> kv,
                           std::span<const float> turns, std::span<const std::uint16_t> gain, double epsilon);

/// Exchanges the first two dimensions: returns [inner, outer, size] for `from` [outer, inner, size].
std::vector<double> transposed(std::span<const double> from, std::size_t outer, std::size_t inner);

/// Returns the result [512] of one absorbed query [576] that attends to rows [tokens, 576].
std::vector<double> latent_attended(std::span<const double> q, std::span<const double> rows);

/// Returns the result [128] of one head, computed without absorption: the latent numbers of every cached
/// row in `rows` [tokens, 576] are expanded to a key by `absorb` [512, 128] and to a value by `expand`
/// [128, 512]. The query is `nope` [128] followed by `turned` [64].
std::vector<double> expanded_attended(std::span<const double> nope, std::span<const double> turned,
                                      std::span<const double> rows, std::span<const double> absorb,
                                      std::span<const double> expand);

}  // namespace paretoken::microbench::gpu
