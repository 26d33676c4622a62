// bf16 weights: products of pairs summed in fp32.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr WeightType kType = WeightType::bf16;
[[maybe_unused]] constexpr std::size_t kAhead =
    4096;  // distance of the prefetch, for arithmetic that leaves too few loads in flight

void row_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* const w = call.weights + row * row_bytes(kType, x.k);
        for (std::size_t b = 0; b < x.batch; ++b) {
            float sum[8]{};
            for (std::size_t i = 0; i < x.k; ++i) {
                sum[i % 8] += float_of_bf16(load_u16(w + 2 * i)) * x.values[b * x.k + i];
            }
            call.y[b * call.y_stride + row] =
                ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        }
    }
}

void packed_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        const std::byte* const panel = call.weights + first * row_bytes(kType, x.k);
        for (std::size_t b = 0; b < x.batch; ++b) {
            float even[kPanel]{};
            float odd[kPanel]{};
            for (std::size_t i = 0; i < x.k; i += 2) {
                for (std::size_t r = 0; r < kPanel; ++r) {
                    const std::byte* const pair = panel + (i / 2 * kPanel + r) * 4;
                    even[r] += float_of_bf16(load_u16(pair)) * x.values[b * x.k + i];
                    odd[r] += float_of_bf16(load_u16(pair + 2)) * x.values[b * x.k + i + 1];
                }
            }
            for (std::size_t r = 0; r < std::min(kPanel, call.rows - first); ++r) {
                call.y[b * call.y_stride + first + r] = even[r] + odd[r];
            }
        }
    }
}

#if defined(PARETOKEN_X86)

template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void row_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* w = call.weights;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m256 sum[kBatch][2] = {};
        for (std::size_t i = 0; i < x.k; i += 16, w += 32) {
            __builtin_prefetch(w + kAhead);
            const auto* const from = reinterpret_cast<const __m128i*>(w);
            const __m256i low = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(from)), 16);
            const __m256i high = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(from + 1)), 16);
            for (int b = 0; b < kBatch; ++b) {
                const float* const values = x.values.data() + b * x.k + i;
                sum[b][0] = _mm256_fmadd_ps(_mm256_castsi256_ps(low), _mm256_loadu_ps(values), sum[b][0]);
                sum[b][1] =
                    _mm256_fmadd_ps(_mm256_castsi256_ps(high), _mm256_loadu_ps(values + 8), sum[b][1]);
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            call.y[b * call.y_stride + row] = sum_of(_mm256_add_ps(sum[b][0], sum[b][1]));
        }
    }
}

// Processes 8 KiB at a time, for as many of the four registers of rows as keep the sums in registers: all of
// them for one x (which then takes the whole depth at a time), two or one for a batch.
template <int kBatch>
__attribute__((target(PARETOKEN_AVX2))) void packed_avx2(const GemvCall& call) {
    const Activations& x = *call.x;
    const __m256i high_half = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
    constexpr std::size_t kLine = 4 * kPanel;
    constexpr int kTogether = kBatch == 1 ? 4 : kBatch <= 8 ? 2 : 1;
    const std::size_t stretch = kBatch == 1 ? x.k : 128;  // weights along k
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        const std::byte* const panel = call.weights + first * row_bytes(kType, x.k);
        __m256 sum[kBatch][4] = {};
        for (std::size_t begin = 0; begin < x.k; begin += stretch) {
            const std::size_t end = std::min(begin + stretch, x.k);
            for (int from = 0; from < 4; from += kTogether) {
                const std::byte* w = panel + begin / 2 * kLine + 32 * from;
                __m256 even_sum[kBatch][kTogether];
                __m256 odd_sum[kBatch][kTogether] = {};
                for (int b = 0; b < kBatch; ++b) {
                    for (int r = 0; r < kTogether; ++r) even_sum[b][r] = sum[b][from + r];
                }
                const float* values = x.interleaved_values.data() + begin * kBatch;
                for (std::size_t i = begin; i < end; i += 2, w += kLine, values += 2 * kBatch) {
                    for (int r = 0; r < kTogether; r += 2) __builtin_prefetch(w + kAhead + 32 * r);
                    for (int r = 0; r < kTogether; ++r) {
                        const __m256i pair = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32 * r));
                        const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
                        const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pair, high_half));
                        for (int b = 0; b < kBatch; ++b) {
                            __m256& other = kBatch <= 2 ? odd_sum[b][r] : even_sum[b][r];
                            even_sum[b][r] = _mm256_fmadd_ps(even, _mm256_set1_ps(values[b]), even_sum[b][r]);
                            other = _mm256_fmadd_ps(odd, _mm256_set1_ps(values[kBatch + b]), other);
                        }
                    }
                }
                for (int b = 0; b < kBatch; ++b) {
                    for (int r = 0; r < kTogether; ++r)
                        sum[b][from + r] = _mm256_add_ps(even_sum[b][r], odd_sum[b][r]);
                }
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            store_rows(call.y + b * call.y_stride + first, call.rows - first, sum[b]);
        }
    }
}

