#pragma once
// The read ceiling: the fastest known way to read memory through one core's load ports, without
// computing. Every kernel is compared with it, so it must not be slower than any kernel's own access
// pattern.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "microbench/cpu/isa.h"

namespace paretoken::microbench {

/// Reads whole KiB of `data`; the result depends on all of them. `data` is aligned to 64. `coming` is the
/// memory to be read some KiB later (`data` itself if unknown), which may be prefetched.
using Read = std::uint64_t (*)(const std::byte* data, std::size_t size, const std::byte* coming);

struct ReadVariant {
    std::string_view name;
    Isa isa = Isa::scalar;
    Read read = nullptr;
    std::size_t streams = 1;  ///< read side by side
};

/// Returns the variants of one instruction set: one stream, one stream with a prefetch 4 KiB ahead, four
/// streams side by side, one stream in the uneven steps of packed blocks (on Zen 4 about 5 % faster than the
/// first, because a queue does not fill), and one stream that prefetches `coming` into L2 (for pages in
/// random order: no hardware predicts a jump, but a page table gives it).
std::span<const ReadVariant> read_variants(Isa isa);

/// Returns the part of some memory that a Read accepts: aligned, whole KiB.
std::span<const std::byte> readable_part(const std::byte* data, std::size_t size);

}  // namespace paretoken::microbench
