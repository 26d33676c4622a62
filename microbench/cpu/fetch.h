#pragma once
// How a kernel fetches what it streams ahead of use. Which way is the fastest depends on the CPU, so that
// rows try them all.
#include <cstddef>

namespace paretoken::microbench {

/// l1: 8 KiB ahead into L1. l2: 16 KiB ahead into L2, where more lines can be waited for than in L1, and from
/// there 2 KiB ahead into L1.
enum class Fetch { none, l1, l2 };
inline constexpr Fetch kFetches[] = {Fetch::none, Fetch::l1, Fetch::l2};
inline constexpr std::size_t kAheadInL1 = 8192;
inline constexpr std::size_t kFarAhead = 16384;
inline constexpr std::size_t kNearAhead = 2048;

}  // namespace paretoken::microbench
