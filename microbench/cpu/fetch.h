#pragma once
// The variants of software prefetching that a kernel can have. The fastest one depends on the CPU, so a row
// of the micro benchmark tries every variant that its kernel has, and measures the fastest.
#include <cstddef>

namespace paretoken::microbench {

/// `l1` prefetches a line into L1, 8 KiB ahead of the read. `l2` prefetches it twice: into L2, 16 KiB ahead
/// of the read, because L2 allows more outstanding lines than L1, and later into L1, 2 KiB ahead. These
/// distances hold for contiguous streams. Attention over a paged KV cache instead prefetches the half of a
/// block (its K or its V) that is used at least 8 KiB later (to_coming_half() in
/// microbench/cpu/attention/attention_block.h). There `l1` prefetches into L1, and `l2` into L2 only.
enum class Fetch { none, l1, l2 };
inline constexpr Fetch kFetches[] = {Fetch::none, Fetch::l1, Fetch::l2};
inline constexpr std::size_t kAheadInL1 = 8192;
inline constexpr std::size_t kFarAhead = 16384;
inline constexpr std::size_t kNearAhead = 2048;

/// Returns how many bytes ahead of the read a line of a contiguous stream is first prefetched; 0 if it is not
/// prefetched.
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

/// Prefetches the lines ahead of `line`, the line of 64 bytes that is read. Kernels call it for lines that
/// are not read by a dot product with a prefetch of its own (dot_bytes() and dot_pairs() in
/// microbench/cpu/vectors.h): scales, and the weights of f16.
[[gnu::always_inline]] inline void fetch_ahead(const std::byte* line, Fetch fetch) {
    if (fetch == Fetch::l1) __builtin_prefetch(line + kAheadInL1);
    if (fetch != Fetch::l2) return;
    __builtin_prefetch(line + kFarAhead, 0, 2);
    __builtin_prefetch(line + kNearAhead);
}

}  // namespace paretoken::microbench
