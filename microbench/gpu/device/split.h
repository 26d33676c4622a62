#pragma once
// Who reads which tokens: the token ranges of all sequences, laid end to end, are cut into pieces of equal
// length, one per thread block that fits on the device at once. A piece may end in the middle of a sequence;
// what is left of it goes into the next. Planning happens before anything is timed. Pure.
#include <cstdint>
#include <span>
#include <vector>

namespace paretoken::microbench::gpu {

/// What one thread block reads of one sequence before it writes a result: tokens [first, last). A sequence is
/// what one tile of 16 query heads sees of one request.
struct Segment {
    std::int32_t request = 0;
    std::int32_t head = 0;  ///< KV head · tiles per KV head + tile
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t partial = 0;   ///< where its partial result goes among all partials
    std::int32_t begin = 0;     ///< first partial of its sequence
    std::int32_t partials = 0;  ///< how many its sequence has; 1: it is the whole, nothing to combine
    std::int32_t sequence = 0;  ///< request · heads + head: whose counter to raise

    bool operator==(const Segment&) const = default;
};

struct SplitPlan {
    std::vector<Segment> segments;    ///< in the order of the pieces
    std::vector<std::int32_t> first;  ///< [pieces + 1]: a piece's segments
    std::int32_t partials = 0;
    std::int32_t sequences = 0;

    bool operator==(const SplitPlan&) const = default;
    std::size_t pieces() const { return first.size() - 1; }
};

struct SplitOptions {
    std::int32_t heads = 1;           ///< head tiles per request
    std::int32_t window = 0;          ///< only the last so many tokens count; 0: all
    std::int32_t tile = 64;           ///< cuts lie a multiple of it from the sequence's first token
    std::int32_t least_tokens = 256;  ///< per piece; fewer pieces rather than shorter ones
    std::int32_t blocks = 1;          ///< thread blocks that run at once
};

/// `lengths` are tokens per request, each ≥ 1. A request's first token read is rounded down to a multiple of
/// 16, so that no group of 16 tokens crosses a page; `Segment::first` of a sequence's first segment is exact.
SplitPlan split_plan(std::span<const std::int32_t> lengths, const SplitOptions& options);

}  // namespace paretoken::microbench::gpu
