#pragma once
// The body of the causal attention kernel over whole prompts, which a GPU and the tests' emulation both run.
// A block of four warps processes 64 queries of one head, 16 in each warp, against 64 tokens of K and V at a
// time.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/attention_body.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

inline constexpr int kPrefillQueries = kWarps * 16;  ///< queries of a block
inline constexpr int kPrefillTokens = 64;            ///< tokens of K and V in a stage
inline constexpr int kPrefillStages = 2;             ///< stages in shared memory

/// The arguments of one launch. q, k and v are 16-bit numbers, bf16 or fp16.
struct PrefillCall {
    const std::uint16_t* q = nullptr;  ///< [batch, tokens, query heads, head_dim]
    const std::uint16_t* k = nullptr;  ///< [batch, tokens, KV heads, head_dim]
    const std::uint16_t* v = nullptr;  ///< [batch, tokens, KV heads, head_dim]
    float* out = nullptr;              ///< [batch, tokens, query heads, head_dim]
    std::int32_t batch = 1;
    std::int32_t tokens = 0;
    std::int32_t query_heads = 0;
    std::int32_t kv_heads = 0;
    float score_scale = 0;  ///< log2 e / √head_dim
};

/// Returns the number of blocks for the queries of one head of a prompt.
PARETOKEN_HOST_DEVICE constexpr std::int32_t prefill_tiles(std::int32_t tokens) {
    return (tokens + kPrefillQueries - 1) / kPrefillQueries;
}

/// The queries of one block, and what a thread of the block does for them.
template <KvFormat kFormat, int kDim, class Machine>
struct PrefillBlock {
    using Tile = WarpTile<kFormat, kDim>;
    static constexpr int kValues = kPrefillTokens * Tile::kRowBytes;  ///< offset of V in a stage, after K
    static constexpr int kStageBytes = 2 * kValues;
    static constexpr int kSharedBytes = kPrefillStages * kStageBytes;
    static constexpr int kGroups = kPrefillTokens / kWarpTokens;
    static_assert(Tile::kHalf);

    const PrefillCall& call;
    std::int32_t request;  ///< index of the prompt
    std::int32_t head;     ///< query head
    std::int32_t first;    ///< first query of the block

    /// Blocks with lower numbers, which a GPU starts first, get the queries that see the most tokens.
    PARETOKEN_HOST_DEVICE PrefillBlock(const Machine& m, const PrefillCall& c) : call(c) {
        const std::int32_t columns = c.batch * c.query_heads;
        const std::int32_t column = m.piece() % columns;
        request = column / c.query_heads;
        head = column % c.query_heads;
        first = (prefill_tiles(c.tokens) - 1 - m.piece() / columns) * kPrefillQueries;
    }

    /// Returns the index of a query's vector in q and out.
    PARETOKEN_HOST_DEVICE std::int64_t query_row(std::int32_t query) const {
        return (static_cast<std::int64_t>(request) * call.tokens + query) * call.query_heads + head;
    }

    /// Starts the copies of K and V of the 64 tokens from `token` on. Tokens beyond the prompt become zeros.
    PARETOKEN_HOST_DEVICE void load(Machine& m, std::byte* to, std::int32_t token) const {
        const std::int32_t kv_head = head / (call.query_heads / call.kv_heads);
        const std::int64_t row_step = static_cast<std::int64_t>(call.kv_heads) * kDim;
        const std::int64_t start = static_cast<std::int64_t>(request) * call.tokens * row_step +
                                   static_cast<std::int64_t>(kv_head) * kDim;
        PARETOKEN_UNROLL
        for (int i = 0; i < kPrefillTokens * Tile::kRowChunks / kThreads; ++i) {
            const int index = i * kThreads + m.warp() * 32 + m.lane();
            const int row = index / Tile::kRowChunks;
            const int chunk = index % Tile::kRowChunks;
            const bool valid = token + row < call.tokens;
            const std::int64_t from = start + (valid ? token + row : 0) * row_step + chunk * 8;
            m.copy_async(to + Tile::place(false, row, chunk),
                         reinterpret_cast<const std::byte*>(call.k + from), valid);
            m.copy_async(to + kValues + Tile::place(true, row, chunk),
                         reinterpret_cast<const std::byte*>(call.v + from), valid);
        }
    }

