#pragma once
// What the attention kernels' warps work on: the tile of one warp in shared memory, which element of it each
// lane and register stands for, 8-bit elements as fp16, and the walk through a piece's tokens. Pure index
// arithmetic.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/device/host_device.h"
#include "microbench/gpu/device/split.h"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {

inline constexpr int kWarps = 4;
inline constexpr int kThreads = kWarps * 32;
inline constexpr int kWarpTokens = 16;
inline constexpr int kBlockTokens = kWarps * kWarpTokens;
inline constexpr int kMaxStages = 4;
inline constexpr float kLog2E = 1.4426950408889634F;
inline constexpr float kLowest = -1e30F;  ///< "no maximum yet": finite, so that differences stay numbers

struct alignas(16) Words4 {
    std::uint32_t w[4];
};

/// The tile of one warp in shared memory: 16 tokens of K, then of V, then their scales.
template <KvFormat kFormat, int kDim>
struct WarpTile {
    static constexpr bool kHalf = kFormat == KvFormat::bf16 || kFormat == KvFormat::fp16;
    static constexpr int kRowBytes = kDim * (kHalf ? 2 : 1);
    static constexpr int kRowChunks = kRowBytes / 16;
    static constexpr int kValues = kWarpTokens * kRowBytes;
    static constexpr int kScales = 2 * kValues;
    static constexpr bool kHasScales = kFormat == KvFormat::int8;
    static constexpr int kBytes = kScales + (kHasScales ? 2 * kWarpTokens * 4 : 0);

    /// Where 16-byte chunk `chunk` of a token's row lies. Rows fill lines of eight chunks; within a line
    /// chunks are exchanged so that the eight lanes that read at once meet eight different ones.
    PARETOKEN_HOST_DEVICE static constexpr int place(bool value, int token, int chunk) {
        const int index = token * kRowChunks + chunk;
        int exchange = token & 7;  // the same for all chunks of a line
        if (!kHalf) exchange = value ? (token >> 1 & 3) << 1 : kRowChunks == 8 ? (token & 1) << 2 : 0;
        return index / 8 * 128 + (index % 8 ^ exchange) * 16;
    }
    /// From the place of chunk 0 or 1 to that of the chunk 2 · `steps` further, in 16-bit formats: an
    /// exclusive or and a constant, where a compiler would keep an address for every step.
    PARETOKEN_HOST_DEVICE static constexpr int further(int at, int steps) {
        return (at ^ steps % 4 * 32) + steps / 4 * 128;
    }
    /// From a token's place to that of the token 16 · `groups` after it.
    PARETOKEN_HOST_DEVICE static constexpr int later(int at, int groups) {
        return at + groups * kWarpTokens * kRowBytes;
    }
};

/// Shared memory of a block: the stages of each warp, one tile of results, and the warps' softmax states.
template <KvFormat kFormat, int kDim>
struct BlockMemory {
    static constexpr int kResultStride = kDim + 8;  // floats; shifts rows by eight banks
    static constexpr int kStageBytes = kWarps * WarpTile<kFormat, kDim>::kBytes;
    static constexpr int kResultBytes = kWarpTokens * kResultStride * 4;
    static constexpr int kStateBytes = (kWarps * 2 + 2) * 16 * 4 + 16;
    static constexpr int kFixedBytes = kResultBytes + kStateBytes;

    PARETOKEN_HOST_DEVICE static constexpr int bytes(int stages) {
        return stages * kStageBytes + kFixedBytes;
    }
};

/// The dimension that column `column` of result tile `tile` (eight columns each) stands for. With 8-bit
/// values a lane's 16 (or 8) adjacent bytes are one column of all tiles.
template <KvFormat kFormat, int kDim>
PARETOKEN_HOST_DEVICE constexpr int dim_of(int tile, int column) {
    return WarpTile<kFormat, kDim>::kHalf ? tile * 8 + column : column * (kDim / 8) + tile;
}

/// The first of the two adjacent dimensions that register pair `half` (0: k, 1: k + 8) of step `step` of the
/// score product holds in lane `t` of four.
template <KvFormat kFormat, int kDim>
PARETOKEN_HOST_DEVICE constexpr int query_dim(int step, int half, int t) {
    if (WarpTile<kFormat, kDim>::kHalf) return step * 16 + half * 8 + t * 2;
    return step / 4 * 64 + t * 16 + step % 4 * 4 + half * 2;
}

struct HalfPairs {
    std::uint32_t first = 0;   ///< of bytes 0 and 1
    std::uint32_t second = 0;  ///< of bytes 2 and 3
};

/// Four 8-bit elements as fp16; fp8 in units of 1 / Machine::kE4m3Unit.
template <KvFormat kFormat, class Machine>
PARETOKEN_HOST_DEVICE inline HalfPairs halves_of(const Machine& m, std::uint32_t word) {
    if constexpr (kFormat == KvFormat::fp8) {
        return {m.e4m3_pair(word, 0), m.e4m3_pair(word, 1)};
    } else {                                            // bytes w + 128, as dtypes.h has them
        constexpr std::uint32_t kTooMuch = 0x64806480;  // 1152
        const std::uint32_t biased = word ^ 0x80808080;
        return {m.subtract_halves(raw_int8_pair(biased, 0), kTooMuch),
                m.subtract_halves(raw_int8_pair(biased, 1), kTooMuch)};
    }
}

/// Walks through the tokens of a piece in steps of kBlock, of which those from `offset` on are one warp's.
/// The page of a step is looked up one step before. What a step needs of its segment stays in registers.
template <int kBlock>
struct TokenWalk {
    const std::int32_t* pages;
    const std::int32_t* first_page;
    std::int32_t page_shift;
    std::int32_t offset;
    const Segment* segments;
    std::int32_t index;  ///< of the segment
    std::int32_t end;
    const std::int32_t* own_pages = nullptr;  ///< of the segment's request
    std::int32_t first = 0;                   ///< the segment's tokens
    std::int32_t last = 0;
    std::int32_t token = 0;  ///< first of this warp's in the next step
    std::int32_t page = 0;   ///< where it lies, when has_tokens()

    PARETOKEN_HOST_DEVICE bool done() const { return index == end; }
    PARETOKEN_HOST_DEVICE const Segment& segment() const { return segments[index]; }
    PARETOKEN_HOST_DEVICE bool has_tokens() const { return token < last; }
    PARETOKEN_HOST_DEVICE std::int32_t slot() const { return token & ((1 << page_shift) - 1); }
    /// Whether token `token + row` is the segment's.
    PARETOKEN_HOST_DEVICE bool holds(int row) const {
        return static_cast<std::uint32_t>(token + row - first) < static_cast<std::uint32_t>(last - first);
    }

    PARETOKEN_HOST_DEVICE void enter() {
        if (done()) return;
        first = segment().first;
        last = segment().last;
        own_pages = pages + first_page[segment().request];
        token = first / kWarpTokens * kWarpTokens + offset;
        look_up();
    }
    PARETOKEN_HOST_DEVICE void look_up() {
        if (has_tokens()) page = own_pages[token >> page_shift];
    }
    /// True when that entered another segment, or left the last.
    PARETOKEN_HOST_DEVICE bool advance() {
        token += kBlock;
        if (token - offset < last) {
            look_up();
            return false;
        }
        ++index;
        enter();
        return true;
    }
};

}  // namespace paretoken::microbench::gpu
