#pragma once
// The read ceiling: the fastest way found to pull memory through one core's load ports, without doing
// anything with it. Every kernel is held against it, so it must not be slower than any kernel's own access
// pattern.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "microbench/cpu/isa.h"

namespace paretoken::microbench {

/// Reads whole KiB of `data`; the result depends on all of them. `data` is aligned to 64. `coming` is what
/// will be read some KiB later, as far as it is known (`data` itself where it is not), and may be fetched.
using Read = std::uint64_t (*)(const std::byte* data, std::size_t size, const std::byte* coming);

struct ReadVariant {
    std::string_view name;
    Isa isa = Isa::scalar;
    Read read = nullptr;
};

/// Those of one instruction set: one stream, one stream with a prefetch 4 KiB ahead, four streams side by
/// side, one stream in the uneven steps of packed blocks (on Zen 4 some 5 % faster than the first, for want
/// of a full queue), and one stream that fetches what is coming into L2 (pages in random order: no hardware
/// foresees a jump, but a page table does).
std::span<const ReadVariant> read_variants(Isa isa);

/// The part of a stretch of memory that a Read may be given: aligned, whole KiB.
std::span<const std::byte> readable_part(const std::byte* data, std::size_t size);

}  // namespace paretoken::microbench
