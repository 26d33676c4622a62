#pragma once
// Combines the partial results of a sequence that several blocks read. A sequence is the tokens of one
// request that one tile of query rows attends to, and a partial result is the result for a part of them
// (split.h). The block that finishes last adds the partial results in their order, so that equal inputs give
// equal bits. The template parameter `Rows` maps rows: place(row) is the index of a row among the results,
// head(row) its index among the sinks, and per_partial() the number of rows in a partial result.
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/attention/split.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// The destination of results: fp32, or 16-bit numbers for a matrix product that follows.
struct ResultPlace {
    float* wide = nullptr;            ///< fp32
    std::uint16_t* narrow = nullptr;  ///< 16-bit numbers; used instead of `wide` unless it is null
    bool bf16 = false;                ///< format of `narrow`: true for bf16, false for fp16

    /// Returns the place `values` elements further.
    PARETOKEN_HOST_DEVICE ResultPlace after(std::int64_t values) const {
        return narrow == nullptr ? ResultPlace{wide + values, nullptr, bf16}
                                 : ResultPlace{nullptr, narrow + values, bf16};
    }
    /// Stores a value as element `at`.
    template <class Machine>
    PARETOKEN_HOST_DEVICE void put(const Machine& m, int at, float value) const {
        if (narrow == nullptr) {
            wide[at] = value;
        } else {
            const std::uint32_t pair =
                bf16 ? m.template pack<true>(value, 0) : m.template pack<false>(value, 0);
            narrow[at] = static_cast<std::uint16_t>(pair & 0xffff);
        }
    }
};

/// The mapping for rows that are query heads, whose results follow one another in memory.
struct RowsInOrder {
    PARETOKEN_HOST_DEVICE static constexpr int place(int row) { return row; }
    PARETOKEN_HOST_DEVICE static constexpr int head(int row) { return row; }
    PARETOKEN_HOST_DEVICE static constexpr int per_partial() { return kWarpTokens; }
};

/// Must be called by all threads of a block after it has written a partial result. Returns true in every
/// thread of the block that finished the last partial result of a sequence. All partial results of the
/// sequence can then be read. `counters` has a counter per sequence, which is 0 before and after a launch,
/// and `flag` is in shared memory.
template <class Machine>
PARETOKEN_HOST_DEVICE inline bool is_last_partial(Machine& m, const Segment& segment, std::int32_t* counters,
                                                  std::int32_t* flag) {
    m.publish();
    m.sync_block();
    if (m.warp() == 0 && m.lane() == 0) {
        const std::int32_t before = m.raise(counters + segment.sequence);
        *flag = before == segment.partials - 1 ? 1 : 0;
        if (*flag != 0) counters[segment.sequence] = 0;  // for the next launch
        m.publish();
    }
    m.sync_block();
    return *flag != 0;
}

/// Computes Σ 2^(lse_i − most) · out_i ÷ Σ 2^(lse_i − most) over the partial results i of a sequence, for one
/// row. A sink adds 2^(sink − most) to the denominator. lse is the log2 of the sum of 2^score, and `most` is
/// the largest of all lse_i and the sink. The lanes of a warp hold the elements of the row.
template <int kDim, class Machine>
struct CombinedRow {
    static constexpr int kEach = kDim / 32;

    const float* lse;   ///< lse of this row in the first partial result
    const float* from;  ///< this lane's first element of the first partial result
    int stride;         ///< distance in rows from one partial result to the next
    float most;
    float total;         ///< the denominator
    float value[kEach];  ///< this lane's elements of the numerator

