#pragma once
// The steps that the x86 kernels share. Each function declares its target, so that a caller of the same
// target inlines it. The dot products are asm because g++ 12 spills the accumulators of intrinsics.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // of g++ 12, inside its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "microbench/cpu/fetch.h"
#include "microbench/cpu/isa.h"

#define PARETOKEN_INLINE_AVX2 __attribute__((target(PARETOKEN_AVX2), always_inline)) inline
#define PARETOKEN_INLINE_AVX512 __attribute__((target(PARETOKEN_AVX512), always_inline)) inline

namespace paretoken::microbench {

PARETOKEN_INLINE_AVX2 float sum_of(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

PARETOKEN_INLINE_AVX2 void prefetch_two(const std::byte* at) {
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
}

PARETOKEN_INLINE_AVX2 float scalar_of_f16(const std::byte* half) {
    std::uint16_t bits;
    std::memcpy(&bits, half, sizeof bits);
    return _cvtsh_ss(bits);
}

PARETOKEN_INLINE_AVX2 __m256 halves_as_floats(const std::byte* halves) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
}

/// Returns per 32-bit lane the sum of four products of signed bytes w · x; `magnitude` must hold |w|. With
/// |w| ≤ 128 and |x| ≤ 127, vpmaddubsw does not saturate (at most 32,512).
PARETOKEN_INLINE_AVX2 __m256i dot_signed(__m256i w, __m256i magnitude, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/// Stores the first `rows` (at most 16) values of two registers.
PARETOKEN_INLINE_AVX2 void store_rows(float* y, std::size_t rows, __m256 low, __m256 high) {
    if (rows >= 16) {
        _mm256_storeu_ps(y, low);
        _mm256_storeu_ps(y + 8, high);
        return;
    }
    float all[16];
    _mm256_storeu_ps(all, low);
    _mm256_storeu_ps(all + 8, high);
    std::memcpy(y, all, rows * sizeof(float));
}

/// Stores the first `rows` (at most 32) values of four registers.
PARETOKEN_INLINE_AVX2 void store_rows(float* y, std::size_t rows, const __m256 (&all)[4]) {
    store_rows(y, rows, all[0], all[1]);
    if (rows > 16) store_rows(y + 16, rows - 16, all[2], all[3]);
}

/// Loads the f16 scales with which four blocks begin that are `stride` bytes apart, as floats.
PARETOKEN_INLINE_AVX512 __m128 four_halves(const std::byte* block, std::size_t stride) {
    std::uint16_t bits[4];
    for (std::size_t i = 0; i < 4; ++i) std::memcpy(&bits[i], block + i * stride, 2);
    __m128i halves = _mm_cvtsi32_si128(bits[0]);
    halves = _mm_insert_epi16(halves, bits[1], 1);
    halves = _mm_insert_epi16(halves, bits[2], 2);
    halves = _mm_insert_epi16(halves, bits[3], 3);
    return _mm_cvtph_ps(halves);
}

PARETOKEN_INLINE_AVX512 __m512i two_lanes(const std::byte* low, const std::byte* high) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(low));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/// Loads 16 bytes from each of four places `stride` bytes apart.
PARETOKEN_INLINE_AVX512 __m512i four_lanes(const std::byte* at, std::size_t stride) {
    __m128i lane[4];
    for (std::size_t i = 0; i < 4; ++i)
        lane[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i * stride));
    __m512i all = _mm512_castsi128_si512(lane[0]);
    all = _mm512_inserti32x4(all, lane[1], 1);
    all = _mm512_inserti32x4(all, lane[2], 2);
    return _mm512_inserti32x4(all, lane[3], 3);
}

#define PARETOKEN_FETCHING_L1 : "+v"(sum) : "v"(w), "v"(x), "m"(*(line + kAheadInL1))
#define PARETOKEN_FETCHING_L2 : "+v"(sum) : "v"(w), "v"(x), "m"(*(line + kFarAhead)), "m"(*(line + kNearAhead))

/// Returns per 32-bit lane: sum + Σ of four products of unsigned w and signed x.
PARETOKEN_INLINE_AVX512 __m512i dot_bytes(__m512i sum, __m512i w, __m512i x) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
}
/// Returns dot_bytes(sum, w, x), and just before that prefetches ahead of `line` as `fetch` says. The
/// compiler would collect separate prefetches into bursts, which then wait for each other.
PARETOKEN_INLINE_AVX512 __m512i dot_bytes(__m512i sum, __m512i w, __m512i x, const std::byte* line,
                                          Fetch fetch) {
    if (fetch == Fetch::l1) asm("prefetcht0 %3\n\tvpdpbusd %2, %1, %0" PARETOKEN_FETCHING_L1);
    if (fetch == Fetch::l2)
        asm("prefetcht1 %3\n\tprefetcht0 %4\n\tvpdpbusd %2, %1, %0" PARETOKEN_FETCHING_L2);
    return fetch == Fetch::none ? dot_bytes(sum, w, x) : sum;
}

/// Returns per 32-bit lane: sum + two products of bf16.
PARETOKEN_INLINE_AVX512 __m512 dot_pairs(__m512 sum, __m512i w, __m512i x) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
}
PARETOKEN_INLINE_AVX512 __m512 dot_pairs(__m512 sum, __m512i w, __m512i x, const std::byte* line,
                                         Fetch fetch) {
    if (fetch == Fetch::l1) asm("prefetcht0 %3\n\tvdpbf16ps %2, %1, %0" PARETOKEN_FETCHING_L1);
    if (fetch == Fetch::l2)
        asm("prefetcht1 %3\n\tprefetcht0 %4\n\tvdpbf16ps %2, %1, %0" PARETOKEN_FETCHING_L2);
    return fetch == Fetch::none ? dot_pairs(sum, w, x) : sum;
}
#undef PARETOKEN_FETCHING_L1
#undef PARETOKEN_FETCHING_L2
PARETOKEN_INLINE_AVX512 __m512 dot_pairs_broadcast(__m512 sum, __m512i w, const std::uint32_t* x) {
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(w), "m"(*x));
    return sum;
}

/// Returns a mask of the first `rows` lanes, at most 16.
PARETOKEN_INLINE_AVX512 __mmask16 rows_mask(std::size_t rows) {
    return static_cast<__mmask16>(rows >= 16 ? 0xffff : (1U << rows) - 1);
}

/// Stores the first `rows` (at most 32) values of two registers.
PARETOKEN_INLINE_AVX512 void store_rows(float* y, std::size_t rows, __m512 low, __m512 high) {
    _mm512_mask_storeu_ps(y, rows_mask(rows), low);
    if (rows > 16) _mm512_mask_storeu_ps(y + 16, rows_mask(rows - 16), high);
}

PARETOKEN_INLINE_AVX512 __m512 sixteen_halves(const std::byte* halves) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
}

}  // namespace paretoken::microbench
