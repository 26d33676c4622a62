#pragma once
// Plans which thread block of a decode attention kernel reads which tokens. The token ranges of all sequences
// are concatenated and cut into pieces of almost equal length, at most one for each thread block that the
// device runs at the same time. A piece may end in the middle of a sequence; the next piece then continues
// that sequence. Planning happens before anything is timed. The functions are pure.
#include <cstdint>
#include <span>
#include <vector>

namespace paretoken::microbench::gpu {

/// The tokens [first, last) of one sequence that one thread block reads before it writes a result. A sequence
/// is the range of tokens of one request that one head tile attends to. A head tile is a group of query rows
/// that share a KV head: 16 query heads, or up to 64 rows if there are several query tokens. The result of a
/// segment is called partial, even if the segment is the whole sequence.
struct Segment {
    std::int32_t request = 0;
    std::int32_t head = 0;  ///< index of the head tile: KV head · tiles per KV head + tile
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t partial = 0;  ///< index of its partial result among all partial results
    std::int32_t begin = 0;    ///< index of the first partial result of its sequence
    std::int32_t partials =
        0;  ///< number of partial results of its sequence; 1 means that there is nothing to combine
    std::int32_t sequence = 0;  ///< request · heads + head: index of the counter of finished partial results

    bool operator==(const Segment&) const = default;
};

struct SplitPlan {
    std::vector<Segment> segments;    ///< in the order of the pieces
    std::vector<std::int32_t> first;  ///< [pieces + 1]: piece i has the segments first[i] … first[i + 1] - 1
    std::int32_t partials = 0;        ///< number of partial results, one per segment
    std::int32_t sequences = 0;

    bool operator==(const SplitPlan&) const = default;
    std::size_t pieces() const { return first.size() - 1; }
};

struct SplitOptions {
    std::int32_t heads = 1;   ///< head tiles per request
    std::int32_t window = 0;  ///< only this many of the last tokens are read; 0 means all
    /// Cuts lie at multiples of this number of tokens, counted from the start of a sequence (see split_plan).
    std::int32_t tile = 64;
    std::int32_t least_tokens = 256;  ///< shortest mean piece; short batches have fewer pieces
    std::int32_t blocks = 1;          ///< number of thread blocks that run at the same time
};

/// Cuts the sequences into pieces. `lengths` are the tokens of each request, each ≥ 1. A cut within a
/// sequence is a multiple of `options.tile` tokens after its first token rounded down to a multiple of 16,
/// so that no group of 16 tokens crosses a page. `Segment::first` of the first segment of a sequence is not
/// rounded. A piece may be empty.
SplitPlan split_plan(std::span<const std::int32_t> lengths, const SplitOptions& options);

}  // namespace paretoken::microbench::gpu
