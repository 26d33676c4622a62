#pragma once
// The body of the decode attention kernel. A GPU runs it through device/machine.cuh, and the tests run the
// same code on an emulation of the lanes. Each of the four warps of a block owns 16 tokens of every 64: it
// copies them to shared memory, computes their scores, applies the running softmax and accumulates the
// weighted values. The warps combine only their results. If there are several query tokens per request,
// neighbouring warps may also share their tokens (see attention_body). Nothing here depends on CUDA.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/attention_combine.h"
#include "microbench/gpu/attention/attention_softmax.h"
#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/attention/split.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// The arguments of one launch. Pointers refer to the memory of the machine that runs the kernel.
struct AttentionCall {
    const std::byte* pool = nullptr;  ///< the pages of the cache, see PageStrides
    const float* scales = nullptr;    ///< [pages][KV heads][K, V][tokens per page]; int8 only
    /// [requests, q_len, query heads, head_dim], bf16 for bf16 caches, fp16 for all others
    const std::uint16_t* q = nullptr;
    const float* sinks = nullptr;                 ///< [query heads], or null
    const std::int32_t* pages = nullptr;          ///< PageTable::pages
    const std::int32_t* first_page = nullptr;     ///< PageTable::first
    const Segment* segments = nullptr;            ///< SplitPlan::segments
    const std::int32_t* first_segment = nullptr;  ///< SplitPlan::first
    float* partial_out = nullptr;                 ///< [partials, 16 · row_tiles, head_dim]
    float* partial_lse = nullptr;                 ///< [partials, 16 · row_tiles], log2 of the sum of 2^score
    /// [sequences], the number of finished partial results of each; zero before and after every launch
    std::int32_t* counters = nullptr;
    ResultPlace out;  ///< [requests, q_len, query heads, head_dim]
    PageStrides strides;
    std::int32_t kv_heads = 0;
    std::int32_t query_heads = 0;
    std::int32_t tiles = 1;       ///< number of groups of 16 · row_tiles query rows per KV head
    std::int32_t page_shift = 0;  ///< log2 of the tokens per page
    std::int32_t stages = 2;      ///< tiles of each warp in shared memory, at most kMaxStages
    float score_scale = 0;        ///< log2 e / √head_dim, multiplied by the common scale of all keys
    float value_scale = 1;        ///< common scale of all values
    // Only the kernels for several query tokens per request use these fields.
    std::int32_t q_len = 1;      ///< query tokens, which are the last tokens of the context of their request
    std::int32_t row_tiles = 1;  ///< 1, 2 or 4 tiles of 16 query rows that one pass over the cache serves
    std::int32_t window = 0;     ///< tokens that a query token sees; 0 means all tokens up to itself
    const std::int32_t* lengths = nullptr;  ///< [requests], number of tokens of each context
};

/// Maps the query rows of a segment to queries and results, which are both [requests, q_len, query heads,
/// head_dim]. `place` returns the index of a row's vector there, counted from `base`. With several query
/// tokens (kSeveral), row r of a KV head belongs to query token r / group and to head r % group of the query
/// heads that share the KV head. With one query token, the rows are query heads.
template <bool kSeveral>
struct SegmentRows {
    std::int64_t base;       ///< index of the vector with place 0
    std::int32_t heads;      ///< index among all query heads of the first one, from which `head` counts
    std::int32_t count;      ///< number of rows
    std::int32_t first = 0;  ///< index of the first row among the rows of its KV head; only with kSeveral
    std::int32_t group = 1;  ///< query heads per KV head
    std::int32_t step = 0;   ///< distance in places from a query token to the next
    std::int32_t tiles = 1;  ///< tiles of 16 rows

