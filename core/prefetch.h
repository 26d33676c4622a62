#pragma once
// Prefetches memory, so that the state of one of thousands of streams is in the cache when its bytes are
// processed. It changes only the time of the first access.
#include <cstddef>

namespace paretoken {

/// Prefetches the cache lines of `bytes` bytes for writing. If `begin` is not at the start of a cache line,
/// the last line may be left out.
inline void prefetch(const void* begin, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    const auto* const at = static_cast<const char*>(begin);
    for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i, 1);
}

}  // namespace paretoken
