#pragma once
// The body of the decode kernel of multi-head latent attention, which a GPU and the tests' emulation both
// run. A block of four warps processes kMlaTokens tokens at a time. For the scores each warp has a quarter of
// the 576 dimensions, and for the results a quarter of the 512. Queries and results therefore fit in
// registers, and a row is read once.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/attention_combine.h"
#include "microbench/gpu/attention/attention_softmax.h"
#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/attention/split.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

inline constexpr int kMlaRow = 576;    ///< numbers of a cached row, and of a query
inline constexpr int kMlaValue = 512;  ///< numbers of a value: the first ones of the row
/// Number of tokens per step, which a stage in shared memory holds. With 16, two blocks with four stages fit
/// on a multiprocessor with 164 KiB of shared memory (sm_80) or more.
inline constexpr int kMlaTokens = 16;
inline constexpr int kMlaScoreTiles = kMlaTokens / 8;      ///< tiles of eight tokens
inline constexpr int kMlaOwnTokens = kMlaTokens / kWarps;  ///< tokens that one warp copies
inline constexpr int kMlaChunks = kMlaRow * 2 / 16;        ///< chunks of 16 bytes in a row
inline constexpr int kMlaSteps = kMlaRow / 16 / kWarps;    ///< steps of the score product per warp
inline constexpr int kMlaTiles = kMlaValue / 8 / kWarps;   ///< tiles of eight result columns per warp
/// Distance between the scores of two query heads in shared memory, in floats.
inline constexpr int kMlaScoreStride = kMlaTokens + 8;
inline constexpr int kMlaStageBytes = kMlaTokens * kMlaRow * 2;
/// Shared memory besides the stages: the scores of each warp for 16 query heads, and a flag.
inline constexpr int kMlaFixedBytes = kWarps * 16 * kMlaScoreStride * 4 + 16;

/// The arguments of one launch. Pointers refer to the memory of the machine that runs the kernel.
struct MlaCall {
    const std::uint16_t* pool = nullptr;          ///< [pages][page][576] bf16
    const std::uint16_t* q = nullptr;             ///< [requests, heads, 576] bf16
    const std::int32_t* pages = nullptr;          ///< PageTable::pages
    const std::int32_t* first_page = nullptr;     ///< PageTable::first
    const Segment* segments = nullptr;            ///< SplitPlan::segments
    const std::int32_t* first_segment = nullptr;  ///< SplitPlan::first
    float* partial_out = nullptr;                 ///< [partials, 16, 512]
    float* partial_lse = nullptr;                 ///< [partials, 16], log2 of the sum of 2^score
    /// [sequences], the number of finished partial results of each; zero before and after every launch
    std::int32_t* counters = nullptr;
    float* out = nullptr;         ///< [requests, heads, 512]
    std::int32_t heads = 16;      ///< query heads
    std::int32_t page_shift = 0;  ///< log2 of the tokens per page
    std::int32_t stages = 2;
    float score_scale = 0;  ///< log2 e / √192; before absorption, a head has 192 dimensions
};

/// Returns the offset in bytes of a 16-byte chunk of the row of a token in a stage. The exclusive or avoids
/// bank conflicts.
PARETOKEN_HOST_DEVICE constexpr int mla_place(int token, int chunk) {
    return (token * (kMlaChunks / 8) + chunk / 8) * 128 + (chunk % 8 ^ (token & 7)) * 16;
}

/// Starts the copies of rows from the cache to the stages in shared memory. Each warp copies a quarter of the
/// rows.
template <class Machine>
struct MlaLoader {
    const MlaCall& call;
    TokenWalk<kMlaTokens> walk;

    PARETOKEN_HOST_DEVICE MlaLoader(const Machine& m, const MlaCall& c)
        : call(c),
          walk{c.pages,
               c.first_page,
               c.page_shift,
               m.warp() * kMlaOwnTokens,
               c.segments,
               c.first_segment[m.piece()],
               c.first_segment[m.piece() + 1]} {
        walk.enter();
    }

    /// Starts the copies of the next step into the stage `to`.
    PARETOKEN_HOST_DEVICE void load(Machine& m, std::byte* to) {
        if (walk.done()) return;
        copy(m, to);
        walk.advance();
    }

