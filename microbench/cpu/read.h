#pragma once
// The read ceiling: the fastest known way to read memory through one core's load ports, without computing. It
// must not be slower than any kernel's own access pattern.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "microbench/cpu/isa.h"

namespace paretoken::microbench {

/// Reads `size` bytes of `data`, a multiple of 1 KiB and aligned to 64 bytes, and returns a number that
/// depends on all of them. `coming` is as much memory that is read some KiB later, or `data`.
using Read = std::uint64_t (*)(const std::byte* data, std::size_t size, const std::byte* coming);

struct ReadVariant {
    std::string_view name;
    Isa isa = Isa::scalar;
    Read read = nullptr;
    std::size_t streams = 1;  ///< number of streams that are read side by side
};

/// Returns the variants for one instruction set: a plain stream, and from AVX2 on streams with a prefetch,
/// several side by side, or a prefetch of `coming` for pages in random order. AVX-512 adds the uneven steps
/// of packed blocks, which are about 5 % faster on Zen 4; AMX has its variants.
std::span<const ReadVariant> read_variants(Isa isa);

/// Returns the part of some memory that a Read accepts: aligned, whole KiB.
std::span<const std::byte> readable_part(const std::byte* data, std::size_t size);

}  // namespace paretoken::microbench
