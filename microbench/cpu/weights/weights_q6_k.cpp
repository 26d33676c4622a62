// q6_k weights: blocks of 256 numbers of six bits with a signed scale per 16 of them, against x in bytes.
// Integer dot products within 16 that begin at −32 · Σ x, so that the numbers can stay unsigned.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr WeightType kType = WeightType::q6_k;
constexpr std::size_t kBytes = block_bytes(kType);
constexpr std::size_t kParts = kSuperBlock / 16;  // parts with their own scale
constexpr std::size_t kRowHigh = 128;             // positions of a row's high bits, scales and d
constexpr std::size_t kRowScales = 192;
constexpr std::size_t kRowD = 208;
constexpr std::size_t kPanelScales = 2 * kPanel;  // after every row's d
constexpr std::size_t kPanelNumbers = kPanelScales + kParts * kPanel;
constexpr std::size_t kPanelPart = kPanel * 12;  // bytes of 16 numbers of each row
constexpr std::size_t kLine = 4 * kPanel;
constexpr std::size_t kPanelBlock = kPanel * kBytes;
[[maybe_unused]] constexpr std::size_t kAhead = 4096;

/// Returns number `i` of the 16 of a part of a panel.
int panel_number(const std::byte* part, std::size_t row, std::size_t i) {
    const std::size_t at = 4 * row + i % 4;
    const auto low = std::to_integer<int>(part[i / 8 * kLine + at]);
    const auto high = std::to_integer<int>(part[2 * kLine + at]);
    return (i % 8 < 4 ? low & 15 : low >> 4) | (high >> (2 * (i / 4)) & 3) << 4;
}

void row_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        for (std::size_t b = 0; b < x.batch; ++b) {
            const std::byte* block = call.weights + row * row_bytes(kType, x.k);
            float sum = 0;
            for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
                const float d = float_of_f16(load_u16(block + kRowD));
                for (std::size_t part = 0; part < kParts; ++part) {
                    const std::size_t at = b * x.blocks * 2 + i * kParts + part;
                    int dot = 0;
                    for (std::size_t j = 0; j < 16; ++j) {
                        dot +=
                            (static_cast<int>(q6_k_number(block, part * 16 + j)) - 32) * x.bytes[at * 16 + j];
                    }
                    const auto scale = std::to_integer<std::int8_t>(block[kRowScales + part]);
                    sum += d * static_cast<float>(scale) * x.scale[at / 2] * static_cast<float>(dot);
                }
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
            for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kPanelBlock) {
                const float d = float_of_f16(load_u16(block + 2 * r));
                for (std::size_t part = 0; part < kParts; ++part) {
                    const std::size_t at = b * x.blocks * 2 + i * kParts + part;
                    const std::byte* const numbers = block + kPanelNumbers + part * kPanelPart;
                    int dot = 0;
                    for (std::size_t j = 0; j < 16; ++j)
                        dot += (panel_number(numbers, r, j) - 32) * x.bytes[at * 16 + j];
                    const auto scale = std::to_integer<std::int8_t>(block[kPanelScales + part * kPanel + r]);
                    sum += d * static_cast<float>(scale) * x.scale[at / 2] * static_cast<float>(dot);
                }
            }
            call.y[b * call.y_stride + row] = sum;
        }
    }
}

#if defined(PARETOKEN_X86)

/// Returns the 32 numbers 32 · `group` … of a half of 128 weights of one row.
PARETOKEN_INLINE_AVX2 __m256i row_numbers(const std::byte* block, std::size_t half, int group) {
    const auto* const low = reinterpret_cast<const __m256i*>(block + 64 * half + 32 * (group % 2));
    const auto* const high = reinterpret_cast<const __m256i*>(block + kRowHigh + 32 * half);
    const __m256i both = _mm256_loadu_si256(low);
    const __m256i nibbles =
        _mm256_and_si256(group < 2 ? both : _mm256_srli_epi16(both, 4), _mm256_set1_epi8(15));
    const __m256i bits = _mm256_loadu_si256(high);
    const __m256i shifted = group == 0   ? _mm256_slli_epi16(bits, 4)
                            : group == 1 ? _mm256_slli_epi16(bits, 2)
                            : group == 2 ? bits
                                         : _mm256_srli_epi16(bits, 2);
    return _mm256_or_si256(nibbles, _mm256_and_si256(shifted, _mm256_set1_epi8(48)));
}

