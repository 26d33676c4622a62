#pragma once
// Decides which words a thread of a ceiling kernel works on. A word has 16 bytes, which a thread loads at
// once. All threads together visit each word exactly once. Compiles with and without CUDA.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/ceilings/ceilings.h"
#include "microbench/gpu/host_device.h"
#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

inline constexpr int kWalkThreads = 512;  ///< threads of a block
/// Loads that a thread starts before it waits for the first one. With three blocks per multiprocessor, 96 KiB
/// per multiprocessor are then under way.
inline constexpr int kInFlight = 4;

/// One thread of `blocks` · kWalkThreads threads.
struct Walker {
    std::uint32_t block = 0;
    std::uint32_t blocks = 1;
    std::uint32_t thread = 0;

    bool operator==(const Walker&) const = default;
};

/// Calls `visit(i, load(i))` for each word i of the thread, with kInFlight loads at a time. `words` is the
/// number of all words, which is below 2^32. kAccess is `strided` or `shares`.
template <Access kAccess, class Load, class Visit>
PARETOKEN_HOST_DEVICE inline void walk(const Walker& walker, std::size_t words, Load load, Visit visit) {
    const EvenShares shares = EvenShares::of(static_cast<std::uint32_t>(words), walker.blocks);
    const std::size_t first = kAccess == Access::shares
                                  ? shares.first(walker.block)
                                  : static_cast<std::size_t>(walker.block) * kWalkThreads * kInFlight;
    const std::size_t end = kAccess == Access::shares ? shares.first(walker.block + 1) : words;
    const std::size_t step = kAccess == Access::shares
                                 ? kWalkThreads * kInFlight
                                 : static_cast<std::size_t>(walker.blocks) * kWalkThreads * kInFlight;
    for (std::size_t at = first + walker.thread; at < end; at += step) {
        if (at + (kInFlight - 1) * kWalkThreads < end) {
            decltype(load(at)) loaded[kInFlight];
            PARETOKEN_UNROLL
            for (int i = 0; i < kInFlight; ++i) loaded[i] = load(at + i * kWalkThreads);
            PARETOKEN_UNROLL
            for (int i = 0; i < kInFlight; ++i) visit(at + i * kWalkThreads, loaded[i]);
        } else {
            for (std::size_t i = at; i < end; i += kWalkThreads) visit(i, load(i));
        }
    }
}

}  // namespace paretoken::microbench::gpu
