#pragma once
// Which experts the tokens of a decode step go through, as numbers: how many different ones and how many
// tokens each, a draw that keeps to it, and what routing must come to. Pure; compiles without CUDA.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/experts_body.h"

namespace paretoken::microbench::gpu {

/// The routed part of a layer.
struct LayerExperts {
    std::size_t count = 0;
    std::size_t active = 0;  ///< per token
    std::size_t width = 0;   ///< of one

    bool operator==(const LayerExperts&) const = default;
};

/// What the launch of an expert list has room for.
struct ExpertLoad {
    std::size_t entries = 0;  ///< different experts, each streamed once
    std::size_t columns = 0;  ///< tokens of one, at most

    bool operator==(const ExpertLoad&) const = default;
    std::size_t places() const { return entries * columns; }
};

/// As many different experts as independent, even draws of `tokens` tokens touch on average, with even
/// shares.
ExpertLoad expert_load(std::size_t experts, std::size_t active, std::size_t tokens);

/// Who may choose whom. Random weights would touch another number of experts at every step, and no byte count
/// would hold; so each token is left with as many experts as it needs, and `expert_load` of them are touched.
struct ExpertDraw {
    std::vector<std::uint32_t> masks;   ///< RouteCall::masks
    std::vector<std::int32_t> touched;  ///< ascending
};
ExpertDraw drawn_experts(const LayerExperts& experts, std::size_t tokens, std::uint64_t seed);

/// RoutingTables, and whom they mean.
struct Routing {
    std::vector<std::int32_t> experts;  ///< [tokens, active]
    std::vector<double> weights;        ///< [tokens, active]
    std::vector<std::int32_t> places;   ///< [tokens, active]
    std::vector<std::int32_t> tokens;   ///< [entries, columns]
    std::vector<std::int32_t> touched;  ///< ascending; the entries' experts as far as there are entries
};
/// What RouteCall says, in fp64. `logits` [tokens, experts], none of them NaN.
Routing routing_of(const LayerExperts& experts, const ExpertLoad& load, std::span<const std::uint32_t> masks,
                   std::span<const double> logits, double scale);

}  // namespace paretoken::microbench::gpu