/// Returns eight signed scales as floats, times d.
PARETOKEN_INLINE_AVX2 __m256 eight_scales(const std::byte* scales, __m256 d) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), d);
}

// Pairs of products of a number ≤ 63 and |x| ≤ 127 stay below 16,003, also after the products of 32 are
// subtracted.
template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void row_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const __m256i middle = _mm256_set1_epi8(32);
    const std::byte* block = call.weights;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m256 sum[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
            for (std::size_t line = 0; line < kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
            const __m256 d = _mm256_set1_ps(scalar_of_f16(block + kRowD));
            alignas(32) float scale[kParts];
            _mm256_store_ps(scale, eight_scales(block + kRowScales, d));
            _mm256_store_ps(scale + 8, eight_scales(block + kRowScales + 8, d));
            for (int group = 0; group < 8; ++group) {
                const __m256i numbers = row_numbers(block, group / 4, group % 4);
                const __m256 both =
                    _mm256_set_m128(_mm_set1_ps(scale[2 * group + 1]), _mm_set1_ps(scale[2 * group]));
                for (int b = 0; b < kBatch; ++b) {
                    const std::size_t at = b * x.blocks + i * 8 + group;
                    const __m256i bytes =
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&x.bytes[at * kBlock]));
                    const __m256i pairs = _mm256_sub_epi16(_mm256_maddubs_epi16(numbers, bytes),
                                                           _mm256_maddubs_epi16(middle, bytes));
                    const __m256i dot = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                    const __m256 factor = _mm256_mul_ps(both, _mm256_set1_ps(x.scale[at]));
                    sum[b] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, sum[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) call.y[b * call.y_stride + row] = sum_of(sum[b]);
    }
}

/// Returns numbers 4 · `quad` … 4 · quad + 3 of eight rows of a part of a panel.
PARETOKEN_INLINE_AVX2 __m256i panel_numbers_avx2(const std::byte* part, int quad) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(part + quad / 2 * kLine));
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(part + 2 * kLine));
    const __m256i nibbles =
        _mm256_and_si256(quad % 2 == 0 ? both : _mm256_srli_epi16(both, 4), _mm256_set1_epi8(15));
    const __m256i shifted = quad == 0   ? _mm256_slli_epi16(bits, 4)
                            : quad == 1 ? _mm256_slli_epi16(bits, 2)
                            : quad == 2 ? bits
                                        : _mm256_srli_epi16(bits, 2);
    return _mm256_or_si256(nibbles, _mm256_and_si256(shifted, _mm256_set1_epi8(48)));
}

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void packed_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* w = call.weights;
    std::byte scales[kParts * kPanel];  // read before the numbers, in the order of memory
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m256 sum[kBatch][4] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, w += kPanelBlock) {
            std::memcpy(scales, w + kPanelScales, sizeof scales);
            for (std::size_t part = 0; part < kParts; ++part) {
                const std::size_t at = i * kParts + part;
                const std::int32_t* const quads = &x.interleaved_quads[at * 4 * kBatch];
                const std::byte* const numbers = w + kPanelNumbers + part * kPanelPart;
                for (std::size_t line = 0; line < kPanelPart + 64; line += 64)
                    __builtin_prefetch(numbers + kAhead + line);
                for (int half = 0; half < 4; ++half) {
                    __m256i dot[kBatch];
                    for (int b = 0; b < kBatch; ++b)
                        dot[b] = _mm256_set1_epi32(x.interleaved_start[at * kBatch + b]);
                    for (int quad = 0; quad < 4; ++quad) {
                        const __m256i four = panel_numbers_avx2(numbers + 32 * half, quad);
                        for (int b = 0; b < kBatch; ++b) {
                            const __m256i pairs =
                                _mm256_maddubs_epi16(four, _mm256_set1_epi32(quads[quad * kBatch + b]));
                            dot[b] = _mm256_add_epi32(dot[b], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                        }
                    }
                    const __m256 scale =
                        eight_scales(scales + part * kPanel + 8 * half, halves_as_floats(w + half * 16));
                    for (int b = 0; b < kBatch; ++b) {
                        const __m256 factor =
                            _mm256_mul_ps(scale, _mm256_set1_ps(x.interleaved_scale[at / 2 * kBatch + b]));
                        sum[b][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[b]), factor, sum[b][half]);
                    }
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            store_rows(call.y + b * call.y_stride + first, call.rows - first, sum[b]);
        }
    }
}