template <int kBatch>
__attribute__((target(PARETOKEN_AVX512))) void row_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    const std::byte* w = call.weights;
    constexpr int kChains = kBatch == 1 ? 4 : kBatch <= 4 ? 2 : 1;
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m512 sum[kBatch][kChains] = {};
        std::size_t i = 0;
        for (; i + 32 * kChains <= x.k; i += 32 * kChains, w += 64 * kChains) {
            for (int c = 0; c < kChains; ++c) {
                __builtin_prefetch(w + kAhead + 64 * c);
                const __m512i pairs = _mm512_loadu_si512(w + 64 * c);
                for (int b = 0; b < kBatch; ++b) {
                    sum[b][c] =
                        dot_pairs(sum[b][c], pairs, _mm512_loadu_si512(&x.bf16[b * x.k + i + 32 * c]));
                }
            }
        }
        for (; i < x.k; i += 32, w += 64) {
            for (int b = 0; b < kBatch; ++b) {
                sum[b][0] =
                    dot_pairs(sum[b][0], _mm512_loadu_si512(w), _mm512_loadu_si512(&x.bf16[b * x.k + i]));
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            for (int c = 1; c < kChains; ++c) sum[b][0] = _mm512_add_ps(sum[b][0], sum[b][c]);
            call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(sum[b][0]);
        }
    }
}

/// Adds a stretch of a panel, `steps` pairs deep, to the sums of kAtOnce of a batch of kBatch, whose `pairs`
/// are [steps, kBatch] and begin at the first of them.
template <int kBatch, int kAtOnce, Fetch kFetch>
PARETOKEN_INLINE_AVX512 void add_stretch(const std::byte* w, std::size_t steps, const std::uint32_t* pairs,
                                         __m512* low_sum, __m512* high_sum) {
    constexpr int kChains = kBatch == 1 ? 4 : kBatch <= 4 ? 2 : 1;  // the latency of a dot is about 6 cycles
    __m512 low[kAtOnce][kChains] = {};
    __m512 high[kAtOnce][kChains] = {};
    for (int b = 0; b < kAtOnce; ++b) low[b][0] = low_sum[b], high[b][0] = high_sum[b];
    for (std::size_t i = 0; i < steps; i += kChains, w += 128 * kChains, pairs += kBatch * kChains) {
        for (int c = 0; c < kChains; ++c) {
            const std::byte* const line = w + 128 * c;
            const __m512i first_rows = _mm512_loadu_si512(line);
            const __m512i last_rows = _mm512_loadu_si512(line + 64);
            for (int b = 0; b < kAtOnce; ++b) {
                const __m512i pair = _mm512_set1_epi32(static_cast<int>(pairs[c * kBatch + b]));
                const Fetch fetch = b == 0 ? kFetch : Fetch::none;
                low[b][c] = dot_pairs(low[b][c], first_rows, pair, line, fetch);
                high[b][c] = dot_pairs(high[b][c], last_rows, pair, line + 64, fetch);
            }
        }
    }
    for (int b = 0; b < kAtOnce; ++b) {
        low_sum[b] = low[b][0], high_sum[b] = high[b][0];
        for (int c = 1; c < kChains; ++c) {
            low_sum[b] = _mm512_add_ps(low_sum[b], low[b][c]);
            high_sum[b] = _mm512_add_ps(high_sum[b], high[b][c]);
        }
    }
}

// Processes the whole depth at a time, or if the batch is too large, 8 KiB, which L1 keeps for the batch's
// parts.
template <int kBatch, Fetch kFetch>
__attribute__((target(PARETOKEN_AVX512))) void packed_avx512(const GemvCall& call) {
    const Activations& x = *call.x;
    constexpr int kAtOnce = std::min(kBatch, kMostAtOnce);
    const std::size_t stretch = kBatch <= kMostAtOnce ? x.k : 128;  // weights along k
    const std::byte* w = call.weights;
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        __m512 low[kBatch] = {};
        __m512 high[kBatch] = {};
        const std::uint32_t* pairs = x.interleaved_pairs.data();
        for (std::size_t left = x.k; left != 0;) {
            const std::size_t steps = std::min(stretch, left) / 2;
            for (int from = 0; from < kBatch; from += kAtOnce)
                add_stretch<kBatch, kAtOnce, kFetch>(w, steps, pairs + from, low + from, high + from);
            left -= 2 * steps;
            w += 128 * steps;
            pairs += kBatch * steps;
        }
        for (int b = 0; b < kBatch; ++b)
            store_rows(call.y + b * call.y_stride + first, call.rows - first, low[b], high[b]);
    }
}
#endif

PARETOKEN_KERNELS;
constexpr auto kGemvs = gemv_table<Kernels>(kType);

}  // namespace

std::span<const GemvVariant> bf16_gemvs() {
    return kGemvs;
}

void pack_bf16(const std::byte* block, std::byte* panel_block, std::size_t row) {
    for (std::size_t pair = 0; pair < kBlock / 2; ++pair) {
        std::memcpy(panel_block + (pair * kPanel + row) * 4, block + pair * 4, 4);
    }
}

}  // namespace paretoken::microbench
