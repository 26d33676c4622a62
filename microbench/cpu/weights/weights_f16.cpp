// IEEE half weights: widened in the registers and multiplied by the unchanged x in fp32.
#include "microbench/cpu/weights/weights.h"

#include <algorithm>
#include <cstring>

#include "microbench/cpu/weights/gemv_table.h"

#if defined(PARETOKEN_X86)
#include "microbench/cpu/vectors.h"
#endif

namespace paretoken::microbench {
namespace {

constexpr WeightType kType = WeightType::f16;
[[maybe_unused]] constexpr std::size_t kAhead = 4096;

void row_scalar(const GemvCall& call) {
    const Activations& x = *call.x;
    for (std::size_t row = 0; row < call.rows; ++row) {
        const std::byte* const w = call.weights + row * row_bytes(kType, x.k);
        for (std::size_t b = 0; b < x.batch; ++b) {
            float sum[8]{};
            for (std::size_t i = 0; i < x.k; ++i) {
                sum[i % 8] += float_of_f16(load_u16(w + 2 * i)) * x.values[b * x.k + i];
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
            float sum[2][kPanel]{};
            for (std::size_t i = 0; i < x.k; ++i) {
                for (std::size_t r = 0; r < kPanel; ++r) {
                    const float w = float_of_f16(load_u16(panel + (i * kPanel + r) * 2));
                    sum[i % 2][r] += w * x.values[b * x.k + i];
                }
            }
            for (std::size_t r = 0; r < std::min(kPanel, call.rows - first); ++r) {
                call.y[b * call.y_stride + first + r] = sum[0][r] + sum[1][r];
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
            const __m256 low = halves_as_floats(w);
            const __m256 high = halves_as_floats(w + 16);
            for (int b = 0; b < kBatch; ++b) {
                const float* const values = x.values.data() + b * x.k + i;
                sum[b][0] = _mm256_fmadd_ps(low, _mm256_loadu_ps(values), sum[b][0]);
                sum[b][1] = _mm256_fmadd_ps(high, _mm256_loadu_ps(values + 8), sum[b][1]);
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
    constexpr std::size_t kLine = 2 * kPanel;
    constexpr int kTogether = kBatch == 1 ? 4 : kBatch <= 8 ? 2 : 1;
    constexpr int kChains = kBatch == 1 ? 2 : 1;
    const std::size_t stretch = kBatch == 1 ? x.k : 128;  // weights along k
    for (std::size_t first = 0; first < call.rows; first += kPanel) {
        const std::byte* const panel = call.weights + first * row_bytes(kType, x.k);
        __m256 sum[kBatch][4] = {};
        for (std::size_t begin = 0; begin < x.k; begin += stretch) {
            const std::size_t end = std::min(begin + stretch, x.k);
            for (int from = 0; from < 4; from += kTogether) {
                const std::byte* w = panel + begin * kLine + 16 * from;
                __m256 part[kChains][kBatch][kTogether] = {};
                const float* values = x.interleaved_values.data() + begin * kBatch;
                for (std::size_t i = begin; i < end; i += kChains) {
                    for (int c = 0; c < kChains; ++c, w += kLine, values += kBatch) {
                        __builtin_prefetch(w + kAhead);
                        for (int r = 0; r < kTogether; ++r) {
                            const __m256 line = halves_as_floats(w + 16 * r);
                            for (int b = 0; b < kBatch; ++b)
                                part[c][b][r] =
                                    _mm256_fmadd_ps(line, _mm256_set1_ps(values[b]), part[c][b][r]);
                        }
                    }
                }
                for (int c = 0; c < kChains; ++c) {
                    for (int b = 0; b < kBatch; ++b) {
                        for (int r = 0; r < kTogether; ++r)
                            sum[b][from + r] = _mm256_add_ps(sum[b][from + r], part[c][b][r]);
                    }
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
    for (std::size_t row = 0; row < call.rows; ++row) {
        __m512 sum[kBatch][2] = {};
        for (std::size_t i = 0; i < x.k; i += 32, w += 64) {
            __builtin_prefetch(w + kAhead);
            const __m512 low = sixteen_halves(w);
            const __m512 high = sixteen_halves(w + 32);
            for (int b = 0; b < kBatch; ++b) {
                const float* const values = x.values.data() + b * x.k + i;
                sum[b][0] = _mm512_fmadd_ps(low, _mm512_loadu_ps(values), sum[b][0]);
                sum[b][1] = _mm512_fmadd_ps(high, _mm512_loadu_ps(values + 16), sum[b][1]);
            }
        }
        for (int b = 0; b < kBatch; ++b) {
            call.y[b * call.y_stride + row] = _mm512_reduce_add_ps(_mm512_add_ps(sum[b][0], sum[b][1]));
        }
    }
}

/// Adds a stretch of a panel, `steps` weights deep, to the sums of kAtOnce of a batch of kBatch, whose
/// `values` are [steps, kBatch] and begin at the first of them.
template <int kBatch, int kAtOnce, Fetch kFetch>
PARETOKEN_INLINE_AVX512 void add_stretch(const std::byte* w, std::size_t steps, const float* values,
                                         __m512* low_sum, __m512* high_sum) {
    constexpr int kChains = kBatch == 1 ? 4 : kBatch <= 4 ? 2 : 1;  // a product takes 4 cycles
    __m512 low[kAtOnce][kChains] = {};
    __m512 high[kAtOnce][kChains] = {};
    for (int b = 0; b < kAtOnce; ++b) low[b][0] = low_sum[b], high[b][0] = high_sum[b];
    for (std::size_t i = 0; i < steps; i += kChains, w += 64 * kChains, values += kBatch * kChains) {
        for (int c = 0; c < kChains; ++c) {
            fetch_ahead(w + 64 * c, kFetch);
            const __m512 first_rows = sixteen_halves(w + 64 * c);
            const __m512 last_rows = sixteen_halves(w + 64 * c + 32);
            for (int b = 0; b < kAtOnce; ++b) {
                const __m512 value = _mm512_set1_ps(values[c * kBatch + b]);
                low[b][c] = _mm512_fmadd_ps(first_rows, value, low[b][c]);
                high[b][c] = _mm512_fmadd_ps(last_rows, value, high[b][c]);
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
        const float* values = x.interleaved_values.data();
        for (std::size_t left = x.k; left != 0;) {
            const std::size_t steps = std::min(stretch, left);
            for (int from = 0; from < kBatch; from += kAtOnce)
                add_stretch<kBatch, kAtOnce, kFetch>(w, steps, values + from, low + from, high + from);
            left -= steps;
            w += 64 * steps;
            values += kBatch * steps;
        }
        for (int b = 0; b < kBatch; ++b)
            store_rows(call.y + b * call.y_stride + first, call.rows - first, low[b], high[b]);
    }
}
#endif

PARETOKEN_KERNELS;
constexpr auto kGemvs = gemv_table<Kernels>(kType);

}  // namespace

std::span<const GemvVariant> f16_gemvs() {
    return kGemvs;
}

void pack_f16(const std::byte* block, std::byte* panel_block, std::size_t row) {
    for (std::size_t i = 0; i < kBlock; ++i) {
        std::memcpy(panel_block + (i * kPanel + row) * 2, block + i * 2, 2);
    }
}

}  // namespace paretoken::microbench
