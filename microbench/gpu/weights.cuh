#pragma once
// y[batch, rows] = W[rows, k] · x[batch, k] for batches up to 32: W streamed once as mma A fragments straight
// into registers, x as the n8 operand from L1. Each warp takes an even share of the units as one linear
// stream, however the matrix is shaped; what it leaves of a block of rows is summed in a fixed order (no
// float atomics).
#include <cuda_fp16.h>

#include <cstdint>

#include "microbench/gpu/mma.cuh"
#include "microbench/gpu/weights_layout.h"

namespace paretoken::microbench::gpu {

struct WeightsCall {
    const uint4* weights = nullptr;
    const std::uint32_t* scales = nullptr;
    const std::uint16_t* x = nullptr;  ///< [batch, k], bf16 or fp16
    float* y = nullptr;                ///< [batch, rows]
    float* partials = nullptr;         ///< [blocks, 2, batch, rows of a unit]
    unsigned* arrivals = nullptr;      ///< [row blocks], zero between launches
    int rows = 0;
    int batch = 0;
    int steps = 0;  ///< k / 64
    RowBlockDivision division;
};

/// How stored words become mma operands. `kRowScale`: what a row's scale is multiplied by.
struct Bf16Weights {
    using Mma = Bf16;
    static constexpr WeightFormat kFormat = WeightFormat::bf16;
    static constexpr float kRowScale = 1;
    __device__ static std::uint32_t pair(std::uint32_t word, int) { return word; }
};
struct Fp16Weights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::fp16;
    static constexpr float kRowScale = 1;
    __device__ static std::uint32_t pair(std::uint32_t word, int) { return word; }
};
struct Fp8ShiftedWeights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::fp8;
    static constexpr float kRowScale = kRawE4m3Scale;
    __device__ static std::uint32_t pair(std::uint32_t word, int p) { return raw_e4m3_pair(word, p); }
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
struct Fp8Weights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::fp8;
    static constexpr float kRowScale = 1;
    __device__ static std::uint32_t pair(std::uint32_t word, int p) {
        std::uint32_t halves = 0;
        const auto codes = static_cast<std::uint16_t>(p == 0 ? word : word >> 16);
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(codes));
        return halves;
    }
};
#else
struct Fp8Weights : Fp8ShiftedWeights {};  // no such conversion below sm_89
#endif
__device__ __forceinline__ std::uint32_t corrected(std::uint32_t raw, Correction correction) {
    __half2 value = *reinterpret_cast<const __half2*>(&raw);
    const __half2 addend = __float2half2_rn(correction.addend);
    value = correction.multiplier == 1 ? __hadd2(value, addend)
                                       : __hfma2(value, __float2half2_rn(correction.multiplier), addend);
    return *reinterpret_cast<const std::uint32_t*>(&value);
}
struct Int8Weights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::int8;
    static constexpr float kRowScale = 1;
    __device__ static std::uint32_t pair(std::uint32_t word, int p) {
        return corrected(raw_int8_pair(word, p), kInt8Correction);
    }
};
struct Int4Weights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::int4;
    __device__ static std::uint32_t pair(std::uint32_t word, int p) {
        return corrected(raw_int4_pair(word, p), int4_correction(p));
    }
    /// Of the rows g and g + 8, for one block of 32.
    __device__ static float2 scales(std::uint32_t word, int) {
        return __half22float2(*reinterpret_cast<const __half2*>(&word));
    }
};
struct Mxfp4Weights {
    using Mma = F16;
    static constexpr WeightFormat kFormat = WeightFormat::mxfp4;
    __device__ static std::uint32_t pair(std::uint32_t word, int p) { return raw_e2m1_pair(word, p); }
    __device__ static float2 scales(std::uint32_t word, int block) {
        const std::uint32_t both = block == 0 ? word : word >> 16;
        return {__uint_as_float(float_bits_of_raw_e8m0(both & 0xff)),
                __uint_as_float(float_bits_of_raw_e8m0(both >> 8 & 0xff))};
    }
};

inline constexpr int kWeightThreads = kWeightWarps * kLanes;

