// q4_k weights: blocks of 256 nibbles, a six-bit scale and minimum per 32 of them, against x in bytes.
// Integer dot products of the unsigned nibbles within 32; the minimums are applied to Σ x.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"
#include "microbench/cpu/weights/nibbles.h"

namespace paretoken::microbench {
namespace {

constexpr WeightType kType = WeightType::q4_k;
constexpr std::size_t kBytes = block_bytes(kType);
constexpr std::size_t kParts = kSuperBlock / kBlock;  // parts with their own scale
constexpr std::size_t kNibbles = 16;                  // position of a row's nibbles
constexpr std::size_t kPanelScales = 4 * kPanel;      // after every row's d and m
constexpr std::size_t kPanelNibbles = kPanel * kNibbles;
constexpr std::size_t kScaleLine = 4 * kPanel;  // bytes of four of the scales' bytes of each row
constexpr std::size_t kPanelBlock = kPanel * kBytes;
[[maybe_unused]] constexpr std::size_t kAhead = 4096;

void row_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + row * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
                const float d = float_of_f16(load_u16(block));
                const float m = float_of_f16(load_u16(block + 2));
                const SixBitScales scales = unpack_scales(block + 4);
                for (std::size_t part = 0; part < kParts; ++part) {
                    const std::size_t at = b * x.blocks + i * kParts + part;
                    int dot = 0;
                    for (std::size_t j = 0; j < kBlock; ++j) {
                        dot += static_cast<int>(q4_k_number(block, part * kBlock + j)) *
                               x.bytes[at * kBlock + j];
                    }
                    sum +=
                        d * static_cast<float>(scales.scale[part]) * x.scale[at] * static_cast<float>(dot) -
                        m * static_cast<float>(scales.minimum[part]) * x.offset[at];
                }
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

/// Returns the scales of one row from their 12 bytes in a panel.
SixBitScales scales_of_row(const std::byte* panel_block, std::size_t row) {
    std::byte twelve[12];
    for (std::size_t i = 0; i < 12; ++i) twelve[i] = panel_block[kPanelScales + i * kPanel + row];
    return unpack_scales(twelve);
}

void packed_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::size_t r = row % kPanel;
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + (row - r) * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kPanelBlock) {
                const float d = float_of_f16(load_u16(block + 2 * r));
                const float m = float_of_f16(load_u16(block + 2 * (kPanel + r)));
                const SixBitScales scales = scales_of_row(block, r);
                for (std::size_t part = 0; part < kParts; ++part) {
                    const std::size_t at = b * x.blocks + i * kParts + part;
                    const std::byte* const nibbles = block + kPanelNibbles + part * kNibblePart;
                    const int dot = dot_of_nibbles(nibbles, r, &x.bytes[at * kBlock]);
                    sum +=
                        d * static_cast<float>(scales.scale[part]) * x.scale[at] * static_cast<float>(dot) -
                        m * static_cast<float>(scales.minimum[part]) * x.offset[at];
                }
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

#if defined(PARETOKEN_X86)

/// Returns the scales or minimums of one row's eight parts, times d or m.
PARETOKEN_INLINE_AVX2 __m256 eight_times(const std::uint8_t* eight, float factor) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), _mm256_set1_ps(factor));
}

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void row_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* block = call.weights;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m256 sum[kBatch] = {};
        __m256 offset[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
            for (std::size_t line = 0; line < kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
            const SixBitScales scales = unpack_scales(block + 4);
            const __m256 scale = eight_times(scales.scale, scalar_of_f16(block));
            const __m256 minimum = eight_times(scales.minimum, scalar_of_f16(block + 2));
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i * kParts;
                alignas(32) float factor[kParts];
                _mm256_store_ps(factor, _mm256_mul_ps(scale, _mm256_loadu_ps(&x.scale[at])));
                offset[b] = _mm256_fmadd_ps(minimum, _mm256_loadu_ps(&x.offset[at]), offset[b]);
                for (std::size_t part = 0; part < kParts; ++part) {
                    const auto* const from =
                        reinterpret_cast<const __m256i*>(block + kNibbles + part / 2 * 32);
                    const __m256i both = _mm256_loadu_si256(from);
                    const __m256i nibbles = part % 2 != 0 ? high_nibbles(both) : low_nibbles(both);
                    const auto* const bytes =
                        reinterpret_cast<const __m256i*>(&x.bytes[(at + part) * kBlock]);
                    const __m256i pairs = _mm256_maddubs_epi16(nibbles, _mm256_loadu_si256(bytes));
                    const __m256i dot = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                    sum[b] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(factor[part]), sum[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            call.y[b * call.y_stride + row] = sum_of(_mm256_sub_ps(sum[b], offset[b]));
        }
    }
}

/// The eight scales and eight minimums of each row of a panel, from its three times four lines of bytes.
struct PanelScales {
    alignas(64) std::uint8_t scale[kParts][kPanel];
    alignas(64) std::uint8_t minimum[kParts][kPanel];
};

PARETOKEN_INLINE_AVX2 void unpack_panel_avx2(const std::byte* scales, PanelScales& out) {
    const __m256i six = _mm256_set1_epi8(63);
    const __m256i four = _mm256_set1_epi8(15);
    const __m256i two = _mm256_set1_epi8(48);
    for (std::size_t half = 0; half < kScaleLine; half += 32) {
        const auto load = [&](std::size_t at) __attribute__((target(PARETOKEN_AVX2))) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales + at + half));
        };
        const __m256i a = load(0);
        const __m256i b = load(kScaleLine);
        const __m256i c = load(2 * kScaleLine);
        const auto store = [&](std::uint8_t * at, __m256i value) __attribute__((target(PARETOKEN_AVX2))) {
            _mm256_store_si256(reinterpret_cast<__m256i*>(at + half), value);
        };
        store(out.scale[0], _mm256_and_si256(a, six));
        store(out.minimum[0], _mm256_and_si256(b, six));
        store(out.scale[4],
              _mm256_or_si256(_mm256_and_si256(c, four), _mm256_and_si256(_mm256_srli_epi16(a, 2), two)));
        store(out.minimum[4], _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(c, 4), four),
                                              _mm256_and_si256(_mm256_srli_epi16(b, 2), two)));
    }
}