    /// Starts the copies of this warp's rows. Rows outside the segment become zeros, because the whole block
    /// multiplies them.
    PARETOKEN_HOST_DEVICE void copy(Machine& m, std::byte* to) const {
        const bool any = walk.has_tokens();
        const std::int64_t row =
            any ? (static_cast<std::int64_t>(walk.page) << call.page_shift) + walk.slot() : 0;
        const auto* const from = reinterpret_cast<const std::byte*>(call.pool + row * kMlaRow);
        PARETOKEN_UNROLL_BY(9)
        for (int i = 0; i < kMlaOwnTokens * kMlaChunks / 32; ++i) {
            const int index = i * 32 + m.lane();
            const int own = index / kMlaChunks;
            m.copy_async(to + mla_place(m.warp() * kMlaOwnTokens + own, index % kMlaChunks),
                         from + index * 16, any && walk.holds(own));
        }
    }
};

/// The queries, the running softmax and the results of one warp, in registers as mma.m16n8k16 lays them out,
/// for the 16 query heads of a tile.
template <class Machine>
struct MlaWarp : RunningSoftmax<Machine, kMlaTiles> {
    using Softmax = RunningSoftmax<Machine, kMlaTiles>;
    using Softmax::maximum;
    using Softmax::out;
    using Softmax::sum;

    std::uint32_t q[kMlaSteps][4];  ///< the A operands of this warp's quarter of the dimensions

    /// Loads the queries of a segment and resets the softmax.
    PARETOKEN_HOST_DEVICE void begin(const Machine& m, const MlaCall& call, const Segment& segment) {
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        const int first = segment.head * kWarpTokens;
        const std::int64_t head = static_cast<std::int64_t>(segment.request) * call.heads + first;
        PARETOKEN_UNROLL
        for (int step = 0; step < kMlaSteps; ++step) {
            PARETOKEN_UNROLL
            for (int r = 0; r < 4; ++r) {
                const int row = g + r % 2 * 8;
                const int dim = (m.warp() * kMlaSteps + step) * 16 + r / 2 * 8 + 2 * t;
                const std::uint16_t* const at = call.q + (head + row) * kMlaRow + dim;
                q[step][r] = first + row < call.heads ? at[0] | static_cast<std::uint32_t>(at[1]) << 16 : 0;
            }
        }
        Softmax::clear();
    }