    PARETOKEN_HOST_DEVICE SegmentRows(const AttentionCall& call, const Segment& segment) {
        group = call.query_heads / call.kv_heads;
        const std::int32_t own = segment.head / call.tiles * group;
        if constexpr (kSeveral) {
            tiles = call.row_tiles;
            step = call.query_heads;
            first = segment.head % call.tiles * kWarpTokens * tiles;
            heads = own;
            base = static_cast<std::int64_t>(segment.request) * call.q_len * call.query_heads + own;
            count = call.q_len * group - first;
        } else {
            const std::int32_t skipped = segment.head % call.tiles * kWarpTokens;
            heads = own + skipped;
            base = static_cast<std::int64_t>(segment.request) * call.query_heads + heads;
            count = group - skipped;
        }
        count = count < per_partial() ? count : per_partial();
    }
    /// Returns the index of the query token of a row; only with kSeveral.
    PARETOKEN_HOST_DEVICE std::int32_t token(int row) const { return (first + row) / group; }
    PARETOKEN_HOST_DEVICE int head(int row) const {
        if constexpr (kSeveral) return (first + row) % group;
        return row;
    }
    PARETOKEN_HOST_DEVICE int place(int row) const {
        if constexpr (kSeveral) return token(row) * step + head(row);
        return row;
    }
    /// Returns the number of rows for which a partial result has room.
    PARETOKEN_HOST_DEVICE int per_partial() const {
        if constexpr (kSeveral) return kWarpTokens * tiles;
        return kWarpTokens;
    }
};

/// Starts the copies of the tiles of one warp from the cache to shared memory.
template <class Machine, KvFormat kFormat, int kDim>
struct TileLoader {
    using Tile = WarpTile<kFormat, kDim>;
    static constexpr int kRowsAtOnce = 32 / Tile::kRowChunks;  ///< rows that one instruction of a warp copies

    const AttentionCall& call;
    TokenWalk<kBlockTokens> walk;
    std::int32_t kv_head = 0;
    const std::byte* head = nullptr;  ///< first row of the head in page 0 of the pool

    PARETOKEN_HOST_DEVICE TileLoader(const Machine& m, const AttentionCall& c)
        : call(c),
          walk{c.pages,
               c.first_page,
               c.page_shift,
               m.warp() * kWarpTokens,
               c.segments,
               c.first_segment[m.piece()],
               c.first_segment[m.piece() + 1]} {
        walk.enter();
        enter();
    }

    PARETOKEN_HOST_DEVICE void enter() {
        if (walk.done()) return;
        kv_head = walk.segment().head / call.tiles;
        head = call.pool + static_cast<std::uint64_t>(kv_head) * call.strides.head;
    }

    /// Starts the copies of the next tile into `to`, and advances to the tile after it.
    PARETOKEN_HOST_DEVICE void load(Machine& m, std::byte* to) {
        if (walk.done()) return;
        if (walk.has_tokens()) {
            if (call.tiles == 1) {
                copy<true>(m, to);
            } else {
                copy<false>(m, to);
            }
        }
        if (walk.advance()) enter();
    }

    /// `kOnce` means that a launch reads each part of the cache only once. L2 then evicts this data before
    /// the page tables and the plan.
    template <bool kOnce>
    PARETOKEN_HOST_DEVICE void copy(Machine& m, std::byte* to) const {
        const int row = m.lane() / Tile::kRowChunks;
        const int chunk = m.lane() % Tile::kRowChunks;
        const std::byte* const from = head + static_cast<std::uint64_t>(walk.page) * call.strides.page +
                                      static_cast<std::uint32_t>(walk.slot() + row) * call.strides.token +
                                      chunk * 16;
        PARETOKEN_UNROLL
        for (int value = 0; value < 2; ++value) {
            PARETOKEN_UNROLL
            for (int i = 0; i < kWarpTokens / kRowsAtOnce; ++i) {
                const int further = i * kRowsAtOnce;
                std::byte* const place =
                    to + value * Tile::kValues + Tile::place(value != 0, row + further, chunk);
                const std::byte* const source = from + (value == 0 ? 0 : call.strides.value) +
                                                static_cast<std::uint32_t>(further) * call.strides.token;
                if constexpr (kOnce) {
                    m.copy_async_once(place, source, walk.holds(row + further));
                } else {
                    m.copy_async(place, source, walk.holds(row + further));
                }
            }
        }
        if constexpr (Tile::kHasScales) copy_scales(m, to);
    }