/// `kColumns` · 8 ≥ batch; `kParts` · 16 rows per unit.
template <class Weights, int kColumns, int kParts>
struct WeightsKernel {
    static constexpr WeightFormat kFormat = Weights::kFormat;
    static constexpr int kLoads = loads_of(kFormat);
    static constexpr bool kGrouped = group_of(kFormat) != 0;
    static constexpr bool kRowScaled = bits_of(kFormat) == 8;
    static constexpr int kRows = 16 * kParts;
    static constexpr int kColumnStride =
        kRows + 4;  ///< in shared memory: the four columns of a store then lie in other banks
    static constexpr int kSlot = kColumns * 8 * kColumnStride;
    static constexpr int kSharedBytes = kWeightWarps * 2 * kSlot * 4;
    /// Units on the way: 12 loads of 16 bytes per lane, 8 of the smallest, fewer where accumulators take the
    /// registers. Even, as x alternates between two sets of registers.
    static constexpr int kStages = kColumns < 4  ? (kLoads == 4   ? 4
                                                    : kLoads == 2 ? 6
                                                                  : 8)
                                   : kParts == 1 ? (kLoads == 4   ? 2
                                                    : kLoads == 2 ? 4
                                                                  : 6)
                                                 : 3;
    /// x of the next unit is on the way while this one is multiplied, where registers allow it.
    static constexpr bool kXAhead = kColumns == 1;
    static_assert(!kXAhead || kStages % 2 == 0);

    struct Stage {
        uint4 words[kParts][kLoads];
        std::uint32_t scales[kParts];
    };

    const WeightsCall& call;
    std::uint64_t policy;
    int lane;

    __device__ void load(Stage& stage, const uint4* at, int row_block, int step) const {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
#pragma unroll
            for (int i = 0; i < kLoads; ++i) {
                stage.words[part][i] = load_streamed(at + (part * kLoads + i) * kLanes, policy);
            }
            if constexpr (kGrouped) {
                const int groups = kFormat == WeightFormat::int4 ? call.steps / 2 : call.steps;
                const int group = kFormat == WeightFormat::int4 ? step / 2 : step;
                const auto index =
                    (static_cast<std::size_t>(row_block * kParts + part) * groups + group) * 8 + lane / 4;
                stage.scales[part] = __ldg(call.scales + index);
            }
        }
    }

    /// x of half a unit: 16 bytes of each column make the registers of two mma tiles.
    using X = uint4[kColumns];
    __device__ void load_x(X& x, int step, int half) const {
        const unsigned row_words = static_cast<unsigned>(call.steps) * (kUnitK / 8);  // of 16 bytes
        unsigned at = lane / 4 * row_words + step * (kUnitK / 8) + half * 4 + lane % 4;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            x[c] = c * 8 + lane / 4 < call.batch ? __ldg(reinterpret_cast<const uint4*>(call.x) + at)
                                                 : uint4{0, 0, 0, 0};
            at += 8 * row_words;
        }
    }

    __device__ static void operand(std::uint32_t (&a)[4], const uint4 (&words)[kLoads], int tile) {
        const auto word = [&](int load, int index) {
            const uint4& v = words[load];
            return index == 0 ? v.x : index == 1 ? v.y : index == 2 ? v.z : v.w;
        };
#pragma unroll
        for (int reg = 0; reg < 4; ++reg) {
            const Place place = place_in_part(bits_of(kFormat), 0, tile, 2 * reg);
            const int load = static_cast<int>(place.word) / (kLanes * 4);
            a[reg] = Weights::pair(word(load, static_cast<int>(place.word) % 4), place.pair);
        }
    }

    /// `ahead`: x of this unit, when it was loaded ahead.
    __device__ void multiply(float (&sums)[kParts][kColumns][4], const Stage& stage, int step,
                             const X (&ahead)[2]) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            X x;
            if constexpr (kXAhead) {
#pragma unroll
                for (int c = 0; c < kColumns; ++c) x[c] = ahead[half][c];
            } else {
                load_x(x, step, half);
            }
