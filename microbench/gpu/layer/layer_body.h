#pragma once
// The bodies of the kernels that a decoder layer runs between its matrix products in decode: RMS norm with
// the addition to the residual, rotary embedding with the append to the paged KV cache, and the gated
// activation. Blocks work independently of each other, and only in the norm do the warps of a block exchange
// data. A GPU runs the bodies through device/machine.cuh, and the tests run the same code on an emulation
// of the lanes.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/attention_tile.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/formats/dtypes.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// Four numbers that a lane loads or stores at once.
struct alignas(16) Floats4 {
    float v[4];
};
struct alignas(8) Pairs2 {
    std::uint32_t w[2];  ///< four 16-bit numbers
};

// ---- norm

/// The arguments of the norm kernel. It computes residual += delta, if `delta` is not null, and then
/// out = residual ÷ √(mean of its squares + epsilon) · gain for each row. One block per row.
struct NormCall {
    float* residual = nullptr;            ///< [batch, hidden]
    const float* delta = nullptr;         ///< [batch, hidden], or null
    const std::uint16_t* gain = nullptr;  ///< [hidden], bf16
    std::uint16_t* out = nullptr;         ///< [batch, hidden], bf16 or fp16
    std::int32_t hidden = 0;              ///< a multiple of 4, at most kWarpsOfBlock · kNormOfWarp
    float epsilon = 0;
};

inline constexpr int kNormQuads = 4;  ///< groups of four numbers in the registers of a lane
inline constexpr int kNormOfWarp = kNormQuads * 4 * 32;       ///< numbers in the registers of a warp
inline constexpr int kNormWarps = 32;                         ///< warps of a block on a GPU
inline constexpr int kMostHidden = kNormWarps * kNormOfWarp;  ///< largest `hidden` on a GPU
/// Returns the size of the shared memory of a block in bytes.
PARETOKEN_HOST_DEVICE constexpr int norm_shared_bytes(int warps) {
    return warps * static_cast<int>(sizeof(float));
}

template <bool kBf16, int kWarpsOfBlock, class Machine>
PARETOKEN_HOST_DEVICE void norm_body(const Machine& m, const NormCall& call) {
    static_assert(kWarpsOfBlock <= 32);
    constexpr int kLanesOfBlock = kWarpsOfBlock * 32;
    const std::int64_t row = static_cast<std::int64_t>(m.piece()) * call.hidden;
    const int first = (m.warp() * 32 + m.lane()) * 4;
    Floats4 x[kNormQuads];
    float squares = 0;
    PARETOKEN_UNROLL
    for (int i = 0; i < kNormQuads; ++i) {
        const int at = first + i * kLanesOfBlock * 4;
        if (at >= call.hidden) continue;
        x[i] = *reinterpret_cast<const Floats4*>(call.residual + row + at);
        if (call.delta != nullptr) {
            const Floats4 more = *reinterpret_cast<const Floats4*>(call.delta + row + at);
            PARETOKEN_UNROLL
            for (int e = 0; e < 4; ++e) x[i].v[e] += more.v[e];
            *reinterpret_cast<Floats4*>(call.residual + row + at) = x[i];
        }
        PARETOKEN_UNROLL
        for (int e = 0; e < 4; ++e) squares += x[i].v[e] * x[i].v[e];
    }
    auto* const of_warps = reinterpret_cast<float*>(m.shared());
    PARETOKEN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) squares += m.shuffle_xor(squares, distance);
    if (m.lane() == 0) of_warps[m.warp()] = squares;
    m.sync_block();
    float sum = m.lane() < kWarpsOfBlock ? of_warps[m.lane()] : 0;
    PARETOKEN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) sum += m.shuffle_xor(sum, distance);
    const float scale = 1 / sqrtf(sum / static_cast<float>(call.hidden) + call.epsilon);
    PARETOKEN_UNROLL
    for (int i = 0; i < kNormQuads; ++i) {
        const int at = first + i * kLanesOfBlock * 4;
        if (at >= call.hidden) continue;
        const Pairs2 gain = *reinterpret_cast<const Pairs2*>(call.gain + at);
        Pairs2 out;
        PARETOKEN_UNROLL
        for (int pair = 0; pair < 2; ++pair) {
            const float low = x[i].v[2 * pair] * scale * float_of(gain.w[pair] << 16);
            const float high = x[i].v[2 * pair + 1] * scale * float_of(gain.w[pair] & 0xffff0000U);
            out.w[pair] = m.template pack<kBf16>(low, high);
        }
        *reinterpret_cast<Pairs2*>(call.out + row + at) = out;
    }
}

