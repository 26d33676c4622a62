#include "microbench/gpu/layer/experts.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

#include "core/random.h"

namespace paretoken::microbench::gpu {
namespace {

std::size_t words_of_mask(std::size_t experts) {
    return static_cast<std::size_t>(mask_words(static_cast<std::int32_t>(experts)));
}

}  // namespace

ExpertDraw drawn_experts(const LayerExperts& experts, std::size_t tokens, std::uint64_t seed) {
    std::vector<std::int32_t> order(experts.count);
    std::iota(order.begin(), order.end(), 0);
    Random random(seed);
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    order.resize(expert_load(experts.count, experts.active, tokens).entries);
    // The (token, expert) pairs get the drawn experts in turn. No token gets an expert twice, because active
    // <= entries.
    ExpertDraw draw{.masks = std::vector<std::uint32_t>(tokens * words_of_mask(experts.count)),
                    .touched = order};
    for (std::size_t pair = 0; pair < tokens * experts.active; ++pair) {
        const auto expert = static_cast<std::size_t>(order[pair % order.size()]);
        draw.masks[pair / experts.active * words_of_mask(experts.count) + expert / 32] |= 1U << expert % 32;
    }
    std::sort(draw.touched.begin(), draw.touched.end());
    return draw;
}

Routing routing_of(const LayerExperts& experts, const ExpertLoad& load, std::span<const std::uint32_t> masks,
                   std::span<const double> logits, double scale) {
    const std::size_t tokens = logits.size() / experts.count;
    Routing routing;
    std::map<std::int32_t, std::vector<std::size_t>> pairs_of;  // pairs of each expert, ascending
    for (std::size_t token = 0; token < tokens; ++token) {
        const auto of_token = logits.subspan(token * experts.count, experts.count);
        std::vector<std::int32_t> allowed;
        for (std::size_t expert = 0; expert < experts.count; ++expert) {
            if ((masks[token * words_of_mask(experts.count) + expert / 32] >> expert % 32 & 1) != 0)
                allowed.push_back(static_cast<std::int32_t>(expert));
        }
        assert(allowed.size() >= experts.active);
        std::stable_sort(allowed.begin(), allowed.end(), [&](std::int32_t a, std::int32_t b) {
            return of_token[static_cast<std::size_t>(a)] > of_token[static_cast<std::size_t>(b)];
        });
        allowed.resize(experts.active);
        const double most = of_token[static_cast<std::size_t>(allowed.front())];
        double sum = 0;
        for (const std::int32_t expert : allowed) {
            pairs_of[expert].push_back(routing.experts.size());
            routing.experts.push_back(expert);
            routing.weights.push_back(std::exp((of_token[static_cast<std::size_t>(expert)] - most) * scale));
            sum += routing.weights.back();
        }
        for (std::size_t i = routing.weights.size() - experts.active; i < routing.weights.size(); ++i)
            routing.weights[i] /= sum;
    }
    routing.places.assign(routing.experts.size(), kNoPlace);
    routing.tokens.assign(load.places(), kNoToken);
    for (const auto& [expert, pairs] : pairs_of) {
        const std::size_t entry = routing.touched.size();
        routing.touched.push_back(expert);
        if (entry >= load.entries) continue;
        for (std::size_t column = 0; column < std::min(pairs.size(), load.columns); ++column) {
            const std::size_t place = entry * load.columns + column;
            routing.places[pairs[column]] = static_cast<std::int32_t>(place);
            routing.tokens[place] = static_cast<std::int32_t>(pairs[column] / experts.active);
        }
    }
    return routing;
}

}  // namespace paretoken::microbench::gpu
