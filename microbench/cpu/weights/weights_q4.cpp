// q4_0 and q4_1 weights: blocks of 32 nibbles with an f16 scale, q4_1 with an f16 minimum as well, against x
// in bytes. Integer dot products of the unsigned nibbles within a block; the offset is applied to Σ x of the
// block.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"
#include "microbench/cpu/weights/nibbles.h"

namespace paretoken::microbench {
namespace {

template <WeightType kType>
struct Format {
    static constexpr bool kMinimum = kType == WeightType::q4_1;
    static constexpr std::size_t kBytes = block_bytes(kType);
    static constexpr std::size_t kHead = kMinimum ? 4 : 2;  // d, or d and m
    static constexpr std::size_t kPanelHead = kPanel * kHead;
    static constexpr std::size_t kPanelBlock = kPanel * kBytes;
};

[[maybe_unused]] constexpr std::size_t kAhead = 4096;

/// Returns a block's part of y: d · scale · Σ q·x, and the offset's part.
template <WeightType kType>
float block_value(float d, float m, float scale, float offset, int dot) {
    return d * scale * static_cast<float>(dot) + (Format<kType>::kMinimum ? m * offset : -d * offset);
}

template <WeightType kType>
void row_scalar(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + row * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kBlock; ++i, block += F::kBytes) {
                const std::size_t at = b * x.blocks + i;
                int dot = 0;
                for (std::size_t j = 0; j < 16; ++j) {
                    dot += nibble_of(block[F::kHead + j], false) * x.bytes[at * kBlock + j];
                    dot += nibble_of(block[F::kHead + j], true) * x.bytes[at * kBlock + 16 + j];
                }
                const float d = float_of_f16(load_u16(block));
                const float m = F::kMinimum ? float_of_f16(load_u16(block + 2)) : 0;
                sum += block_value<kType>(d, m, x.scale[at], x.offset[at], dot);
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

template <WeightType kType>
void packed_scalar(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::size_t r = row % kPanel;
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + (row - r) * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kBlock; ++i, block += F::kPanelBlock) {
                const std::size_t at = b * x.blocks + i;
                const int dot = dot_of_nibbles(block + F::kPanelHead, r, &x.bytes[at * kBlock]);
                const float d = float_of_f16(load_u16(block + 2 * r));
                const float m = F::kMinimum ? float_of_f16(load_u16(block + 2 * (kPanel + r))) : 0;
                sum += block_value<kType>(d, m, x.scale[at], x.offset[at], dot);
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

#if defined(PARETOKEN_X86)

template <WeightType kType, int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void row_avx2(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    const std::byte* block = call.weights;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m256 sum[kBatch] = {};
        float offset[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kBlock; ++i, block += F::kBytes) {
            __builtin_prefetch(block + kAhead);
            const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + F::kHead));
            const __m256i halves =
                _mm256_inserti128_si256(_mm256_castsi128_si256(both), _mm_srli_epi16(both, 4), 1);
            const __m256i nibbles = low_nibbles(halves);
            const float d = scalar_of_f16(block);
            const float m = F::kMinimum ? scalar_of_f16(block + 2) : -d;
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i;
                const auto* const bytes = reinterpret_cast<const __m256i*>(&x.bytes[at * kBlock]);
                const __m256i pairs = _mm256_maddubs_epi16(nibbles, _mm256_loadu_si256(bytes));
                const __m256i dot = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                sum[b] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(d * x.scale[at]), sum[b]);
                offset[b] += m * x.offset[at];
            }
        }
        for (int b = 0; b < kBatch; ++b) call.y[b * call.y_stride + row] = sum_of(sum[b]) + offset[b];
    }
}