    /// Loads the queries of this warp.
    PARETOKEN_HOST_DEVICE void begin(const Machine& m, WarpAttention<Machine, kFormat, kDim>& warp) const {
        PARETOKEN_UNROLL
        for (int step = 0; step < kDim / 16; ++step) {
            PARETOKEN_UNROLL
            for (int r = 0; r < 4; ++r) {
                const std::int32_t query = first + m.warp() * 16 + m.lane() / 4 + r % 2 * 8;
                const int dim = query_dim<kFormat, kDim>(step, r / 2, m.lane() % 4);
                const std::uint16_t* const at =
                    call.q + query_row(query < call.tokens ? query : 0) * kDim + dim;
                warp.q[step][r] = at[0] | static_cast<std::uint32_t>(at[1]) << 16;
            }
        }
        warp.clear();
    }

    /// Adds the 64 tokens from `token` on. A query sees only the tokens up to itself.
    PARETOKEN_HOST_DEVICE void add(const Machine& m, const std::byte* tile, std::int32_t token,
                                   WarpAttention<Machine, kFormat, kDim>& warp) const {
        float s[2 * kGroups][4];
        warp.template score<kGroups>(m, tile, s);
        const std::int32_t own = first + m.warp() * 16;
        const bool all_seen = token + kPrefillTokens <= own + 1;
        PARETOKEN_UNROLL
        for (int j = 0; j < 2 * kGroups; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                s[j][c] *= call.score_scale;
                const std::int32_t query = own + m.lane() / 4 + c / 2 * 8;
                if (!all_seen && token + 8 * j + m.lane() % 4 * 2 + c % 2 > query) s[j][c] = -HUGE_VALF;
            }
        }
        warp.soften(m, s);
        warp.template accumulate<kGroups>(m, tile + kValues, s);
    }

    /// Writes the results of this warp.
    PARETOKEN_HOST_DEVICE void write(const Machine& m, WarpAttention<Machine, kFormat, kDim>& warp) const {
        warp.finish_sums(m);
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            const std::int32_t query = first + m.warp() * 16 + m.lane() / 4 + row * 8;
            if (query >= call.tokens) continue;
            float* const out = call.out + query_row(query) * kDim + m.lane() % 4 * 2;
            const float share = 1 / warp.sum[row];
            PARETOKEN_UNROLL
            for (int i = 0; i < kDim / 8; ++i) {
                out[i * 8] = warp.out[i][2 * row] * share;
                out[i * 8 + 1] = warp.out[i][2 * row + 1] * share;
            }
        }
    }
};

/// Runs one thread of block `m.piece()` of prefill_tiles · batch · query heads blocks.
template <KvFormat kFormat, int kDim, class Machine>
PARETOKEN_HOST_DEVICE void prefill_body(Machine& m, const PrefillCall& call) {
    using Block = PrefillBlock<kFormat, kDim, Machine>;
    const Block block(m, call);
    WarpAttention<Machine, kFormat, kDim> warp;
    std::byte* const stages = m.shared();
    const std::int32_t beyond = block.first + kPrefillQueries;
    const std::int32_t end = beyond < call.tokens ? beyond : call.tokens;
    block.load(m, stages, 0);
    m.commit_copies();
    block.begin(m, warp);
    int stage = 0;
    for (std::int32_t token = 0; token < end; token += kPrefillTokens) {
        m.wait_for_copies(0);
        m.sync_block();  // the tile is complete, and all warps have finished the previous one
        if (token + kPrefillTokens < end) {
            block.load(m, stages + (1 - stage) * Block::kStageBytes, token + kPrefillTokens);
        }
        m.commit_copies();
        block.add(m, stages + stage * Block::kStageBytes, token, warp);
        stage = 1 - stage;
    }
    block.write(m, warp);
}

}  // namespace paretoken::microbench::gpu
