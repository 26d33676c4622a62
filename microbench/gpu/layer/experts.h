#pragma once
// The routing of tokens to experts in a decode step, without its kernels: the number of different experts and
// of tokens per expert, a random draw with these numbers, and the reference result of the routing. Compiles
// without CUDA.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/experts_body.h"

namespace paretoken::microbench::gpu {

/// The routed experts of a layer.
struct LayerExperts {
    std::size_t count = 0;
    std::size_t active = 0;  ///< experts per token
    std::size_t width = 0;   ///< width of one expert

    bool operator==(const LayerExperts&) const = default;
};

/// The capacity of a launch over a list of experts.
struct ExpertLoad {
    std::size_t entries = 0;  ///< different experts, each streamed once
    std::size_t columns = 0;  ///< largest number of tokens of one expert

    bool operator==(const ExpertLoad&) const = default;
    std::size_t places() const { return entries * columns; }
};

/// Returns the load of a batch of `tokens` tokens. The number of different experts is the expected number if
/// every token chooses its experts evenly and independently. The number of tokens per expert follows if all
/// these experts get equal shares.
ExpertLoad expert_load(std::size_t experts, std::size_t active, std::size_t tokens);

/// A random choice of the experts that each token may use. With random weights alone, the number of touched
/// experts, and with it the number of bytes, would differ from step to step. Therefore each token may use
/// only as many experts as it needs, and all tokens together touch as many experts as `expert_load` returns.
struct ExpertDraw {
    std::vector<std::uint32_t> masks;   ///< RouteCall::masks
    std::vector<std::int32_t> touched;  ///< touched experts, ascending
};
ExpertDraw drawn_experts(const LayerExperts& experts, std::size_t tokens, std::uint64_t seed);

/// The reference of RoutingTables, with the chosen and the touched experts.
struct Routing {
    std::vector<std::int32_t> experts;  ///< [tokens, active]
    std::vector<double> weights;        ///< [tokens, active]
    std::vector<std::int32_t> places;   ///< [tokens, active]
    std::vector<std::int32_t> tokens;   ///< [entries, columns]
    std::vector<std::int32_t> touched;  ///< touched experts, ascending; the first ones are the entries
};
/// Returns the result of RouteCall in fp64. `logits` is [tokens, experts] and contains no NaN.
Routing routing_of(const LayerExperts& experts, const ExpertLoad& load, std::span<const std::uint32_t> masks,
                   std::span<const double> logits, double scale);

}  // namespace paretoken::microbench::gpu
