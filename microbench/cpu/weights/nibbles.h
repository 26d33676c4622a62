#pragma once
// The order of the nibbles in a packed panel (32 rows of weights that are stored together), which q4_0, q4_1
// and q4_k share. 32 nibbles of each row are stored as [4 lines][32 rows][4] bytes. Byte j of a row in line i
// holds weight 8i + j in its low half and weight 8i + 4 + j in its high half.
#include <cstddef>
#include <cstdint>

#include "microbench/cpu/weights/weights.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {

inline constexpr std::size_t kNibbleLine = 4 * kPanel;       // bytes of eight nibbles of each row
inline constexpr std::size_t kNibblePart = 4 * kNibbleLine;  // bytes of 32 nibbles of each row

/// Returns the byte of nibble `i` of `row`; it is in the low or the high half.
constexpr std::size_t nibble_place(std::size_t row, std::size_t i) {
    return i / 8 * kNibbleLine + row * 4 + i % 4;
}
constexpr bool nibble_is_high(std::size_t i) {
    return i % 8 >= 4;
}

inline int nibble_of(std::byte both, bool high) {
    return std::to_integer<int>(high ? both >> 4 : both & std::byte{0x0f});
}

/// Writes a nibble into its half of a byte. That half must be zero before.
inline void place_nibble(std::byte* part, std::size_t row, std::size_t i, unsigned nibble) {
    part[nibble_place(row, i)] |= static_cast<std::byte>(nibble_is_high(i) ? nibble << 4 : nibble);
}

/// Returns Σ of a row's 32 nibbles times x.
inline int dot_of_nibbles(const std::byte* part, std::size_t row, const std::int8_t* x) {
    int dot = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
        dot += nibble_of(part[nibble_place(row, i)], nibble_is_high(i)) * x[i];
    return dot;
}

#if defined(PARETOKEN_X86)

PARETOKEN_INLINE_AVX2 __m256i low_nibbles(__m256i both) {
    return _mm256_and_si256(both, _mm256_set1_epi8(0x0f));
}
PARETOKEN_INLINE_AVX2 __m256i high_nibbles(__m256i both) {
    return low_nibbles(_mm256_srli_epi16(both, 4));
}
PARETOKEN_INLINE_AVX512 __m512i low_nibbles(__m512i both) {
    return _mm512_and_si512(both, _mm512_set1_epi8(0x0f));
}
PARETOKEN_INLINE_AVX512 __m512i high_nibbles(__m512i both) {
    return low_nibbles(_mm512_srli_epi16(both, 4));
}

/// Multiplies 32 nibbles of each of 8 · kRegisters rows, from row 8 · `from` on, by x, for every member of a
/// batch. Sets pairs[b][r] to 16-bit sums (at most 16 · 15 · 127) for member b and eight rows, two
/// neighbouring lanes each. `quads` is [8, kBatch], four bytes of x in each element.
template <int kBatch, int kRegisters>
PARETOKEN_INLINE_AVX2 void pairs_of_nibbles(const std::byte* part, int from, const std::int32_t* quads,
                                            __m256i (&pairs)[kBatch][kRegisters]) {
    constexpr std::size_t kAhead = 4096;
    for (auto& of_one : pairs)
        for (__m256i& sum : of_one) sum = _mm256_setzero_si256();
    for (int two = 0; two < 4; ++two, part += kNibbleLine, quads += 2 * kBatch) {
        if (from == 0) prefetch_two(part + kAhead);
        for (int r = 0; r < kRegisters; ++r) {
            const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(part + (from + r) * 32));
            const __m256i low = low_nibbles(both);
            const __m256i high = high_nibbles(both);
            for (int b = 0; b < kBatch; ++b) {
                const __m256i more =
                    _mm256_add_epi16(_mm256_maddubs_epi16(low, _mm256_set1_epi32(quads[b])),
                                     _mm256_maddubs_epi16(high, _mm256_set1_epi32(quads[kBatch + b])));
                pairs[b][r] = _mm256_add_epi16(pairs[b][r], more);
            }
        }
    }
}

/// Sets first[b] and last[b] to Σ of a row's 32 nibbles times x, one 32-bit lane for each of the first and
/// of the last 16 rows, for kAtOnce members b of a batch of kBatch. `quads` is [8, kBatch], four bytes of x
/// in each element, and points to the first of these members.
template <int kBatch, int kAtOnce, Fetch kFetch>
PARETOKEN_INLINE_AVX512 void dots_of_nibbles(const std::byte* part, const std::int32_t* quads,
                                             __m512i (&first)[kAtOnce], __m512i (&last)[kAtOnce]) {
    for (int b = 0; b < kAtOnce; ++b) first[b] = last[b] = _mm512_setzero_si512();
    for (int two = 0; two < 4; ++two, part += kNibbleLine, quads += 2 * kBatch) {
        const __m512i first_rows = _mm512_loadu_si512(part);
        const __m512i last_rows = _mm512_loadu_si512(part + 64);
        const __m512i first_low = low_nibbles(first_rows);
        const __m512i first_high = high_nibbles(first_rows);
        const __m512i last_low = low_nibbles(last_rows);
        const __m512i last_high = high_nibbles(last_rows);
        for (int b = 0; b < kAtOnce; ++b) {
            const __m512i low = _mm512_set1_epi32(quads[b]);
            const __m512i high = _mm512_set1_epi32(quads[kBatch + b]);
            const Fetch fetch = b == 0 ? kFetch : Fetch::none;
            first[b] = dot_bytes(first[b], first_low, low, part, fetch);
            last[b] = dot_bytes(last[b], last_low, low, part + 64, fetch);
            first[b] = dot_bytes(first[b], first_high, high);
            last[b] = dot_bytes(last[b], last_high, high);
        }
    }
}
#endif

}  // namespace paretoken::microbench