    PARETOKEN_HOST_DEVICE void copy_scales(Machine& m, std::byte* to) const {
        if (m.lane() >= 8) return;
        const int which = m.lane() / 4;
        const int first = m.lane() % 4 * 4;
        const std::uint64_t at =
            scale_place(static_cast<std::uint32_t>(call.kv_heads), 1U << call.page_shift,
                        static_cast<std::uint64_t>(walk.page), static_cast<std::uint32_t>(kv_head),
                        static_cast<std::uint32_t>(which), static_cast<std::uint32_t>(walk.slot() + first));
        m.copy_async(to + Tile::kScales + (which * kWarpTokens + first) * 4,
                     reinterpret_cast<const std::byte*>(call.scales + at), walk.token + first < walk.last);
    }
};

/// The queries, the running softmax and the results of one warp, in registers as mma.m16n8k16 lays them out.
/// A warp has 16 rows, which are query heads, or query heads of several query tokens with kSeveral. A lane
/// holds the rows g and g + 8, where g is lane / 4.
template <class Machine, KvFormat kFormat, int kDim, bool kSeveral = false>
struct WarpAttention : RunningSoftmax<Machine, kDim / 8> {
    using Softmax = RunningSoftmax<Machine, kDim / 8>;
    using Softmax::out;
    using Tile = WarpTile<kFormat, kDim>;
    static constexpr bool kBf16 = kFormat == KvFormat::bf16;
    static constexpr int kSteps = kDim / 16;
    static constexpr int kTiles = kDim / 8;

    std::uint32_t q[kSteps][4];  ///< the A operand of each step of 16 dimensions of the score product
    std::int32_t first;          ///< [first, last): the tokens of the segment that every row sees
    std::int32_t last;

    /// Returns the index of this lane's first row among the rows of the segment.
    PARETOKEN_HOST_DEVICE static int first_row(const Machine& m, const AttentionCall& call) {
        const int tile = kSeveral ? m.warp() % call.row_tiles : 0;
        return tile * kWarpTokens + m.lane() / 4;
    }

    /// Loads the queries of a segment and resets the softmax.
    PARETOKEN_HOST_DEVICE void begin(const Machine& m, const AttentionCall& call, const Segment& segment) {
        const int g = first_row(m, call);
        const int t = m.lane() % 4;
        const SegmentRows<kSeveral> rows(call, segment);
        PARETOKEN_UNROLL
        for (int step = 0; step < kSteps; ++step) {
            PARETOKEN_UNROLL
            for (int r = 0; r < 4; ++r) {
                const int row = g + r % 2 * 8;
                const int dim = query_dim<kFormat, kDim>(step, r / 2, t);
                const std::uint16_t* const at = call.q + (rows.base + rows.place(row)) * kDim + dim;
                q[step][r] = row < rows.count ? at[0] | static_cast<std::uint32_t>(at[1]) << 16 : 0;
            }
        }
        first = segment.first;
        last = segment.last;
        if constexpr (kSeveral) {
            const std::int32_t length = call.lengths[segment.request];
            const std::int32_t begin = window_begin(length, call.window);
            const std::int32_t end = seen_end(length, call.q_len, 0);
            first = begin > first ? begin : first;
            last = end < last ? end : last;
        }
        Softmax::clear();
    }

    /// Computes the scores q·k of 16 · kGroups tokens, without the scales of the keys and the factor of the
    /// softmax. With t = lane % 4, s[j] of a lane holds the scores of tokens 8j + 2t and 8j + 2t + 1 for
    /// its first row, then those for its second row.
    template <int kGroups>
    PARETOKEN_HOST_DEVICE void score(const Machine& m, const std::byte* tile,
                                     float (&s)[2 * kGroups][4]) const {
        PARETOKEN_UNROLL
        for (int j = 0; j < 2 * kGroups; ++j) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0;
        if constexpr (Tile::kHalf) {
            const int own = Tile::place(false, m.lane() / 16 * 8 + m.lane() % 8, m.lane() / 8 % 2);
            PARETOKEN_UNROLL
            for (int step = 0; step < kSteps; ++step) {
                PARETOKEN_UNROLL
                for (int group = 0; group < kGroups; ++group) {
                    std::uint32_t k[4];
                    m.ldmatrix(k, tile + Tile::later(Tile::further(own, step), group));
                    m.template mma<kBf16>(s[2 * group], q[step], k[0], k[1]);
                    m.template mma<kBf16>(s[2 * group + 1], q[step], k[2], k[3]);
                }
            }
        } else {
            score_bytes<kGroups>(m, tile, s);
        }
    }

