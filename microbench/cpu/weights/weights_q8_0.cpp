// q8_0 weights: blocks of 32 signed bytes with an f16 scale, against x in bytes. Integer dot products within
// a block, scaled and summed in fp32 across blocks.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr WeightType kType = WeightType::q8_0;
constexpr std::size_t kBytes = block_bytes(kType);
constexpr std::size_t kPanelScales = kPanel * 2;
constexpr std::size_t kPanelBlock = kPanel * kBytes;
[[maybe_unused]] constexpr std::size_t kLine = 4 * kPanel;
[[maybe_unused]] constexpr std::size_t kAhead = 4096;

void row_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + row * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kBlock; ++i, block += kBytes) {
                const std::int8_t* const bytes = &x.bytes[(b * x.blocks + i) * kBlock];
                int dot = 0;
                for (std::size_t j = 0; j < kBlock; ++j)
                    dot += std::to_integer<std::int8_t>(block[2 + j]) * bytes[j];
                sum += float_of_f16(load_u16(block)) * x.scale[b * x.blocks + i] * static_cast<float>(dot);
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

void packed_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::size_t r = row % kPanel;
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + (row - r) * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kBlock; ++i, block += kPanelBlock) {
                const std::int8_t* const bytes = &x.bytes[(b * x.blocks + i) * kBlock];
                int dot = 0;
                for (std::size_t j = 0; j < kBlock; ++j) {
                    const std::byte stored = block[kPanelScales + (j / 4 * kPanel + r) * 4 + j % 4];
                    dot += (std::to_integer<int>(stored) - 128) * bytes[j];
                }
                sum += float_of_f16(load_u16(block + 2 * r)) * x.scale[b * x.blocks + i] *
                       static_cast<float>(dot);
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

#if defined(PARETOKEN_X86)

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void row_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* block = call.weights;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m256 sum[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kBlock; ++i, block += kBytes) {
            __builtin_prefetch(block + kAhead);
            const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 2));
            const __m256i magnitude = _mm256_abs_epi8(w);
            const float d = scalar_of_f16(block);
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i;
                const auto* const bytes = reinterpret_cast<const __m256i*>(&x.bytes[at * kBlock]);
                const __m256i dot = dot_signed(w, magnitude, _mm256_loadu_si256(bytes));
                sum[b] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(d * x.scale[at]), sum[b]);
            }
        }
        for (int b = 0; b < kBatch; ++b) call.y[b * call.y_stride + row] = sum_of(sum[b]);
    }
}

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void packed_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* w = call.weights;
    const __m256i sign_bit = _mm256_set1_epi8(static_cast<char>(0x80));
    constexpr int kTogether =
        kBatch == 1 ? 4 : 1;  // registers of rows; memory is read in order where it can be
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m256 sum[kBatch][4] = {};
        for (std::size_t i = 0; i < x.k / kBlock; ++i, w += kPanelBlock) {
            const std::int32_t* const quads = &x.interleaved_quads[i * 8 * kBatch];
            for (int from = 0; from < 4; from += kTogether) {
                __m256i dot[kBatch][kTogether] = {};
                for (int quad = 0; quad < 8; ++quad) {
                    if (from == 0) prefetch_two(w + kAhead + quad * kLine);
                    for (int r = 0; r < kTogether; ++r) {
                        const std::byte* const line = w + kPanelScales + quad * kLine + (from + r) * 32;
                        const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line));
                        const __m256i bytes = _mm256_xor_si256(stored, sign_bit);
                        const __m256i magnitude = _mm256_abs_epi8(bytes);
                        for (int b = 0; b < kBatch; ++b) {
                            const __m256i four = _mm256_set1_epi32(quads[quad * kBatch + b]);
                            dot[b][r] = _mm256_add_epi32(dot[b][r], dot_signed(bytes, magnitude, four));
                        }
                    }
                }
                for (int r = 0; r < kTogether; ++r) {
                    const __m256 d = halves_as_floats(w + (from + r) * 16);
                    for (int b = 0; b < kBatch; ++b) {
                        const __m256 scale =
                            _mm256_mul_ps(d, _mm256_set1_ps(x.interleaved_scale[i * kBatch + b]));
                        sum[b][from + r] =
                            _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[b][r]), scale, sum[b][from + r]);
                    }
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            store_rows(call.y + b * call.y_stride + first, call.rows - first, sum[b]);
        }
    }
}

