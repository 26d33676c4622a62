#pragma once
// The ways in which a kernel prefetches its stream. The fastest one depends on the CPU, so rows
// try them all.
#include <cstddef>

namespace paretoken::microbench {

/// l1: 8 KiB ahead into L1. l2: 16 KiB ahead into L2, which allows more outstanding lines than L1, and from
/// there 2 KiB ahead into L1.
enum class Fetch { none, l1, l2 };
inline constexpr Fetch kFetches[] = {Fetch::none, Fetch::l1, Fetch::l2};
inline constexpr std::size_t kAheadInL1 = 8192;
inline constexpr std::size_t kFarAhead = 16384;
inline constexpr std::size_t kNearAhead = 2048;

/// The bytes between a read and its first prefetch; 0: there is none.
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

/// Prefetches ahead of a line of 64 bytes. For kernels without a dot product to combine the prefetch with.
[[gnu::always_inline]] inline void fetch_ahead(const std::byte* line, Fetch fetch) {
    if (fetch == Fetch::l1) __builtin_prefetch(line + kAheadInL1);
    if (fetch != Fetch::l2) return;
    __builtin_prefetch(line + kFarAhead, 0, 2);
    __builtin_prefetch(line + kNearAhead);
}

}  // namespace paretoken::microbench
