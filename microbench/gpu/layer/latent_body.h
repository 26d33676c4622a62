#pragma once
// The bodies of the kernels that a layer with multi-head latent attention (MLA) runs between its products.
// One kernel applies the rotary embedding to the queries and to the new token's latent row, normalises that
// row and appends it to the paged cache. The other narrows fp32 results to 16 bits in the order that the next
// product needs. A GPU runs the bodies through device/machine.cuh, and the tests run the same code on an
// emulation of the lanes.
#include <cmath>
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/host_device.h"
#include "microbench/gpu/layer/layer_body.h"
#include "microbench/gpu/mla/mla_body.h"

namespace paretoken::microbench::gpu {

// The sizes are those of DeepSeek-V3.
inline constexpr int kMlaRope = kMlaRow - kMlaValue;   ///< 64 dimensions with rotary embedding
inline constexpr int kMlaNope = 128;                   ///< dimensions of a query without rotary embedding
inline constexpr int kMlaHeadOut = 128;                ///< dimensions of a head's result after its expansion
inline constexpr int kMlaQuery = kMlaNope + kMlaRope;  ///< dimensions of a query before absorption

// ---- rotary embedding, norm and append

/// The arguments of the kernel that rotates, normalises and appends. It rotates the last kMlaRope numbers of
/// every query and stores them behind the place of the query's absorbed part. It narrows the other numbers of
/// the query to 16 bits and stores them head by head, as the product `absorb` reads them. It normalises the
/// latent part of the new token's row, rotates its rotary key, and appends both to the cache. One warp works
/// on each head of each request, and one warp on the latent row of each request.
struct LatentCall {
    const float* q = nullptr;      ///< [batch, heads, 192]: 128 numbers that are not rotated, 64 that are
    const float* kv = nullptr;     ///< [batch, 576]: latent part, rotary key
    const float* turns = nullptr;  ///< [batch, 32, 2]: cosine and sine
    const std::uint16_t* gain = nullptr;       ///< [512], bf16
    std::uint16_t* nope = nullptr;             ///< [heads, batch, 128], bf16 or fp16
    std::uint16_t* absorbed = nullptr;         ///< [batch, heads, 576] bf16; the last 64 of each are written
    std::uint16_t* pool = nullptr;             ///< [pages][page][576] bf16
    const std::int32_t* pages = nullptr;       ///< PageTable::pages
    const std::int32_t* first_page = nullptr;  ///< PageTable::first
    const std::int32_t* lengths = nullptr;     ///< [batch]: number of tokens, including the new one
    std::int32_t batch = 0;
    std::int32_t heads = 0;
    std::int32_t page_shift = 0;  ///< log2 of the tokens per page
    float epsilon = 0;            ///< of the norm
};

/// Rotates dimensions lane and lane + 32 of `from` and stores them in `to` as bf16.
template <class Machine>
PARETOKEN_HOST_DEVICE void turn_pair(const Machine& m, const float* from, const float* turns,
                                     std::uint16_t* to) {
    const float low = from[m.lane()];
    const float high = from[m.lane() + kMlaRope / 2];
    const float cosine = turns[2 * m.lane()];
    const float sine = turns[2 * m.lane() + 1];
    const std::uint32_t both = m.template pack<true>(low * cosine - high * sine, high * cosine + low * sine);
    to[m.lane()] = static_cast<std::uint16_t>(both & 0xffff);
    to[m.lane() + kMlaRope / 2] = static_cast<std::uint16_t>(both >> 16);
}

template <bool kBf16, class Machine>
PARETOKEN_HOST_DEVICE void latent_body(const Machine& m, const LatentCall& call) {
    const int index = m.piece() * kRopeWarps + m.warp();
    const int request = index / (call.heads + 1);
    const int head = index - request * (call.heads + 1);
    if (request >= call.batch) return;
    const float* const turns = call.turns + request * kMlaRope;
    if (head < call.heads) {
        const std::int64_t row = static_cast<std::int64_t>(request) * call.heads + head;
        const float* const q = call.q + row * kMlaQuery;
        const Floats4 x = *reinterpret_cast<const Floats4*>(q + m.lane() * 4);
        std::uint16_t* const nope =
            call.nope + (static_cast<std::int64_t>(head) * call.batch + request) * kMlaNope;
        *reinterpret_cast<Pairs2*>(nope + m.lane() * 4) = {m.template pack<kBf16>(x.v[0], x.v[1]),
                                                           m.template pack<kBf16>(x.v[2], x.v[3])};
        turn_pair(m, q + kMlaNope, turns, call.absorbed + row * kMlaRow + kMlaValue);
        return;
    }
    const std::int32_t token = call.lengths[request] - 1;
    const std::int32_t page = call.pages[call.first_page[request] + (token >> call.page_shift)];
    const std::int64_t row =
        (static_cast<std::int64_t>(page) << call.page_shift) + (token & ((1 << call.page_shift) - 1));
    std::uint16_t* const to = call.pool + row * kMlaRow;
    const float* const kv = call.kv + static_cast<std::int64_t>(request) * kMlaRow;
    constexpr int kQuads = kMlaValue / 128;
    Floats4 x[kQuads];
    float squares = 0;
    PARETOKEN_UNROLL
    for (int i = 0; i < kQuads; ++i) {
        x[i] = *reinterpret_cast<const Floats4*>(kv + i * 128 + m.lane() * 4);
        PARETOKEN_UNROLL
        for (int e = 0; e < 4; ++e) squares += x[i].v[e] * x[i].v[e];
    }
    PARETOKEN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) squares += m.shuffle_xor(squares, distance);
    const float scale = 1 / sqrtf(squares / static_cast<float>(kMlaValue) + call.epsilon);
    PARETOKEN_UNROLL
    for (int i = 0; i < kQuads; ++i) {
        const int at = i * 128 + m.lane() * 4;
        const Pairs2 gain = *reinterpret_cast<const Pairs2*>(call.gain + at);
        Pairs2 out;
        PARETOKEN_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            out.w[pair] =
                m.template pack<true>(x[i].v[2 * pair] * scale * float_of(gain.w[pair] << 16),
                                      x[i].v[2 * pair + 1] * scale * float_of(gain.w[pair] & 0xffff0000U));
        }
        *reinterpret_cast<Pairs2*>(to + at) = out;
    }
    turn_pair(m, kv + kMlaValue, turns, to + kMlaValue);
}