/// Returns eight of a part's 16 bytes as floats, times `factor`.
PARETOKEN_INLINE_AVX2 __m256 half_times(const std::uint8_t* bytes, __m256 factor) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight)), factor);
}

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void packed_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    constexpr int kTogether =
        kBatch == 1 ? 4 : 1;  // registers of rows; memory is read in order where it can be
    const std::byte* w = call.weights;
    PanelScales scales;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m256 sum[kBatch][4] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, w += kPanelBlock) {
            unpack_panel_avx2(w + kPanelScales, scales);
            for (std::size_t part = 0; part < kParts; ++part) {
                const std::size_t at = i * kParts + part;
                const std::int32_t* const quads = &x.interleaved_quads[at * 8 * kBatch];
                const std::byte* const nibbles = w + kPanelNibbles + part * kNibblePart;
                for (int from = 0; from < 4; from += kTogether) {
                    __m256i pairs[kBatch][kTogether];
                    pairs_of_nibbles(nibbles, from, quads, pairs);
                    for (int r = 0; r < kTogether; ++r) {
                        const int row = 8 * (from + r);
                        const __m256 d = half_times(scales.scale[part] + row, halves_as_floats(w + 2 * row));
                        const __m256 m = half_times(scales.minimum[part] + row,
                                                    halves_as_floats(w + 2 * kPanel + 2 * row));
                        for (int b = 0; b < kBatch; ++b) {
                            const __m256i dot = _mm256_madd_epi16(pairs[b][r], _mm256_set1_epi16(1));
                            const __m256 scale =
                                _mm256_mul_ps(d, _mm256_set1_ps(x.interleaved_scale[at * kBatch + b]));
                            const __m256 offset = _mm256_set1_ps(x.interleaved_offset[at * kBatch + b]);
                            __m256& y = sum[b][from + r];
                            y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, y);
                            y = _mm256_fnmadd_ps(m, offset, y);
                        }
                    }
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            store_rows(call.y + b * call.y_stride + first, call.rows - first, sum[b]);
        }
    }
}

// Processes two chunks of 32 bytes at a time: low halves are parts 4t and 4t + 2, high halves 4t + 1 and 4t +
// 3.
template <int kBatch>
__attribute__((target(PARETOKEN_AVX512))) void row_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    const __m512i even_parts = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* block = call.weights + row * row_bytes(kType, x.k);
        __m512 sum[kBatch] = {};
        __m256 offset[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
            for (std::size_t line = 0; line < kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
            const SixBitScales scales = unpack_scales(block + 4);
            const __m256 scale = eight_times(scales.scale, scalar_of_f16(block));
            const __m256 minimum = eight_times(scales.minimum, scalar_of_f16(block + 2));
            for (int b = 0; b < kBatch; ++b) {
                const std::size_t at = b * x.blocks + i * kParts;
                offset[b] = _mm256_fmadd_ps(minimum, _mm256_loadu_ps(&x.offset[at]), offset[b]);
                const __m512 factor =
                    _mm512_castps256_ps512(_mm256_mul_ps(scale, _mm256_loadu_ps(&x.scale[at])));
                for (int four = 0; four < 2; ++four) {
                    const __m512i both = _mm512_loadu_si512(block + kNibbles + 64 * four);
                    const __m512i low = low_nibbles(both);
                    const __m512i high = high_nibbles(both);
                    const auto* const bytes =
                        reinterpret_cast<const std::byte*>(&x.bytes[(at + 4 * four) * kBlock]);
                    const __m512i even = dot_bytes(_mm512_setzero_si512(), low, two_lanes(bytes, bytes + 64));
                    const __m512i odd =
                        dot_bytes(_mm512_setzero_si512(), high, two_lanes(bytes + 32, bytes + 96));
                    const __m512i first = _mm512_add_epi32(even_parts, _mm512_set1_epi32(4 * four));
                    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(1));
                    sum[b] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(even), _mm512_permutexvar_ps(first, factor),
                                             sum[b]);
                    sum[b] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(odd), _mm512_permutexvar_ps(second, factor),
                                             sum[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            const __m512 all = _mm512_sub_ps(sum[b], _mm512_zextps256_ps512(offset[b]));
            call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(all);
        }
    }
}