    template <class Rows>
    PARETOKEN_HOST_DEVICE void begin(const Machine& m, const Segment& segment, const float* partial_out,
                                     const float* partial_lse, int row, const Rows& rows,
                                     const float* sinks) {
        stride = rows.per_partial();
        const std::int64_t at = static_cast<std::int64_t>(segment.begin) * stride + row;
        lse = partial_lse + at;
        from = partial_out + at * kDim + m.lane();
        const float sink = sinks == nullptr ? kLowest : sinks[rows.head(row)] * kLog2E;
        most = sink;
        for (std::int32_t i = m.lane(); i < segment.partials; i += 32) {
            const float one = m.load_fresh(lse + i * stride);
            most = most > one ? most : one;
        }
        PARETOKEN_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other = m.shuffle_xor(most, distance);
            most = most > other ? most : other;
        }
        total = sinks != nullptr && m.lane() == 0 ? m.exp2(sink - most) : 0;
        for (std::int32_t i = m.lane(); i < segment.partials; i += 32) total += weight(m, i);
        PARETOKEN_UNROLL
        for (int distance = 16; distance > 0; distance /= 2) total += m.shuffle_xor(total, distance);
        PARETOKEN_UNROLL
        for (int e = 0; e < kEach; ++e) value[e] = 0;
    }
    /// Returns 2^(lse_i − most) for i = `partial`.
    PARETOKEN_HOST_DEVICE float weight(const Machine& m, std::int32_t partial) const {
        return m.exp2(m.load_fresh(lse + partial * stride) - most);
    }
    PARETOKEN_HOST_DEVICE void add(const Machine& m, std::int32_t partial, float times) {
        const float* const one = from + static_cast<std::int64_t>(partial) * stride * kDim;
        PARETOKEN_UNROLL
        for (int e = 0; e < kEach; ++e) value[e] += times * m.load_fresh(one + e * 32);
    }
    PARETOKEN_HOST_DEVICE void write(const Machine& m, const ResultPlace& out) const {
        PARETOKEN_UNROLL
        for (int e = 0; e < kEach; ++e) out.put(m, e * 32 + m.lane(), value[e] / total);
    }
};

/// Combines kRows rows of a sequence together, the rows `row`, row + kWarps and so on, so that their loads
/// overlap. The partial results of a row are added in their order.
template <int kRows, int kDim, class Machine, class Rows>
PARETOKEN_HOST_DEVICE inline void combine_rows(const Machine& m, const Segment& segment,
                                               const float* partial_out, const float* partial_lse, int row,
                                               const Rows& places, const ResultPlace& out,
                                               const float* sinks) {
    CombinedRow<kDim, Machine> rows[kRows];
    PARETOKEN_UNROLL
    for (int k = 0; k < kRows; ++k) {
        rows[k].begin(m, segment, partial_out, partial_lse, row + k * kWarps, places, sinks);
    }
    for (std::int32_t base = 0; base < segment.partials; base += 32) {
        const std::int32_t own = base + m.lane();
        float weights[kRows];
        PARETOKEN_UNROLL
        for (int k = 0; k < kRows; ++k) weights[k] = own < segment.partials ? rows[k].weight(m, own) : 0;
        const std::int32_t count = segment.partials - base < 32 ? segment.partials - base : 32;
        PARETOKEN_UNROLL_BY(4)
        for (std::int32_t i = 0; i < count; ++i) {
            PARETOKEN_UNROLL
            for (int k = 0; k < kRows; ++k) rows[k].add(m, base + i, m.shuffle(weights[k], i));
        }
    }
    PARETOKEN_UNROLL
    for (int k = 0; k < kRows; ++k) {
        rows[k].write(m, out.after(places.place(row + k * kWarps) * kDim));
    }
}

/// Combines the `rows` rows of a sequence with the warps of one block. `sinks` is null or holds the logits of
/// the sinks.
template <int kDim, class Machine, class Rows = RowsInOrder>
PARETOKEN_HOST_DEVICE inline void combine(const Machine& m, const Segment& segment, const float* partial_out,
                                          const float* partial_lse, int rows, const ResultPlace& out,
                                          const float* sinks, const Rows& places = {}) {
    int row = m.warp();
    if constexpr (kDim <= 128) {
        for (; row + kWarps < rows; row += 2 * kWarps) {
            combine_rows<2, kDim>(m, segment, partial_out, partial_lse, row, places, out, sinks);
        }
    }
    for (; row < rows; row += kWarps) {
        combine_rows<1, kDim>(m, segment, partial_out, partial_lse, row, places, out, sinks);
    }
}

}  // namespace paretoken::microbench::gpu