// ---- rotary embedding and append

/// The arguments of the rotary embedding kernel. It rotates the queries and the new token's key by angles
/// that depend on the token's position. It stores the key and the value in the token's place in the cache, in
/// the cache's format: fp8 with the pool's scale of 1, int8 with a scale for each token and head. One warp
/// works on each query head, key and value of each request.
struct RopeCall {
    const float* qkv = nullptr;    ///< [batch, query heads + 2 · KV heads, head_dim]: q, k, v
    const float* turns = nullptr;  ///< [batch, head_dim / 2, 2]: cosine and sine at the request's position
    std::uint16_t* q = nullptr;    ///< [batch, query heads, head_dim], bf16 for bf16 caches, else fp16
    std::byte* pool = nullptr;     ///< the pages of the cache
    float* scales = nullptr;       ///< int8 only: [pages][KV heads][K, V][tokens per page]
    const std::int32_t* pages = nullptr;       ///< PageTable::pages
    const std::int32_t* first_page = nullptr;  ///< PageTable::first
    const std::int32_t* lengths = nullptr;     ///< [batch]: number of tokens, including the new one
    PageStrides strides;
    std::int32_t batch = 0;
    std::int32_t query_heads = 0;
    std::int32_t kv_heads = 0;
    std::int32_t page_shift = 0;  ///< log2 of the tokens per page

    /// Number of heads of q, k and v together.
    PARETOKEN_HOST_DEVICE std::int32_t heads() const { return query_heads + 2 * kv_heads; }
};

inline constexpr int kRopeWarps = 4;  ///< warps of a block

/// One head in the registers of a warp. Each lane holds kEach consecutive numbers of each half of the
/// dimensions, beginning with number kEach · lane.
template <KvFormat kFormat, int kDim>
struct RopeHead {
    static constexpr int kEach = kDim / 64;
    static constexpr bool kBf16 = kFormat == KvFormat::bf16;

    float x[2][kEach];

    template <class Machine>
    PARETOKEN_HOST_DEVICE void load(const Machine& m, const float* from) {
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            PARETOKEN_UNROLL
            for (int e = 0; e < kEach; ++e) x[half][e] = from[half * (kDim / 2) + m.lane() * kEach + e];
        }
    }
    /// Rotates the point whose coordinates are the dimensions d and d + kDim / 2 by its angle, for every d
    /// below kDim / 2. `turns` holds the cosine and the sine of each angle.
    template <class Machine>
    PARETOKEN_HOST_DEVICE void turn(const Machine& m, const float* turns) {
        PARETOKEN_UNROLL
        for (int e = 0; e < kEach; ++e) {
            const float cosine = turns[(m.lane() * kEach + e) * 2];
            const float sine = turns[(m.lane() * kEach + e) * 2 + 1];
            const float low = x[0][e];
            x[0][e] = low * cosine - x[1][e] * sine;
            x[1][e] = x[1][e] * cosine + low * sine;
        }
    }
    template <class Machine>
    PARETOKEN_HOST_DEVICE void store_16_bits(const Machine& m, std::uint16_t* to) const {
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            std::uint16_t* const at = to + half * (kDim / 2) + m.lane() * kEach;
            const std::uint32_t pair = m.template pack<kBf16>(x[half][0], x[half][kEach - 1]);
            if constexpr (kEach == 2) {
                *reinterpret_cast<std::uint32_t*>(at) = pair;
            } else {
                *at = static_cast<std::uint16_t>(pair & 0xffff);
            }
        }
    }
    /// Stores the numbers in the 8-bit format of the cache, nearest to the number ÷ scale. Returns their
    /// scale in all lanes; it is 1 for fp8.
    template <class Machine>
    PARETOKEN_HOST_DEVICE float store_8_bits(const Machine& m, std::byte* to) const {
        float scale = 1;
        if constexpr (kFormat == KvFormat::int8) {
            float most = 0;
            PARETOKEN_UNROLL
            for (int half = 0; half < 2; ++half) {
                PARETOKEN_UNROLL
                for (int e = 0; e < kEach; ++e) most = fmaxf(most, fabsf(x[half][e]));
            }
            PARETOKEN_UNROLL
            for (int distance = 16; distance > 0; distance /= 2)
                most = fmaxf(most, m.shuffle_xor(most, distance));
            scale = most > 0 ? most / 127 : 1;
        }
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            PARETOKEN_UNROLL
            for (int e = 0; e < kEach; ++e) {
                const std::uint32_t code =
                    kFormat == KvFormat::int8
                        ? static_cast<std::uint32_t>(static_cast<std::int32_t>(rintf(x[half][e] / scale)))
                        : e4m3_of(x[half][e]);
                to[half * (kDim / 2) + m.lane() * kEach + e] = static_cast<std::byte>(code & 0xff);
            }
        }
        return scale;
    }
};