// Processes four blocks at a time: two of them fill a register, and their four scales are converted together.
template <int kBatch>
__attribute__((target(PARETOKEN_AVX512))) void row_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    const __m512i sign_bit = _mm512_set1_epi8(static_cast<char>(0x80));
    const __m512i first_two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i last_two = _mm512_add_epi32(first_two, _mm512_set1_epi32(2));
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* block = call.weights + row * row_bytes(kType, x.k);
        __m512 sum[kBatch] = {};
        __m128 offset[kBatch] = {};
        for (std::size_t i = 0; i < x.blocks; i += 4, block += 4 * kBytes) {
            __builtin_prefetch(block + kAhead);
            __builtin_prefetch(block + kAhead + 64);
            const __m512i w01 = _mm512_xor_si512(two_lanes(block + 2, block + kBytes + 2), sign_bit);
            const __m512i w23 =
                _mm512_xor_si512(two_lanes(block + 2 * kBytes + 2, block + 3 * kBytes + 2), sign_bit);
            const __m128 d = four_halves(block, kBytes);
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i;
                const std::int8_t* const bytes = &x.bytes[at * kBlock];
                const __m512i zero = _mm512_setzero_si512();
                const __m512i dot01 = dot_bytes(zero, w01, _mm512_loadu_si512(bytes));
                const __m512i dot23 = dot_bytes(zero, w23, _mm512_loadu_si512(bytes + 64));
                const __m512 scale = _mm512_castps128_ps512(_mm_mul_ps(d, _mm_loadu_ps(&x.scale[at])));
                sum[b] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot01), _mm512_permutexvar_ps(first_two, scale),
                                         sum[b]);
                sum[b] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot23), _mm512_permutexvar_ps(last_two, scale),
                                         sum[b]);
                offset[b] = _mm_fmadd_ps(d, _mm_loadu_ps(&x.offset[at]), offset[b]);
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            const __m512 all = _mm512_sub_ps(sum[b], _mm512_zextps128_ps512(offset[b]));
            call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(all);
        }
    }
}

/// Adds the sums of one block of 32 rows to y: d · (scale · Σ − offset).
PARETOKEN_INLINE_AVX512 __m512 with_block(__m512 sum, __m512 d, __m512i dot, float scale, float offset) {
    const __m512 value =
        _mm512_fmsub_ps(_mm512_cvtepi32_ps(dot), _mm512_set1_ps(scale), _mm512_set1_ps(offset));
    return _mm512_fmadd_ps(d, value, sum);
}

template <int kBatch, Fetch kFetch>
__attribute__((target(PARETOKEN_AVX512))) void packed_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    constexpr int kAtOnce = std::min(kBatch, kMostAtOnce);
    const std::byte* w = call.weights;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m512 low[kBatch] = {};
        __m512 high[kBatch] = {};
        const std::int32_t* quads = x.interleaved_quads.data();
        const float* scale = x.interleaved_scale.data();
        const float* offset = x.interleaved_offset.data();
        for (std::size_t i = 0; i < x.k / kBlock; ++i, w += kPanelBlock, quads += 8 * kBatch) {
            fetch_ahead(w, kFetch);
            const __m512 low_d = sixteen_halves(w);
            const __m512 high_d = sixteen_halves(w + 32);
            for (int from = 0; from < kBatch; from += kAtOnce, scale += kAtOnce, offset += kAtOnce) {
                __m512i low_dot[kAtOnce] = {};
                __m512i high_dot[kAtOnce] = {};
                for (int quad = 0; quad < 8; ++quad) {
                    const std::byte* const line = w + kPanelScales + quad * kLine;
                    const __m512i first_rows = _mm512_loadu_si512(line);
                    const __m512i last_rows = _mm512_loadu_si512(line + 64);
                    for (int b = 0; b < kAtOnce; ++b) {
                        const __m512i four = _mm512_set1_epi32(quads[quad * kBatch + from + b]);
                        const Fetch fetch = b == 0 ? kFetch : Fetch::none;
                        low_dot[b] = dot_bytes(low_dot[b], first_rows, four, line, fetch);
                        high_dot[b] = dot_bytes(high_dot[b], last_rows, four, line + 64, fetch);
                    }
                }
                for (int b = 0; b < kAtOnce; ++b) {
                    low[from + b] = with_block(low[from + b], low_d, low_dot[b], scale[b], offset[b]);
                    high[from + b] = with_block(high[from + b], high_d, high_dot[b], scale[b], offset[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b)
            store_rows(call.y + b * call.y_stride + first, call.rows - first, low[b], high[b]);
    }
}
#endif

PARETOKEN_KERNELS;
constexpr auto kGemvs = gemv_table<Kernels>(kType);

}  // namespace

std::span<const GemvVariant> q8_0_gemvs() {
    return kGemvs;
}

void pack_q8_0(const std::byte* block, std::byte* panel_block, std::size_t row) {
    std::memcpy(panel_block + 2 * row, block, 2);
    for (std::size_t i = 0; i < kBlock; ++i) {
        panel_block[kPanelScales + (i / 4 * kPanel + row) * 4 + i % 4] = block[2 + i] ^ std::byte{0x80};
    }
}

}  // namespace paretoken::microbench