    /// Computes the scores for 8-bit keys.
    template <int kGroups>
    PARETOKEN_HOST_DEVICE void score_bytes(const Machine& m, const std::byte* tile,
                                           float (&s)[2 * kGroups][4]) const {
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        PARETOKEN_UNROLL
        for (int part = 0; part < kDim / 64; ++part) {
            PARETOKEN_UNROLL
            for (int j = 0; j < 2 * kGroups; ++j) {
                const Words4 words =
                    *reinterpret_cast<const Words4*>(tile + Tile::place(false, 8 * j + g, 4 * part + t));
                PARETOKEN_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const HalfPairs k = halves_of<kFormat>(m, words.w[i]);
                    m.template mma<kBf16>(s[j], q[4 * part + i], k.first, k.second);
                }
            }
        }
    }

    /// Adds weights · values to the results. `p` holds the weights of 16 · kGroups tokens in the
    /// arrangement in which score() leaves the scores.
    template <int kGroups>
    PARETOKEN_HOST_DEVICE void accumulate(const Machine& m, const std::byte* values,
                                          const float (&p)[2 * kGroups][4]) {
        PARETOKEN_UNROLL
        for (int group = 0; group < kGroups; ++group) {
            std::uint32_t weights[4];
            PARETOKEN_UNROLL
            for (int r = 0; r < 4; ++r) {
                const float* const pair = &p[2 * group + r / 2][r % 2 * 2];
                weights[r] = m.template pack<kBf16>(pair[0], pair[1]);
            }
            if constexpr (Tile::kHalf) {
                const int own = Tile::place(true, m.lane() / 8 % 2 * 8 + m.lane() % 8, m.lane() / 16);
                PARETOKEN_UNROLL
                for (int i = 0; i < kTiles / 2; ++i) {
                    std::uint32_t v[4];
                    m.ldmatrix_transposed(v, values + Tile::later(Tile::further(own, i), group));
                    m.template mma<kBf16>(out[2 * i], weights, v[0], v[1]);
                    m.template mma<kBf16>(out[2 * i + 1], weights, v[2], v[3]);
                }
            } else {
                static_assert(kGroups == 1);
                accumulate_bytes(m, values, weights);
            }
        }
    }

    /// Adds weights · values for 8-bit values. A lane reads the bytes of its column for four tokens, and
    /// pairs the bytes of two tokens, as the matrix instruction needs them.
    PARETOKEN_HOST_DEVICE void accumulate_bytes(const Machine& m, const std::byte* values,
                                                const std::uint32_t (&weights)[4]) {
        constexpr int kColumnBytes = kDim / 8;
        constexpr int kWords = kColumnBytes / 4;
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        std::uint32_t v[4][kWords];
        PARETOKEN_UNROLL
        for (int i = 0; i < 4; ++i) {
            const int token = i / 2 * 8 + 2 * t + i % 2;
            const std::byte* const at =
                values + Tile::place(true, token, g * kColumnBytes / 16) + g * kColumnBytes % 16;
            if constexpr (kWords == 4) {
                const Words4 words = *reinterpret_cast<const Words4*>(at);
                PARETOKEN_UNROLL
                for (int w = 0; w < 4; ++w) v[i][w] = words.w[w];
            } else {
                PARETOKEN_UNROLL
                for (int w = 0; w < kWords; ++w) v[i][w] = reinterpret_cast<const std::uint32_t*>(at)[w];
            }
        }
        PARETOKEN_UNROLL
        for (int w = 0; w < kWords; ++w) {
            PARETOKEN_UNROLL
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t selector = half == 0 ? 0x5140 : 0x7362;
                const HalfPairs low = halves_of<kFormat>(m, picked_bytes(v[0][w], v[1][w], selector));
                const HalfPairs high = halves_of<kFormat>(m, picked_bytes(v[2][w], v[3][w], selector));
                m.template mma<kBf16>(out[4 * w + 2 * half], weights, low.first, high.first);
                m.template mma<kBf16>(out[4 * w + 2 * half + 1], weights, low.second, high.second);
            }
        }
    }

    /// Adds the 16 tokens from `token` on, without those that lie outside the segment.
    PARETOKEN_HOST_DEVICE void add(const Machine& m, const AttentionCall& call, const Segment& segment,
                                   const std::byte* tile, std::int32_t token) {
        float s[2][4];
        score<1>(m, tile, s);
        const int t = m.lane() % 4;
        const float* const scales = reinterpret_cast<const float*>(tile + Tile::kScales);
        PARETOKEN_UNROLL
        for (int j = 0; j < 2; ++j) {
            PARETOKEN_UNROLL
            for (int c = 0; c < 4; ++c) {
                float scale = call.score_scale;
                if constexpr (Tile::kHasScales) scale *= scales[8 * j + 2 * t + c % 2];
                if constexpr (kFormat == KvFormat::fp8) scale *= Machine::kE4m3Unit;
                s[j][c] *= scale;
            }
        }
        if (token < first || token + kWarpTokens > last) hide(m, call, segment, s, token);
        Softmax::soften(m, s);
        if constexpr (Tile::kHasScales) {
            PARETOKEN_UNROLL
            for (int j = 0; j < 2; ++j) {
                PARETOKEN_UNROLL
                for (int c = 0; c < 4; ++c) {
                    s[j][c] *= scales[kWarpTokens + 8 * j + 2 * t + c % 2] * kWeightUnit;
                }
            }
        }
        accumulate<1>(m, tile + Tile::kValues, s);
    }

    /// Sets the scores of the tokens that are outside the segment, or that a row does not see, to −∞.
    PARETOKEN_HOST_DEVICE void hide(const Machine& m, const AttentionCall& call, const Segment& segment,
                                    float (&s)[2][4], std::int32_t token) const {
        if constexpr (kSeveral) {
            const SegmentRows<true> rows(call, segment);
            const std::int32_t length = call.lengths[segment.request];
            std::int32_t from[2];
            std::int32_t to[2];
            PARETOKEN_UNROLL
            for (int r = 0; r < 2; ++r) {
                const int row = first_row(m, call) + 8 * r;
                const std::int32_t end = seen_end(length, call.q_len, rows.token(row));
                const std::int32_t begin = window_begin(end, call.window);
                from[r] = (begin > segment.first ? begin : segment.first) - token;
                to[r] = (end < segment.last ? end : segment.last) - token;
            }
            Softmax::hide(m, s, from, to);
        } else {
            Softmax::hide(m, s, first - token, last - token);
        }
    }

    /// A weight that is multiplied by the scale of a value (int8) is also multiplied by this factor, so that
    /// it is not subnormal in fp16.
    static constexpr float kWeightUnit = 64;

    /// Returns the factor by which the accumulated sums must be multiplied: values in fp8 were converted
    /// without their factor kE4m3Unit, and weights for int8 were multiplied by kWeightUnit.
    PARETOKEN_HOST_DEVICE static constexpr float unit() {
        if (kFormat == KvFormat::fp8) return Machine::kE4m3Unit;
        return Tile::kHasScales ? 1 / kWeightUnit : 1;
    }
};