/// Joins nibbles from one register with the two bits above them from another.
PARETOKEN_INLINE_AVX512 __m512i six_bits(__m512i nibbles, __m512i bits) {
    constexpr int kFirstWhereThirdElseSecond = 0xe4;
    const __m512i both =
        _mm512_ternarylogic_epi32(nibbles, bits, _mm512_set1_epi8(15), kFirstWhereThirdElseSecond);
    return _mm512_and_si512(both, _mm512_set1_epi8(63));
}

// A half of 128 weights gives two registers: its first 64 and its last 64.
template <int kBatch>
__attribute__((target(PARETOKEN_AVX512))) void row_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    const __m512i middle = _mm512_set1_epi8(32);
    const __m512i by_part = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i by_block = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* block = call.weights + row * row_bytes(kType, x.k);
        __m512 sum[kBatch] = {};
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, block += kBytes) {
            for (std::size_t line = 0; line < kBytes; line += 64) __builtin_prefetch(block + kAhead + line);
            const __m128i bytes_of_scales =
                _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + kRowScales));
            const __m512 scales = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes_of_scales)),
                                                _mm512_set1_ps(scalar_of_f16(block + kRowD)));
            for (int quarter = 0; quarter < 4; ++quarter) {
                const int half = quarter / 2;
                const __m512i both = _mm512_loadu_si512(block + 64 * half);
                const auto* const high = reinterpret_cast<const __m256i*>(block + kRowHigh + 32 * half);
                const __m256i bits = _mm256_loadu_si256(high);
                const bool upper = quarter % 2 != 0;
                const __m256i first = upper ? bits : _mm256_slli_epi16(bits, 4);
                const __m256i second = upper ? _mm256_srli_epi16(bits, 2) : _mm256_slli_epi16(bits, 2);
                const __m512i numbers =
                    six_bits(upper ? _mm512_srli_epi16(both, 4) : both,
                             _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
                const __m512i parts = _mm512_add_epi32(by_part, _mm512_set1_epi32(4 * quarter));
                const __m512 scale = _mm512_permutexvar_ps(parts, scales);
                for (int b = 0; b < kBatch; ++b) {
                    const std::size_t at = b * x.blocks + i * 8 + 2 * quarter;
                    const __m512i bytes = _mm512_loadu_si512(&x.bytes[at * kBlock]);
                    const __m512i zero = _mm512_setzero_si512();
                    const __m512i dot =
                        _mm512_sub_epi32(dot_bytes(zero, numbers, bytes), dot_bytes(zero, middle, bytes));
                    const __m128 two_scales =
                        _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&x.scale[at])));
                    const __m512 x_scale =
                        _mm512_permutexvar_ps(by_block, _mm512_castps128_ps512(two_scales));
                    sum[b] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(scale, x_scale), sum[b]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(sum[b]);
    }
}

/// Returns the numbers of 16 rows of a part of a panel, four of each row in a register, from their two lines
/// of nibbles and one line of high bits.
PARETOKEN_INLINE_AVX512 void numbers_of(__m512i first, __m512i second, __m512i bits, __m512i (&quads)[4]) {
    quads[0] = six_bits(first, _mm512_slli_epi16(bits, 4));
    quads[1] = six_bits(_mm512_srli_epi16(first, 4), _mm512_slli_epi16(bits, 2));
    quads[2] = six_bits(second, bits);
    quads[3] = six_bits(_mm512_srli_epi16(second, 4), _mm512_srli_epi16(bits, 2));
}

/// Copies lines in the order of memory. Going back for a block's scales part by part finds them not
/// prefetched, and was three times slower.
PARETOKEN_INLINE_AVX512 void copy_lines(const std::byte* from, std::byte* to, std::size_t lines) {
    for (std::size_t i = 0; i < lines; ++i)
        _mm512_store_si512(to + 64 * i, _mm512_loadu_si512(from + 64 * i));
}

/// Returns sixteen signed scales as floats, times d.
PARETOKEN_INLINE_AVX512 __m512 sixteen_scales(const std::byte* scales, __m512 d) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), d);
}