PARETOKEN_INLINE_AVX512 void unpack_panel_avx512(const std::byte* scales, PanelScales& out) {
    const __m512i six = _mm512_set1_epi8(63);
    const __m512i four = _mm512_set1_epi8(15);
    const __m512i two = _mm512_set1_epi8(48);
    std::uint8_t* const scale = &out.scale[0][0];
    std::uint8_t* const minimum = &out.minimum[0][0];
    for (std::size_t half = 0; half < kScaleLine; half += 64) {
        const __m512i a = _mm512_loadu_si512(scales + half);
        const __m512i b = _mm512_loadu_si512(scales + kScaleLine + half);
        const __m512i c = _mm512_loadu_si512(scales + 2 * kScaleLine + half);
        _mm512_store_si512(scale + half, _mm512_and_si512(a, six));
        _mm512_store_si512(minimum + half, _mm512_and_si512(b, six));
        _mm512_store_si512(
            scale + kScaleLine + half,
            _mm512_or_si512(_mm512_and_si512(c, four), _mm512_and_si512(_mm512_srli_epi16(a, 2), two)));
        _mm512_store_si512(minimum + kScaleLine + half,
                           _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(c, 4), four),
                                           _mm512_and_si512(_mm512_srli_epi16(b, 2), two)));
    }
}

PARETOKEN_INLINE_AVX512 __m512 sixteen_times(const std::uint8_t* bytes, __m512 factor) {
    const __m128i sixteen = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(sixteen)), factor);
}

/// Adds the sums of one part of 16 rows to y.
PARETOKEN_INLINE_AVX512 __m512 with_part(__m512 sum, __m512 d, __m512 m, __m512i dot, float scale,
                                         float offset) {
    const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(dot), _mm512_set1_ps(scale));
    return _mm512_fnmadd_ps(m, _mm512_set1_ps(offset), _mm512_fmadd_ps(d, value, sum));
}

template <int kBatch, Fetch kFetch>
__attribute__((target(PARETOKEN_AVX512))) void packed_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    constexpr int kAtOnce = std::min(kBatch, kMostAtOnce);
    const std::byte* w = call.weights;
    PanelScales scales;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m512 low[kBatch] = {};
        __m512 high[kBatch] = {};
        const std::int32_t* quads = x.interleaved_quads.data();
        const float* scale = x.interleaved_scale.data();
        const float* offset = x.interleaved_offset.data();
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, w += kPanelBlock) {
            for (std::size_t line = 0; line < kPanelNibbles; line += 64) fetch_ahead(w + line, kFetch);
            unpack_panel_avx512(w + kPanelScales, scales);
            const std::byte* nibbles = w + kPanelNibbles;
            for (std::size_t part = 0; part < kParts; ++part, nibbles += kNibblePart, quads += 8 * kBatch) {
                const __m512 low_d = sixteen_times(scales.scale[part], sixteen_halves(w));
                const __m512 low_m = sixteen_times(scales.minimum[part], sixteen_halves(w + 64));
                const __m512 high_d = sixteen_times(scales.scale[part] + 16, sixteen_halves(w + 32));
                const __m512 high_m = sixteen_times(scales.minimum[part] + 16, sixteen_halves(w + 96));
                for (int from = 0; from < kBatch; from += kAtOnce, scale += kAtOnce, offset += kAtOnce) {
                    __m512i low_dot[kAtOnce];
                    __m512i high_dot[kAtOnce];
                    dots_of_nibbles<kBatch, kAtOnce, kFetch>(nibbles, quads + from, low_dot, high_dot);
                    for (int b = 0; b < kAtOnce; ++b) {
                        __m512& low_sum = low[from + b];
                        __m512& high_sum = high[from + b];
                        low_sum = with_part(low_sum, low_d, low_m, low_dot[b], scale[b], offset[b]);
                        high_sum = with_part(high_sum, high_d, high_m, high_dot[b], scale[b], offset[b]);
                    }
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

std::span<const GemvVariant> q4_k_gemvs() {
    return kGemvs;
}

void pack_q4_k(const std::byte* block, std::byte* panel_block, std::size_t row) {
    std::memcpy(panel_block + 2 * row, block, 2);
    std::memcpy(panel_block + 2 * (kPanel + row), block + 2, 2);
    for (std::size_t i = 0; i < 12; ++i) panel_block[kPanelScales + i * kPanel + row] = block[4 + i];
    for (std::size_t i = 0; i < kSuperBlock; ++i)
        place_nibble(panel_block + kPanelNibbles + i / kBlock * kNibblePart, row, i % kBlock,
                     q4_k_number(block, i));
}

}  // namespace paretoken::microbench