/// Merges the results of the four warps for a segment and writes them to device memory. The block
/// that finishes the last segment of a sequence combines the partial results of all its segments.
template <class Machine, KvFormat kFormat, int kDim, bool kSeveral>
struct BlockResult {
    using Memory = BlockMemory<kFormat, kDim>;
    using Warp = WarpAttention<Machine, kFormat, kDim, kSeveral>;
    using Rows = SegmentRows<kSeveral>;

    // All of these are in shared memory.
    float* result;          ///< [16][kResultStride], columns in the order of the accumulators
    float* states;          ///< [4 warps][maximum, sum][16]
    float* whole;           ///< [1 / sum, log2 of the sum of 2^score][16]
    std::int32_t* is_last;  ///< used by is_last_partial

    PARETOKEN_HOST_DEVICE explicit BlockResult(std::byte* at)
        : result(reinterpret_cast<float*>(at)),
          states(result + kWarpTokens * Memory::kResultStride),
          whole(states + kWarps * 2 * 16),
          is_last(reinterpret_cast<std::int32_t*>(whole + 2 * 16)) {}

    PARETOKEN_HOST_DEVICE void write(Machine& m, const AttentionCall& call, const Segment& segment,
                                     Warp& warp) {
        const Rows rows(call, segment);
        const ResultPlace out = call.out.after(rows.base * kDim);
        const float* const sinks = call.sinks == nullptr ? nullptr : call.sinks + rows.heads;
        warp.finish_sums(m);
        // No barrier is needed between tiles or between segments. `merge` waits for all warps at a barrier
        // before it changes `whole` and `result`, which the writing functions read.
        for (int tile = 0; tile < rows.tiles; ++tile) {
            const int first = tile * kWarpTokens;
            if (first >= rows.count) break;
            merge(m, warp, rows.tiles, tile);
            if (segment.partials == 1) {
                write_whole(m, call, rows, first, out, sinks);
            } else {
                write_partial(m, call, rows, first, segment.partial);
            }
        }
        if (segment.partials > 1 && is_last_partial(m, segment, call.counters, is_last)) {
            combine<kDim>(m, segment, call.partial_out, call.partial_lse, rows.count, out, sinks, rows);
        }
    }