template <int kBatch, Fetch kFetch>
__attribute__((target(PARETOKEN_AVX512))) void packed_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    constexpr int kAtOnce = std::min(kBatch, kMostAtOnce);
    const std::byte* w = call.weights;
    alignas(64) std::byte scales_of_block[kParts * kPanel];
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m512 low[kBatch] = {};
        __m512 high[kBatch] = {};
        const std::int32_t* quads = x.interleaved_quads.data();
        const std::int32_t* start = x.interleaved_start.data();
        const float* scale = x.interleaved_scale.data();
        for (std::size_t i = 0; i < x.k / kSuperBlock; ++i, w += kPanelBlock) {
            for (std::size_t line = 0; line < kPanelNumbers; line += 64) fetch_ahead(w + line, kFetch);
            const __m512 low_d = sixteen_halves(w);
            const __m512 high_d = sixteen_halves(w + 32);
            const std::byte* part = w + kPanelNumbers;
            copy_lines(w + kPanelScales, scales_of_block, kParts * kPanel / 64);
            const std::byte* scales = scales_of_block;
            for (std::size_t p = 0; p < kParts; ++p, part += kPanelPart, scales += kPanel) {
                __m512i first_rows[4];
                __m512i last_rows[4];
                __m512i lines[6];
                for (int line = 0; line < 6; ++line) lines[line] = _mm512_loadu_si512(part + 64 * line);
                numbers_of(lines[0], lines[2], lines[4], first_rows);
                numbers_of(lines[1], lines[3], lines[5], last_rows);
                const __m512 low_scale = sixteen_scales(scales, low_d);
                const __m512 high_scale = sixteen_scales(scales + 16, high_d);
                for (int from = 0; from < kBatch; from += kAtOnce, start += kAtOnce) {
                    __m512i low_dot[kAtOnce];
                    __m512i high_dot[kAtOnce];
                    for (int b = 0; b < kAtOnce; ++b) low_dot[b] = high_dot[b] = _mm512_set1_epi32(start[b]);
                    for (int quad = 0; quad < 4; ++quad) {
                        for (int b = 0; b < kAtOnce; ++b) {
                            const __m512i four = _mm512_set1_epi32(quads[quad * kBatch + from + b]);
                            const Fetch fetch = b == 0 && quad < 3 ? kFetch : Fetch::none;  // for six lines
                            const std::byte* const line = part + quad * kLine;
                            low_dot[b] = dot_bytes(low_dot[b], first_rows[quad], four, line, fetch);
                            high_dot[b] = dot_bytes(high_dot[b], last_rows[quad], four, line + 64, fetch);
                        }
                    }
                    for (int b = 0; b < kAtOnce; ++b) {
                        const __m512 factor = _mm512_set1_ps(scale[from + b]);
                        __m512& low_sum = low[from + b];
                        __m512& high_sum = high[from + b];
                        low_sum = _mm512_fmadd_ps(
                            low_scale, _mm512_mul_ps(_mm512_cvtepi32_ps(low_dot[b]), factor), low_sum);
                        high_sum = _mm512_fmadd_ps(
                            high_scale, _mm512_mul_ps(_mm512_cvtepi32_ps(high_dot[b]), factor), high_sum);
                    }
                }
                quads += 4 * kBatch;
                if (p % 2 != 0) scale += kBatch;  // scale of x: one per 32
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

std::span<const GemvVariant> q6_k_gemvs() {
    return kGemvs;
}

void pack_q6_k(const std::byte* block, std::byte* panel_block, std::size_t row) {
    std::memcpy(panel_block + 2 * row, block + kRowD, 2);
    for (std::size_t part = 0; part < kParts; ++part) {
        panel_block[kPanelScales + part * kPanel + row] = block[kRowScales + part];
        std::byte* const numbers = panel_block + kPanelNumbers + part * kPanelPart;
        for (std::size_t i = 0; i < 16; ++i) {
            const unsigned number = q6_k_number(block, part * 16 + i);
            const std::size_t at = 4 * row + i % 4;
            numbers[i / 8 * kLine + at] |=
                static_cast<std::byte>(i % 8 < 4 ? number & 15 : (number & 15) << 4);
            numbers[2 * kLine + at] |= static_cast<std::byte>(number >> 4 << (2 * (i / 4)));
        }
    }
}

}  // namespace paretoken::microbench