#pragma unroll
            for (int part = 0; part < kParts; ++part) {
                float block[kColumns][4];
                if constexpr (kGrouped) {
#pragma unroll
                    for (int c = 0; c < kColumns; ++c)
                        block[c][0] = block[c][1] = block[c][2] = block[c][3] = 0;
                }
                float(&into)[kColumns][4] = kGrouped ? block : sums[part];
#pragma unroll
                for (int tile = 2 * half; tile < 2 * half + 2; ++tile) {
                    std::uint32_t a[4];
                    operand(a, stage.words[part], tile);
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) {
                        if (tile % 2 == 0) {
                            mma<typename Weights::Mma>(into[c], a, x[c].x, x[c].y);
                        } else {
                            mma<typename Weights::Mma>(into[c], a, x[c].z, x[c].w);
                        }
                    }
                }
                if constexpr (kGrouped) {
                    const float2 scale = Weights::scales(stage.scales[part], half);
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) {
                        sums[part][c][0] += scale.x * block[c][0];
                        sums[part][c][1] += scale.x * block[c][1];
                        sums[part][c][2] += scale.y * block[c][2];
                        sums[part][c][3] += scale.y * block[c][3];
                    }
                }
            }
        }
    }

    /// Sums to `to`, which has its columns `stride` apart and begins with the block's first row; `rows` of it
    /// exist.
    __device__ void put(float (&sums)[kParts][kColumns][4], float* to, std::size_t stride, int rows,
                        int row_block) const {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            float scale[2] = {1, 1};
            if constexpr (kRowScaled) {
                const auto* const of_rows = reinterpret_cast<const float*>(call.scales) +
                                            static_cast<std::size_t>(row_block) * kRows + part * 16;
                scale[0] = __ldg(of_rows + lane / 4) * Weights::kRowScale;
                scale[1] = __ldg(of_rows + lane / 4 + 8) * Weights::kRowScale;
            }
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
#pragma unroll
                for (int i = 0; i < kCElements; ++i) {
                    const Element at = c_element(lane, i);
                    const int row = part * 16 + at.row;
                    const int column = c * 8 + at.column;
                    if (row < rows && column < call.batch)
                        to[static_cast<std::size_t>(column) * stride + row] = sums[part][c][i] * scale[i / 2];
                    sums[part][c][i] = 0;
                }
            }
        }
    }

    __device__ int existing_rows(int row_block) const {
        const int left = call.rows - row_block * kRows;
        return left < kRows ? left : kRows;
    }

    /// Streams this warp's share. Blocks of rows that it has for itself go to y, of others its part goes to
    /// shared memory: slot 0 for the first block of the share when it begins before the share, else slot 1.
    __device__ void stream(std::uint32_t first, std::uint32_t end, float* slots) const {
        Stage stages[kStages];
        X x[2][2];  // [parity of the unit][half]
        float sums[kParts][kColumns][4] = {};
        int ahead_block = static_cast<int>(first / static_cast<std::uint32_t>(call.steps));
        int ahead_step = static_cast<int>(first) - ahead_block * call.steps;
        int row_block = ahead_block;
        int step = ahead_step;
        const auto units = static_cast<int>(end - first);
        int loaded = 0;
        const uint4* at = call.weights + static_cast<std::size_t>(first) * (kParts * kLoads * kLanes) + lane;
        const auto load_next = [&](Stage& stage) {
            if (loaded == units) return;
            load(stage, at, ahead_block, ahead_step);
            ++loaded;
            at += kParts * kLoads * kLanes;
            if (++ahead_step == call.steps) {
                ahead_step = 0;
                ++ahead_block;
            }
        };
#pragma unroll
        for (int i = 0; i < kStages; ++i) load_next(stages[i]);
        const auto load_x_ahead = [&](X(&to)[2], int of_step) {
            if constexpr (kXAhead) {
                load_x(to[0], of_step, 0);
                load_x(to[1], of_step, 1);
            }
        };
        load_x_ahead(x[0], step);
        int began_at = step;
        for (int unit = 0; unit < units; unit += kStages) {
#pragma unroll
            for (int i = 0; i < kStages; ++i) {
                if (unit + i < units) {
                    const bool last_of_block = step + 1 == call.steps;
                    const int next_step = last_of_block ? 0 : step + 1;
                    load_x_ahead(x[(i + 1) % 2], next_step);
                    multiply(sums, stages[i], step, x[i % 2]);
                    load_next(stages[i]);
                    if (last_of_block || unit + i + 1 == units) {
                        const bool whole = last_of_block && began_at == 0;
                        float* const to = whole ? call.y + static_cast<std::size_t>(row_block) * kRows
                                                : slots + (began_at != 0 ? 0 : kSlot);
                        put(sums, to, whole ? static_cast<std::size_t>(call.rows) : kColumnStride,
                            whole ? existing_rows(row_block) : kRows, row_block);
                        began_at = 0;
                        ++row_block;
                    }
                    step = next_step;
                }
            }
        }
    }

    /// Sums what the warps of this thread block, from `warp` on, have of a block of rows. Where other thread
    /// blocks have parts too the sum goes to `partials`, and the last one to arrive adds all of them up.
    __device__ void combine(std::uint32_t row_block, std::uint32_t warp, const float* slots) const {
        const RowBlockDivision& division = call.division;
        const std::uint32_t end = (row_block + 1) * division.steps;
        const std::uint32_t first_warp = blockIdx.x * kWeightWarps;
        const bool all_here = division.within(blockIdx.x, row_block);
        const unsigned values = static_cast<unsigned>(call.batch) * kRows;
        const auto partial_of = [&](std::uint32_t block) {
            return call.partials +
                   static_cast<std::size_t>(block * 2 + division.thread_block_slot(block, row_block)) *
                       values;
        };
        const auto rows = static_cast<unsigned>(existing_rows(static_cast<int>(row_block)));
        float* const y = call.y + static_cast<std::size_t>(row_block) * kRows;
        for (unsigned i = lane; i < values; i += kLanes) {
            float sum = 0;
            for (std::uint32_t w = warp; w < kWeightWarps; ++w) {
                const std::uint32_t first = division.first(first_warp + w);
                if (first >= end) break;
                if (first == division.end(first_warp + w)) continue;
                const float* const slot = slots + (w * 2 + division.slot(first_warp + w, row_block)) * kSlot;
                sum += slot[i / kRows * kColumnStride + i % kRows];
            }
            if (!all_here) {
                partial_of(blockIdx.x)[i] = sum;
            } else if (i % kRows < rows) {
                y[static_cast<std::size_t>(i / kRows) * call.rows + i % kRows] = sum;
            }
        }
        if (all_here) return;
        const std::uint32_t first_block = division.first_thread_block(row_block);
        const std::uint32_t last_block = division.last_thread_block(row_block);
        __threadfence();
        __syncwarp();
        unsigned arrived = 0;
        if (lane == 0) arrived = atomicAdd(call.arrivals + row_block, 1U);
        arrived = __shfl_sync(0xffffffffU, arrived, 0);
        if (arrived != last_block - first_block) return;
        __threadfence();
        for (unsigned i = lane; i < values; i += kLanes) {
            float sum = 0;
            for (std::uint32_t block = first_block; block <= last_block; ++block)
                sum += __ldcg(partial_of(block) + i);
            if (i % kRows < rows) y[static_cast<std::size_t>(i / kRows) * call.rows + i % kRows] = sum;
        }
        if (lane == 0) call.arrivals[row_block] = 0;
    }

    __device__ void run(float* shared) const {
        const std::uint32_t warp_here = threadIdx.x / kLanes;
        const std::uint32_t warp = blockIdx.x * kWeightWarps + warp_here;
        stream(call.division.first(warp), call.division.end(warp), shared + warp_here * 2 * kSlot);
        __syncthreads();
        const RowBlockDivision::Duties duties = call.division.duties_of(warp);
        if (duties.first) combine(duties.first_block, warp_here, shared);
        if (duties.last) combine(duties.last_block, warp_here, shared);
    }
};

template <class Weights, int kColumns, int kParts>
__global__ void __launch_bounds__(kWeightThreads, 2) multiply_weights(const WeightsCall call) {
    extern __shared__ float shared[];
    WeightsKernel<Weights, kColumns, kParts>{call, evict_first_policy(),
                                             static_cast<int>(threadIdx.x % kLanes)}
        .run(shared);
}

}  // namespace paretoken::microbench::gpu
