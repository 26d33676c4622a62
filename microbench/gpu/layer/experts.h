#pragma once
// Draws the experts that each token may use in a decode step of a model with a mixture of experts, and
// computes the reference result of the routing. The draw is random, but it touches exactly as many experts
// as expert_load() returns (microbench/gpu/weights/expert_load.h). experts_body.h has the kernels. This
// header compiles without CUDA.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/layer/experts_body.h"
#include "microbench/gpu/weights/expert_load.h"

namespace paretoken::microbench::gpu {

/// The routed experts of a layer.
struct LayerExperts {
    std::size_t count = 0;   ///< experts of the layer
    std::size_t active = 0;  ///< experts per token
    std::size_t width = 0;   ///< inner width of the feed-forward part of one expert

    bool operator==(const LayerExperts&) const = default;
};

/// A random choice of the experts that each token may use. With random weights alone, the number of touched
/// experts, and with it the number of bytes, would differ from step to step. Therefore each token may use
/// only as many experts as it needs, and all tokens together touch as many experts as expert_load()
/// returns.
struct ExpertDraw {
    /// RouteCall::masks: one bit per token and expert, which is set if the token may use the expert.
    std::vector<std::uint32_t> masks;
    std::vector<std::int32_t> touched;  ///< touched experts, ascending
};
ExpertDraw drawn_experts(const LayerExperts& experts, std::size_t tokens, std::uint64_t seed);

/// The reference result of the routing: the contents that RoutingTables (experts_body.h) must have, and the
/// chosen and the touched experts.
struct Routing {
    std::vector<std::int32_t> experts;  ///< [tokens, active], the chosen experts
    std::vector<double> weights;        ///< [tokens, active]
    std::vector<std::int32_t> places;   ///< [tokens, active]
    std::vector<std::int32_t> tokens;   ///< [entries, columns]
    std::vector<std::int32_t> touched;  ///< touched experts, ascending; the first ones are the entries
};
/// Returns the result of the route kernel (RouteCall in experts_body.h) in fp64. `load` gives the places of
/// the list of experts. `masks` has the form of ExpertDraw::masks and allows each token at least
/// `experts.active` experts. `logits` is [tokens, experts] and contains no NaN. `scale` is the factor of
/// the logits in the softmax.
Routing routing_of(const LayerExperts& experts, const ExpertLoad& load, std::span<const std::uint32_t> masks,
                   std::span<const double> logits, double scale);

}  // namespace paretoken::microbench::gpu