    struct alignas(8) Pair {
        float low;
        float high;
    };
    static_assert(Memory::kResultStride % 2 == 0);
    /// Merges the results of one tile of 16 rows, which the warps `tile`, tile + tiles, … hold.
    PARETOKEN_HOST_DEVICE void merge(Machine& m, const Warp& warp, int tiles, int tile) {
        const int g = m.lane() / 4;
        const int t = m.lane() % 4;
        float factor[2];
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            if (t == 0) {
                states[(m.warp() * 2) * 16 + g + 8 * row] = warp.maximum[row];
                states[(m.warp() * 2 + 1) * 16 + g + 8 * row] = warp.sum[row];
            }
        }
        m.sync_block();
        PARETOKEN_UNROLL
        for (int row = 0; row < 2; ++row) {
            float most = kLowest;
            for (int w = tile; w < kWarps; w += tiles) {
                const float one = states[(w * 2) * 16 + g + 8 * row];
                most = most > one ? most : one;
            }
            float total = 0;
            for (int w = tile; w < kWarps; w += tiles) {
                total += states[(w * 2 + 1) * 16 + g + 8 * row] *
                         m.exp2(states[(w * 2) * 16 + g + 8 * row] - most);
            }
            factor[row] = m.exp2(warp.maximum[row] - most);
            if (m.warp() == tile && t == 0) {
                // With several query tokens, an early one may see no token of the segment.
                whole[g + 8 * row] = kSeveral && total == 0 ? 0 : 1 / total;
                whole[16 + g + 8 * row] = most + m.log2(total);
            }
        }
        for (int w = tile; w < kWarps; w += tiles) {
            if (m.warp() == w) {
                PARETOKEN_UNROLL
                for (int i = 0; i < Warp::kTiles; ++i) {
                    PARETOKEN_UNROLL
                    for (int row = 0; row < 2; ++row) {
                        // Accesses to pairs of floats avoid bank conflicts between rows.
                        auto& at = *reinterpret_cast<Pair*>(
                            &result[(g + 8 * row) * Memory::kResultStride + i * 8 + 2 * t]);
                        const Pair value{warp.out[i][2 * row] * factor[row],
                                         warp.out[i][2 * row + 1] * factor[row]};
                        at = w == tile ? value : Pair{at.low + value.low, at.high + value.high};
                    }
                }
            }
            m.sync_block();
        }
    }

    PARETOKEN_HOST_DEVICE float value_at(const AttentionCall& call, int row, int column) const {
        return result[row * Memory::kResultStride + column] * whole[row] * (Warp::unit() * call.value_scale);
    }

    /// Returns the number of rows in the tile that starts at row `first`.
    PARETOKEN_HOST_DEVICE static int rows_of_tile(const Rows& rows, int first) {
        return rows.count - first < kWarpTokens ? rows.count - first : kWarpTokens;
    }

    /// Writes the results of a tile of rows. `first` is its first row.
    PARETOKEN_HOST_DEVICE void write_whole(const Machine& m, const AttentionCall& call, const Rows& rows,
                                           int first, const ResultPlace& out, const float* sinks) const {
        const int count = rows_of_tile(rows, first);
        for (int i = m.warp() * 32 + m.lane(); i < count * kDim; i += kThreads) {
            const int row = i / kDim;
            const int column = i % kDim;
            float share = 1;
            if (sinks != nullptr) {
                share = 1 / (1 + m.exp2(sinks[rows.head(first + row)] * kLog2E - whole[16 + row]));
            }
            out.put(m, rows.place(first + row) * kDim + dim_of<kFormat, kDim>(column / 8, column % 8),
                    value_at(call, row, column) * share);
        }
    }

    /// Writes a tile of rows of a partial result.
    PARETOKEN_HOST_DEVICE void write_partial(const Machine& m, const AttentionCall& call, const Rows& rows,
                                             int first, std::int32_t partial) const {
        const std::int64_t at = static_cast<std::int64_t>(partial) * rows.per_partial() + first;
        float* const to = call.partial_out + at * kDim;
        const int count = rows_of_tile(rows, first);
        for (int i = m.warp() * 32 + m.lane(); i < count * kDim; i += kThreads) {
            const int row = i / kDim;
            const int column = i % kDim;
            to[row * kDim + dim_of<kFormat, kDim>(column / 8, column % 8)] = value_at(call, row, column);
        }
        if (m.warp() == 0 && m.lane() < count) call.partial_lse[at + m.lane()] = whole[16 + m.lane()];
    }
};

