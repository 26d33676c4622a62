#include "microbench/gpu/attention/split.h"

#include <algorithm>

#include "microbench/gpu/attention/paged.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::int32_t kAlignment = 16;

std::int64_t total_tokens(std::span<const std::int32_t> lengths, const SplitOptions& options) {
    std::int64_t total = 0;
    for (const std::int32_t length : lengths) total += length - window_begin(length, options.window);
    return total * options.heads;
}

/// Returns the allowed cut of the sequence of tokens [first, last) that is nearest to `wanted`.
std::int32_t allowed_cut(std::int64_t wanted, std::int32_t first, std::int32_t last, std::int32_t tile) {
    if (wanted <= first) return first;
    if (wanted >= last) return last;
    const std::int32_t origin = first / kAlignment * kAlignment;
    const auto tiles = static_cast<std::int32_t>((wanted - origin + tile / 2) / tile);
    const std::int32_t cut = origin + tiles * tile;
    if (cut <= first) return first;
    return std::min(cut, last);
}

}  // namespace

SplitPlan split_plan(std::span<const std::int32_t> lengths, const SplitOptions& options) {
    SplitPlan plan{.segments = {}, .first = {0}, .partials = 0, .sequences = 0};
    const std::int64_t total = total_tokens(lengths, options);
    const std::int64_t pieces = std::clamp<std::int64_t>(total / options.least_tokens, 1, options.blocks);
    std::int64_t before = 0;  // number of tokens of all earlier sequences
    std::int64_t piece = 0;
    const auto end_of = [&](std::int64_t index) { return total * (index + 1) / pieces; };
    const auto close_piece = [&] {
        ++piece;
        plan.first.push_back(static_cast<std::int32_t>(plan.segments.size()));
    };
    for (std::size_t request = 0; request < lengths.size(); ++request) {
        const std::int32_t first = window_begin(lengths[request], options.window);
        const std::int32_t last = lengths[request];
        for (std::int32_t head = 0; head < options.heads; ++head) {
            const std::size_t begin = plan.segments.size();
            for (std::int32_t at = first; at < last;) {
                const bool last_piece = piece + 1 == pieces;
                const std::int32_t cut =
                    last_piece ? last
                               : allowed_cut(end_of(piece) - before + first, first, last, options.tile);
                if (cut > at) {
                    plan.segments.push_back({.request = static_cast<std::int32_t>(request),
                                             .head = head,
                                             .first = at,
                                             .last = cut,
                                             .partial = static_cast<std::int32_t>(plan.segments.size()),
                                             .begin = static_cast<std::int32_t>(begin),
                                             .partials = 0,
                                             .sequence = plan.sequences});
                    at = cut;
                }
                if (!last_piece && (at < last || before + last - first >= end_of(piece))) close_piece();
            }
            for (std::size_t i = begin; i < plan.segments.size(); ++i) {
                plan.segments[i].partials = static_cast<std::int32_t>(plan.segments.size() - begin);
            }
            ++plan.sequences;
            before += last - first;
        }
    }
    while (piece < pieces) close_piece();
    plan.partials = static_cast<std::int32_t>(plan.segments.size());
    return plan;
}

}  // namespace paretoken::microbench::gpu
