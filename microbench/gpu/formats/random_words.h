#pragma once
// Turns random bits into 32-bit words of codes and of scales that are legal for their format. Weight kernels
// use them as operands, on a GPU and in tests. The words are not all zeros, because a GPU moves zeros faster.
#include <cstdint>

#include "microbench/gpu/formats/dtypes.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// Returns random bits for the element with index `place`: the finalizer of splitmix64 (Steele, Lea, Flood
/// 2014) applied to the seed and the index.
PARETOKEN_HOST_DEVICE inline std::uint64_t random_bits_at(std::uint64_t seed, std::uint64_t place) {
    std::uint64_t x = seed + (place + 1) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// Return the code of a random number of either sign with a magnitude in [2^-7, 1).
PARETOKEN_HOST_DEVICE inline std::uint16_t random_bf16_of(std::uint32_t bits) {
    return static_cast<std::uint16_t>((bits & 0x8000U) | (120 + (bits >> 16) % 7) << 7 | (bits & 0x7fU));
}
PARETOKEN_HOST_DEVICE inline std::uint16_t random_fp16_of(std::uint32_t bits) {
    return static_cast<std::uint16_t>((bits & 0x8000U) | (8 + (bits >> 16) % 7) << 10 | (bits & 0x3ffU));
}
/// Returns a word of random codes. No code is an infinity or NaN.
PARETOKEN_HOST_DEVICE inline std::uint32_t random_code_word(WeightFormat format, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    switch (traits_of(format).kind) {
        case CodeKind::bf16:
            return random_bf16_of(low) | std::uint32_t{random_bf16_of(high)} << 16;
        case CodeKind::fp16:
            return random_fp16_of(low) | std::uint32_t{random_fp16_of(high)} << 16;
        case CodeKind::e4m3: {
            std::uint32_t word = low;
            for (int i = 0; i < 32; i += 8) {
                if (!is_finite_e4m3(word >> i & 0xff)) word ^= 1U << i;
            }
            return word;
        }
        case CodeKind::offset_integer:
        case CodeKind::e2m1:
            return low;
    }
    return low;
}
/// Returns a word of random scales: a float in [2^-7, 2^-6), two fp16 in that range, or four e8m0 in 2^-9 …
/// 2^-5.
PARETOKEN_HOST_DEVICE inline std::uint32_t random_scale_word(WeightFormat format, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    switch (scale_of(format)) {
        case WeightScale::none:
        case WeightScale::row_float:
            return 0x3c000000U | (low & 0x007fffffU);
        case WeightScale::group_fp16:
            return 0x20002000U | (low & 0x03ff03ffU);
        case WeightScale::group_e8m0: {
            std::uint32_t word = 0;
            for (int i = 0; i < 4; ++i) word |= (118 + (low >> (8 * i) & 0xff) % 5) << (8 * i);
            return word;
        }
    }
    return low;
}

}  // namespace paretoken::microbench::gpu