// ---- narrowing

/// The arguments of the narrowing kernel. It computes to[inner · to_inner + outer · to_outer + i] =
/// from[outer, inner, i], narrowed to 16 bits. One warp works on each row of `from`.
struct NarrowCall {
    const float* from = nullptr;  ///< [outer, inner, size]
    std::uint16_t* to = nullptr;  ///< bf16 or fp16
    std::int32_t outer = 0;
    std::int32_t inner = 0;
    std::int32_t size = 0;  ///< a multiple of 4, like to_outer and to_inner
    std::int32_t to_outer = 0;
    std::int32_t to_inner = 0;
};

template <bool kBf16, class Machine>
PARETOKEN_HOST_DEVICE void narrow_body(const Machine& m, const NarrowCall& call) {
    const int row = m.piece() * kRopeWarps + m.warp();
    if (row >= call.outer * call.inner) return;
    const int outer = row / call.inner;
    const int inner = row - outer * call.inner;
    const float* const from = call.from + static_cast<std::int64_t>(row) * call.size;
    std::uint16_t* const to = call.to + static_cast<std::int64_t>(outer) * call.to_outer +
                              static_cast<std::int64_t>(inner) * call.to_inner;
    for (int i = m.lane() * 4; i < call.size; i += 128) {
        const Floats4 x = *reinterpret_cast<const Floats4*>(from + i);
        *reinterpret_cast<Pairs2*>(to + i) = {m.template pack<kBf16>(x.v[0], x.v[1]),
                                              m.template pack<kBf16>(x.v[2], x.v[3])};
    }
}

}  // namespace paretoken::microbench::gpu
