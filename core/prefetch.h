#pragma once
// Prefetches memory, such as a stream's state before its bytes are processed.
#include <cstddef>

namespace paretoken {

/// Prefetches `bytes` bytes for writing; the last line may be left out if `begin` is inside a line.
inline void prefetch(const void* begin, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    const auto* const at = static_cast<const char*>(begin);
    for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i, 1);
}

}  // namespace paretoken