template <KvFormat kFormat, int kDim, class Machine>
PARETOKEN_HOST_DEVICE void rope_body(const Machine& m, const RopeCall& call) {
    const int index = m.piece() * kRopeWarps + m.warp();
    const int request = index / call.heads();
    const int head = index - request * call.heads();
    if (request >= call.batch) return;
    RopeHead<kFormat, kDim> numbers;
    numbers.load(m, call.qkv + static_cast<std::int64_t>(index) * kDim);
    const bool is_value = head >= call.query_heads + call.kv_heads;
    if (!is_value) numbers.turn(m, call.turns + static_cast<std::int64_t>(request) * kDim);
    if (head < call.query_heads) {
        numbers.store_16_bits(m,
                              call.q + (static_cast<std::int64_t>(request) * call.query_heads + head) * kDim);
        return;
    }
    const int kv_head = head - call.query_heads - (is_value ? call.kv_heads : 0);
    const std::int32_t token = call.lengths[request] - 1;
    const std::int32_t page = call.pages[call.first_page[request] + (token >> call.page_shift)];
    const auto slot = static_cast<std::uint32_t>(token & ((1 << call.page_shift) - 1));
    std::byte* const to = call.pool + static_cast<std::uint64_t>(page) * call.strides.page +
                          (is_value ? call.strides.value : 0) +
                          static_cast<std::uint32_t>(kv_head) * call.strides.head + slot * call.strides.token;
    if constexpr (bytes_of(kFormat) == 2) {
        numbers.store_16_bits(m, reinterpret_cast<std::uint16_t*>(to));
    } else {
        const float scale = numbers.store_8_bits(m, to);
        if (kFormat == KvFormat::int8 && m.lane() == 0) {
            call.scales[scale_place(static_cast<std::uint32_t>(call.kv_heads), 1U << call.page_shift,
                                    static_cast<std::uint64_t>(page), static_cast<std::uint32_t>(kv_head),
                                    is_value ? 1 : 0, slot)] = scale;
        }
    }
}

// ---- gated activation

/// The arguments of the gated activation kernel. It computes out = silu(gate) · up for each row, where
/// silu(x) = x ÷ (1 + e^−x). Each block computes kGateThreads · 4 columns of one row.
struct GateCall {
    const float* gate_up = nullptr;  ///< [batch, 2, width]
    std::uint16_t* out = nullptr;    ///< [batch, width], bf16 or fp16
    std::int32_t width = 0;          ///< a multiple of 4
};

inline constexpr int kGateWarps = 4;  ///< warps of a block
inline constexpr int kGateThreads = kGateWarps * 32;
PARETOKEN_HOST_DEVICE constexpr std::int32_t gate_blocks_per_row(std::int32_t width) {
    return (width + kGateThreads * 4 - 1) / (kGateThreads * 4);
}

template <bool kBf16, class Machine>
PARETOKEN_HOST_DEVICE void gate_body(const Machine& m, const GateCall& call) {
    const std::int32_t blocks = gate_blocks_per_row(call.width);
    const std::int64_t row = m.piece() / blocks;
    const std::int32_t column = (m.piece() % blocks * kGateThreads + m.warp() * 32 + m.lane()) * 4;
    if (column >= call.width) return;
    const float* const gate_at = call.gate_up + row * 2 * call.width + column;
    const Floats4 gate = *reinterpret_cast<const Floats4*>(gate_at);
    const Floats4 up = *reinterpret_cast<const Floats4*>(gate_at + call.width);
    float y[4];
    PARETOKEN_UNROLL
    for (int e = 0; e < 4; ++e) y[e] = gate.v[e] / (1 + m.exp2(-gate.v[e] * kLog2E)) * up.v[e];
    *reinterpret_cast<Pairs2*>(call.out + row * call.width + column) = {m.template pack<kBf16>(y[0], y[1]),
                                                                        m.template pack<kBf16>(y[2], y[3])};
}

}  // namespace paretoken::microbench::gpu
