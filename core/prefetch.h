#pragma once
// Prefetches memory, so that the state of one of thousands of streams is in the cache when its bytes are
// processed. It changes only the time of the first access.
#include <cstddef>

namespace paretoken {

/// Prefetches `bytes` bytes for writing; the last line may be left out if `begin` is inside a line.
inline void prefetch(const void* begin, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    const auto* const at = static_cast<const char*>(begin);
    for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i, 1);
}

}  // namespace paretoken