template <WeightType kType, int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void packed_avx2(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    constexpr int kTogether =
        kBatch == 1 ? 4 : 1;  // registers of rows; memory is read in order where it can be
    const std::byte* w = call.weights;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m256 sum[kBatch][4] = {};
        for (std::size_t i = 0; i < x.k / kBlock; ++i, w += F::kPanelBlock) {
            const std::int32_t* const quads = &x.interleaved_quads[i * 8 * kBatch];
            for (int from = 0; from < 4; from += kTogether) {
                __m256i pairs[kBatch][kTogether];
                pairs_of_nibbles(w + F::kPanelHead, from, quads, pairs);
                for (int r = 0; r < kTogether; ++r) {
                    const __m256 d = halves_as_floats(w + (from + r) * 16);
                    const __m256 m = F::kMinimum ? halves_as_floats(w + 2 * kPanel + (from + r) * 16) : d;
                    for (int b = 0; b < kBatch; ++b) {
                        const __m256i dot = _mm256_madd_epi16(pairs[b][r], _mm256_set1_epi16(1));
                        const __m256 scale =
                            _mm256_mul_ps(d, _mm256_set1_ps(x.interleaved_scale[i * kBatch + b]));
                        const __m256 offset = _mm256_set1_ps(x.interleaved_offset[i * kBatch + b]);
                        __m256& y = sum[b][from + r];
                        y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, y);
                        y = F::kMinimum ? _mm256_fmadd_ps(m, offset, y) : _mm256_fnmadd_ps(m, offset, y);
                    }
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            store_rows(call.y + b * call.y_stride + first, call.rows - first, sum[b]);
        }
    }
}

/// Loads d and m of four blocks.
template <WeightType kType>
PARETOKEN_INLINE_AVX512 void load_heads(const std::byte* block, __m128& d, __m128& m) {
    using F = Format<kType>;
    if constexpr (F::kMinimum) {
        std::int32_t heads[4];
        for (std::size_t i = 0; i < 4; ++i) std::memcpy(&heads[i], block + i * F::kBytes, 4);
        __m128i halves = _mm_cvtsi32_si128(heads[0]);
        halves = _mm_insert_epi32(halves, heads[1], 1);
        halves = _mm_insert_epi32(halves, heads[2], 2);
        halves = _mm_insert_epi32(halves, heads[3], 3);
        const __m256 both = _mm256_cvtph_ps(halves);  // d m d m …
        const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        const __m256 sorted = _mm256_permutevar8x32_ps(both, apart);
        d = _mm256_castps256_ps128(sorted);
        m = _mm256_extractf128_ps(sorted, 1);
    } else {
        d = four_halves(block, F::kBytes);
        m = d;
    }
}

// Processes four blocks at a time: their nibbles fill a register, and their low and high halves are
// multiplied by x in `nibble_order`.
template <WeightType kType, int kBatch>
__attribute__((target(PARETOKEN_AVX512))) void row_avx512(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    const __m512i by_block = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* block = call.weights + row * row_bytes(kType, x.k);
        __m512 sum[kBatch] = {};
        __m128 offset[kBatch] = {};
        for (std::size_t i = 0; i < x.blocks; i += 4, block += 4 * F::kBytes) {
            __builtin_prefetch(block + kAhead);
            __builtin_prefetch(block + kAhead + 64);
            const __m512i both = four_lanes(block + F::kHead, F::kBytes);
            const __m512i low = low_nibbles(both);
            const __m512i high = high_nibbles(both);
            __m128 d;
            __m128 m;
            load_heads<kType>(block, d, m);
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i;
                const std::int8_t* const bytes = &x.nibble_order[at * kBlock];
                __m512i dot = dot_bytes(_mm512_setzero_si512(), low, _mm512_loadu_si512(bytes));
                dot = dot_bytes(dot, high, _mm512_loadu_si512(bytes + 64));
                const __m512 scale = _mm512_castps128_ps512(_mm_mul_ps(d, _mm_loadu_ps(&x.scale[at])));
                sum[b] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_permutexvar_ps(by_block, scale), sum[b]);
                const __m128 x_offset = _mm_loadu_ps(&x.offset[at]);
                offset[b] = F::kMinimum ? _mm_fmadd_ps(m, x_offset, offset[b])
                                        : _mm_fnmadd_ps(m, x_offset, offset[b]);
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            const __m512 all = _mm512_add_ps(sum[b], _mm512_zextps128_ps512(offset[b]));
            call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(all);
        }
    }
}

