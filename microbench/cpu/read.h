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

/// Reads `size` bytes of `data`, and returns a number without meaning that depends on all of them, so that
/// no read can be left out. `data` is aligned to 64 bytes and `size` is a multiple of 1 KiB. `coming` is
/// equally much memory that is read some KiB later, which may be prefetched; it is `data` itself if that is
/// unknown.
using Read = std::uint64_t (*)(const std::byte* data, std::size_t size, const std::byte* coming);

struct ReadVariant {
    std::string_view name;
    Isa isa = Isa::scalar;
    Read read = nullptr;
    std::size_t streams = 1;  ///< number of streams that are read side by side
};

/// Returns the variants for one instruction set. Scalar code has one: a plain stream. AVX2 adds a stream
/// with a prefetch 4 KiB ahead, four streams side by side, and a stream that prefetches `coming` into L2
/// (for pages in random order, where the hardware cannot predict the next page but a page table gives it).
/// AVX-512 adds a stream in the uneven steps of packed blocks, which is about 5 % faster on Zen 4 than the
/// plain stream. AMX has the variants of AVX-512.
std::span<const ReadVariant> read_variants(Isa isa);

/// Returns the part of some memory that a Read accepts: aligned, whole KiB.
std::span<const std::byte> readable_part(const std::byte* data, std::size_t size);

}  // namespace paretoken::microbench
