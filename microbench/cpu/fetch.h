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

}  // namespace paretoken::microbench