/// Runs one thread of the block that works on piece `m.piece()` of the plan. With kSeveral, groups of
/// `row_tiles` neighbouring warps share their tokens: each warp of a group processes its own tile of 16 query
/// rows, for the tokens that all warps of the group have loaded.
template <KvFormat kFormat, int kDim, bool kSeveral = false, class Machine>
PARETOKEN_HOST_DEVICE void attention_body(Machine& m, const AttentionCall& call) {
    using Tile = WarpTile<kFormat, kDim>;
    const int row_tiles = kSeveral ? call.row_tiles : 1;
    const int row_tile = kSeveral ? m.warp() % row_tiles : 0;
    const int warp_bytes = call.stages * Tile::kBytes;
    std::byte* const stages = m.shared() + m.warp() * warp_bytes;
    BlockResult<Machine, kFormat, kDim, kSeveral> result(
        m.shared() + call.stages * BlockMemory<kFormat, kDim>::kStageBytes);
    TileLoader<Machine, kFormat, kDim> loader(m, call);
    WarpAttention<Machine, kFormat, kDim, kSeveral> warp;
    for (int i = 0; i + 1 < call.stages; ++i) {
        loader.load(m, stages + i * Tile::kBytes);
        m.commit_copies();
    }
    int stage = 0;
    int free_stage = call.stages - 1;
    const std::int32_t end = loader.walk.end;
    for (std::int32_t index = call.first_segment[m.piece()]; index < end; ++index) {
        const Segment& segment = call.segments[index];
        warp.begin(m, call, segment);
        const std::int32_t last = segment.last;
        std::int32_t token = segment.first / kWarpTokens * kWarpTokens + m.warp() * kWarpTokens;
        for (; token - m.warp() * kWarpTokens < last; token += kBlockTokens) {
            m.wait_for_copies(call.stages - 2);
            // After this barrier the tile is complete for all warps that read it, and these warps have
            // finished the previous tile, so that the next copies may overwrite it.
            if (row_tiles == 1) {
                m.sync_warp();
            } else {
                m.sync_block();
            }
            loader.load(m, stages + free_stage * Tile::kBytes);
            m.commit_copies();
            for (int i = -row_tile; i < row_tiles - row_tile; ++i) {
                const std::int32_t at = token + i * kWarpTokens;
                if (at >= last) break;
                warp.add(m, call, segment, stages + stage * Tile::kBytes + i * warp_bytes, at);
            }
            free_stage = stage;
            stage = stage + 1 == call.stages ? 0 : stage + 1;
        }
        result.write(m, call, segment, warp);
    }
}

}  // namespace paretoken::microbench::gpu