/// Adds the sums of one block of 16 rows to y: d · scale · Σ, and the offset times −d or m.
template <WeightType kType>
PARETOKEN_INLINE_AVX512 __m512 with_block(__m512 sum, const std::byte* heads, __m512i dot, float scale,
                                          float offset) {
    const __m512 d = sixteen_halves(heads);
    const __m512 whole = _mm512_cvtepi32_ps(dot);
    if constexpr (Format<kType>::kMinimum) {
        sum = _mm512_fmadd_ps(d, _mm512_mul_ps(whole, _mm512_set1_ps(scale)), sum);
        return _mm512_fmadd_ps(sixteen_halves(heads + 2 * kPanel), _mm512_set1_ps(offset), sum);
    } else {
        return _mm512_fmadd_ps(d, _mm512_fmsub_ps(whole, _mm512_set1_ps(scale), _mm512_set1_ps(offset)), sum);
    }
}

template <WeightType kType, int kBatch, Fetch kFetch>
__attribute__((target(PARETOKEN_AVX512))) void packed_avx512(const GemvCall& call) {
    using F = Format<kType>;
    const Activations& x = *call.x;
    constexpr int kAtOnce = std::min(kBatch, kMostAtOnce);
    const std::byte* w = call.weights;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m512 low[kBatch] = {};
        __m512 high[kBatch] = {};
        const std::int32_t* quads = x.interleaved_quads.data();
        const float* scale = x.interleaved_scale.data();
        const float* offset = x.interleaved_offset.data();
        for (std::size_t i = 0; i < x.k / kBlock; ++i, w += F::kPanelBlock, quads += 8 * kBatch) {
            for (std::size_t line = 0; line < F::kPanelHead; line += 64) fetch_ahead(w + line, kFetch);
            for (int from = 0; from < kBatch; from += kAtOnce, scale += kAtOnce, offset += kAtOnce) {
                __m512i low_dot[kAtOnce];
                __m512i high_dot[kAtOnce];
                dots_of_nibbles<kBatch, kAtOnce, kFetch>(w + F::kPanelHead, quads + from, low_dot, high_dot);
                for (int b = 0; b < kAtOnce; ++b) {
                    __m512& low_sum = low[from + b];
                    __m512& high_sum = high[from + b];
                    low_sum = with_block<kType>(low_sum, w, low_dot[b], scale[b], offset[b]);
                    high_sum = with_block<kType>(high_sum, w + 32, high_dot[b], scale[b], offset[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b)
            store_rows(call.y + b * call.y_stride + first, call.rows - first, low[b], high[b]);
    }
}
#endif

template <WeightType kType>
struct Kernels {
    static constexpr Gemv kRow = row_scalar<kType>;
    static constexpr Gemv kPacked = packed_scalar<kType>;
#if defined(PARETOKEN_X86)
    template <int kBatch>
    static constexpr Gemv kRowAvx2 = row_avx2<kType, kBatch>;
    template <int kBatch>
    static constexpr Gemv kPackedAvx2 = packed_avx2<kType, kBatch>;
    template <int kBatch>
    static constexpr Gemv kRowAvx512 = row_avx512<kType, kBatch>;
    template <int kBatch, Fetch kFetch>
    static constexpr Gemv kPackedAvx512 = packed_avx512<kType, kBatch, kFetch>;
#endif
};
constexpr auto kQ40Gemvs = gemv_table<Kernels<WeightType::q4_0>>(WeightType::q4_0);
constexpr auto kQ41Gemvs = gemv_table<Kernels<WeightType::q4_1>>(WeightType::q4_1);

}  // namespace

std::span<const GemvVariant> q4_gemvs(WeightType type) {
    return type == WeightType::q4_0 ? kQ40Gemvs : kQ41Gemvs;
}

void pack_q4(WeightType type, const std::byte* block, std::byte* panel_block, std::size_t row) {
    const std::size_t heads = type == WeightType::q4_1 ? 2 : 1;
    for (std::size_t i = 0; i < heads; ++i)
        std::memcpy(panel_block + 2 * (i * kPanel + row), block + 2 * i, 2);
    for (std::size_t i = 0; i < kBlock; ++i)
        place_nibble(panel_block + 2 * heads * kPanel, row, i,
                     static_cast<unsigned>(nibble_of(block[2 * heads + i % 16], i >= 16)));
}

}  // namespace paretoken::microbench
