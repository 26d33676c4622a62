#include "microbench/cpu/read.h"

#include <cstring>

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr std::size_t kAhead = 4096;
constexpr std::size_t kGrain = 1024;  // four streams of 256 bytes

std::uint64_t read_scalar(const std::byte* data, std::size_t size, const std::byte*) {
    std::uint64_t seen[8]{};
    for (std::size_t at = 0; at < size; at += 64) {
        std::uint64_t words[8];
        std::memcpy(words, data + at, sizeof words);
        for (int i = 0; i < 8; ++i) seen[i] |= words[i];
    }
    std::uint64_t all = 0;
    for (const std::uint64_t part : seen) all |= part;
    return all;
}

#if defined(PARETOKEN_X86)

enum class Order { one_stream, prefetched, four_streams, foreseen };

/// Return the distance between the four loads of a step, and the begin of step `at`.
template <Order order, std::size_t width>
constexpr std::size_t stride_of(std::size_t size) {
    return order == Order::four_streams ? size / 4 : width;
}

template <Order order>
__attribute__((target(PARETOKEN_AVX2))) std::uint64_t read_avx2(const std::byte* data, std::size_t size,
                                                                [[maybe_unused]] const std::byte* coming) {
    const std::size_t stride = stride_of<order, 32>(size);
    const std::size_t step = order == Order::four_streams ? 32 : 128;
    const std::size_t end = order == Order::four_streams ? stride : size;
    __m256i seen[4] = {};
    for (std::size_t at = 0; at < end; at += step) {
        if constexpr (order == Order::prefetched) {
            __builtin_prefetch(data + at + kAhead);
            __builtin_prefetch(data + at + kAhead + 64);
        }
        if constexpr (order == Order::foreseen) {
            __builtin_prefetch(coming + at, 0, 2);
            __builtin_prefetch(coming + at + 64, 0, 2);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            const auto* from = reinterpret_cast<const __m256i*>(data + at + i * stride);
            seen[i] = _mm256_or_si256(seen[i], _mm256_load_si256(from));
        }
    }
    const __m256i all = _mm256_or_si256(_mm256_or_si256(seen[0], seen[1]), _mm256_or_si256(seen[2], seen[3]));
    alignas(32) std::uint64_t words[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(words), all);
    return words[0] | words[1] | words[2] | words[3];
}

template <Order order>
__attribute__((target(PARETOKEN_AVX512))) std::uint64_t read_avx512(
    const std::byte* data, std::size_t size, [[maybe_unused]] const std::byte* coming) {
    const std::size_t stride = stride_of<order, 64>(size);
    const std::size_t step = order == Order::four_streams ? 64 : 256;
    const std::size_t end = order == Order::four_streams ? stride : size;
    __m512i seen[4] = {};
    for (std::size_t at = 0; at < end; at += step) {
        for (std::size_t i = 0; i < 4; ++i) {
            if constexpr (order == Order::prefetched) __builtin_prefetch(data + at + kAhead + 64 * i);
            if constexpr (order == Order::foreseen) __builtin_prefetch(coming + at + 64 * i, 0, 2);
            seen[i] = _mm512_or_si512(seen[i], _mm512_load_si512(data + at + i * stride));
        }
    }
    const __m512i all = _mm512_or_si512(_mm512_or_si512(seen[0], seen[1]), _mm512_or_si512(seen[2], seen[3]));
    return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(all));
}

/// Reads in steps of 32 bytes and four times 64, unaligned.
__attribute__((target(PARETOKEN_AVX512))) std::uint64_t read_uneven(const std::byte* data, std::size_t size,
                                                                    const std::byte*) {
    constexpr std::size_t kStep = 288;
    __m512i seen = _mm512_setzero_si512();
    __m256i heads = _mm256_setzero_si256();
    std::size_t at = 0;
    for (; at + kStep <= size; at += kStep) {
        heads = _mm256_or_si256(heads, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + at)));
        for (std::size_t i = 0; i < 4; ++i) {
            seen = _mm512_or_si512(seen, _mm512_loadu_si512(data + at + 32 + 64 * i));
        }
    }
    seen = _mm512_or_si512(seen, _mm512_castsi256_si512(heads));
    const std::size_t rest = (size - at + 63) / 64 * 64;  // the last bytes are read twice
    return static_cast<std::uint64_t>(_mm512_reduce_or_epi64(seen)) |
           read_scalar(data + size - rest, rest, data);
}

constexpr ReadVariant kAvx512[] = {{"plain", Isa::avx512, read_avx512<Order::one_stream>},
                                   {"prefetch 4 KiB", Isa::avx512, read_avx512<Order::prefetched>},
                                   {"four streams", Isa::avx512, read_avx512<Order::four_streams>, 4},
                                   {"uneven steps", Isa::avx512, read_uneven},
                                   {"foreseen", Isa::avx512, read_avx512<Order::foreseen>}};
constexpr ReadVariant kAvx2[] = {{"plain", Isa::avx2, read_avx2<Order::one_stream>},
                                 {"prefetch 4 KiB", Isa::avx2, read_avx2<Order::prefetched>},
                                 {"four streams", Isa::avx2, read_avx2<Order::four_streams>, 4},
                                 {"foreseen", Isa::avx2, read_avx2<Order::foreseen>}};
#endif

constexpr ReadVariant kScalar[] = {{"plain", Isa::scalar, read_scalar}};

}  // namespace

std::span<const ReadVariant> read_variants(Isa isa) {
#if defined(PARETOKEN_X86)
    if (isa >= Isa::avx512) return kAvx512;
    if (isa == Isa::avx2) return kAvx2;
#endif
    static_cast<void>(isa);
    return kScalar;
}

std::span<const std::byte> readable_part(const std::byte* data, std::size_t size) {
    const std::size_t skip = (64 - reinterpret_cast<std::uintptr_t>(data) % 64) % 64;
    if (size < skip) return {data, 0};
    return {data + skip, (size - skip) / kGrain * kGrain};
}

}  // namespace paretoken::microbench
