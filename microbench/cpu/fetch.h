#pragma once
// The variants of software prefetching that a kernel can have. The fastest one depends on the CPU, so a row
// of the micro benchmark tries every variant that its kernel has, and measures the fastest.
#include <cstddef>

namespace paretoken::microbench {

/// For contiguous streams `l1` prefetches a line into L1, 8 KiB ahead; `l2` into L2, 16 KiB ahead, because L2
/// allows more outstanding lines, and later into L1, 2 KiB ahead. Over a paged KV cache they prefetch the
/// half of a block that is used at least 8 KiB later, into L1 or L2 only.
enum class Fetch { none, l1, l2 };
inline constexpr Fetch kFetches[] = {Fetch::none, Fetch::l1, Fetch::l2};
inline constexpr std::size_t kAheadInL1 = 8192;
inline constexpr std::size_t kFarAhead = 16384;
inline constexpr std::size_t kNearAhead = 2048;

/// Returns the bytes ahead at which a contiguous stream's line is first prefetched; 0 if never.
constexpr std::size_t distance_of(Fetch fetch) {
    switch (fetch) {
        case Fetch::none:
            break;
        case Fetch::l1:
            return kAheadInL1;
        case Fetch::l2:
            return kFarAhead;
    }
    return 0;
}

/// Prefetches ahead of `line` where no dot product does: scales, and the weights of f16.
[[gnu::always_inline]] inline void fetch_ahead(const std::byte* line, Fetch fetch) {
    if (fetch == Fetch::l1) __builtin_prefetch(line + kAheadInL1);
    if (fetch != Fetch::l2) return;
    __builtin_prefetch(line + kFarAhead, 0, 2);
    __builtin_prefetch(line + kNearAhead);
}

}  // namespace paretoken::microbench