    /// Computes this warp's part of all scores, over its quarter of the dimensions, and writes it to shared
    /// memory.
    PARETOKEN_HOST_DEVICE void score(const Machine& m, const std::byte* stage, float* scores) const {
        float s[kMlaScoreTiles][4];
        PARETOKEN_UNROLL
        for (int j = 0; j < kMlaScoreTiles; ++j) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0;
        const int token = m.lane() / 16 * 8 + m.lane() % 8;
        PARETOKEN_UNROLL
        for (int step = 0; step < kMlaSteps; ++step) {
            const int chunk = 2 * (m.warp() * kMlaSteps + step) + m.lane() / 8 % 2;
            PARETOKEN_UNROLL
            for (int pair = 0; pair < kMlaTokens / 16; ++pair) {
                std::uint32_t k[4];
                m.ldmatrix(k, stage + mla_place(16 * pair + token, chunk));
                m.template mma<true>(s[2 * pair], q[step], k[0], k[1]);
                m.template mma<true>(s[2 * pair + 1], q[step], k[2], k[3]);
            }
        }
        float* const own = scores + m.warp() * 16 * kMlaScoreStride;
        PARETOKEN_UNROLL
        for (int j = 0; j < kMlaScoreTiles; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                own[(m.lane() / 4 + c / 2 * 8) * kMlaScoreStride + 8 * j + m.lane() % 4 * 2 + c % 2] =
                    s[j][c];
            }
        }
    }

    /// Adds the tokens of a stage to the running softmax and the results. Every warp sums the parts that
    /// the four warps have written to `scores`, and applies the softmax to all scores, so that the warps
    /// need not exchange weights.
    PARETOKEN_HOST_DEVICE void add(const Machine& m, const MlaCall& call, const std::byte* stage,
                                   const float* scores, std::int32_t token, std::int32_t first,
                                   std::int32_t last) {
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        float s[kMlaScoreTiles][4];
        PARETOKEN_UNROLL
        for (int j = 0; j < kMlaScoreTiles; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                float value = 0;
                PARETOKEN_UNROLL
                for (int w = 0; w < kWarps; ++w) {
                    value += scores[(w * 16 + g + c / 2 * 8) * kMlaScoreStride + 8 * j + 2 * t + c % 2];
                }
                s[j][c] = value * call.score_scale;
            }
        }
        if (token < first || token + kMlaTokens > last) Softmax::hide(m, s, first - token, last - token);
        Softmax::soften(m, s);
        accumulate(m, stage, s);
    }

    /// Adds weights · values to this warp's columns of the results.
    PARETOKEN_HOST_DEVICE void accumulate(const Machine& m, const std::byte* stage,
                                          const float (&p)[kMlaScoreTiles][4]) {
        const int token = m.lane() / 8 % 2 * 8 + m.lane() % 8;
        PARETOKEN_UNROLL
        for (int half = 0; half < kMlaTokens / 16; ++half) {  // 16 tokens per iteration
            std::uint32_t weights[4];
            PARETOKEN_UNROLL
            for (int r = 0; r < 4; ++r) {
                weights[r] =
                    m.template pack<true>(p[2 * half + r / 2][r % 2 * 2], p[2 * half + r / 2][r % 2 * 2 + 1]);
            }
            PARETOKEN_UNROLL
            for (int i = 0; i < kMlaTiles / 2; ++i) {
                std::uint32_t v[4];
                const int chunk = m.warp() * kMlaTiles + 2 * i + m.lane() / 16;
                m.ldmatrix_transposed(v, stage + mla_place(16 * half + token, chunk));
                m.template mma<true>(out[2 * i], weights, v[0], v[1]);
                m.template mma<true>(out[2 * i + 1], weights, v[2], v[3]);
            }
        }
    }

    /// Writes the results of a segment. The block that finishes the last segment of a sequence combines the
    /// partial results of all its segments. `flag` is in shared memory.
    PARETOKEN_HOST_DEVICE void write(Machine& m, const MlaCall& call, const Segment& segment,
                                     std::int32_t* flag) {
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        const int first = segment.head * kWarpTokens;
        const int rows = call.heads - first < kWarpTokens ? call.heads - first : kWarpTokens;
        float* const out_rows =
            call.out + (static_cast<std::int64_t>(segment.request) * call.heads + first) * kMlaValue;
        float* to = out_rows;
        if (segment.partials > 1) {
            to = call.partial_out + static_cast<std::int64_t>(segment.partial) * kWarpTokens * kMlaValue;
        }
        Softmax::finish_sums(m);
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            const int head = g + 8 * row;
            if (head >= rows) continue;
            const float share = 1 / sum[row];
            PARETOKEN_UNROLL
            for (int i = 0; i < kMlaTiles; ++i) {
                PARETOKEN_UNROLL
                for (int c = 0; c < 2; ++c) {
                    to[head * kMlaValue + (m.warp() * kMlaTiles + i) * 8 + 2 * t + c] =
                        out[i][2 * row + c] * share;
                }
            }
            if (segment.partials > 1 && m.warp() == 0 && t == 0) {
                call.partial_lse[static_cast<std::int64_t>(segment.partial) * kWarpTokens + head] =
                    maximum[row] + m.log2(sum[row]);
            }
        }
        if (segment.partials == 1) return;
        if (is_last_partial(m, segment, call.counters, flag)) {
            combine<kMlaValue>(m, segment, call.partial_out, call.partial_lse, rows, {.wide = out_rows},
                               nullptr);
        }
    }
};

/// Runs one thread of the block that works on piece `m.piece()` of the plan.
template <class Machine>
PARETOKEN_HOST_DEVICE void mla_body(Machine& m, const MlaCall& call) {
    std::byte* const stages = m.shared();
    auto* const scores = reinterpret_cast<float*>(stages + call.stages * kMlaStageBytes);
    auto* const flag = reinterpret_cast<std::int32_t*>(scores + kWarps * 16 * kMlaScoreStride);
    MlaLoader<Machine> loader(m, call);
    MlaWarp<Machine> warp;
    for (int i = 0; i + 1 < call.stages; ++i) {
        loader.load(m, stages + i * kMlaStageBytes);
        m.commit_copies();
    }
    int stage = 0;
    int free_stage = call.stages - 1;
    const std::int32_t end = loader.walk.end;
    for (std::int32_t index = call.first_segment[m.piece()]; index < end; ++index) {
        const Segment& segment = call.segments[index];
        warp.begin(m, call, segment);
        const std::int32_t first = segment.first;
        const std::int32_t last = segment.last;
        std::int32_t token = first / kWarpTokens * kWarpTokens;
        for (; token < last; token += kMlaTokens) {
            m.wait_for_copies(call.stages - 2);
            m.sync_block();  // the tile is complete, and all warps have finished the previous one
            loader.load(m, stages + free_stage * kMlaStageBytes);
            m.commit_copies();
            const std::byte* const tile = stages + stage * kMlaStageBytes;
            warp.score(m, tile, scores);
            m.sync_block();
            warp.add(m, call, tile, scores, token, first, last);
            free_stage = stage;
            stage = stage + 1 == call.stages ? 0 : stage + 1;
        }
        warp.write(m, call, segment, flag);
    }
}

}  // namespace paretoken::microbench::gpu
