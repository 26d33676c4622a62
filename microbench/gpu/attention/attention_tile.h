#pragma once
// The data that the warps of the attention kernels work on: the tile of one warp in shared memory, the
// element that each lane and register holds, the conversion of 8-bit elements to fp16, and the iteration over
// the tokens of a piece. Most of the code computes indices.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/attention/split.h"
#include "microbench/gpu/formats/dtypes.h"
#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

inline constexpr int kWarps = 4;                           ///< warps of a block
inline constexpr int kThreads = kWarps * 32;               ///< threads of a block
inline constexpr int kWarpTokens = 16;                     ///< tokens of a tile; also the rows of a tile
inline constexpr int kBlockTokens = kWarps * kWarpTokens;  ///< tokens of the tiles of all warps
inline constexpr int kMaxStages = 4;                       ///< most tiles that a warp keeps in shared memory
inline constexpr float kLog2E = 1.4426950408889634F;       ///< log2 e
inline constexpr float kLowest = -1e30F;  ///< initial maximum; finite, so that differences are not NaN

/// 16 bytes that a lane loads at once.
struct alignas(16) Words4 {
    std::uint32_t w[4];
};

/// The tile of one warp in shared memory: K of 16 tokens, then V of these tokens, then their scales.
template <KvFormat kFormat, int kDim>
struct WarpTile {
    /// Whether the elements have 16 bits, not 8.
    static constexpr bool kHalf = kFormat == KvFormat::bf16 || kFormat == KvFormat::fp16;
    static constexpr int kRowBytes = kDim * (kHalf ? 2 : 1);  ///< K or V of one token
    static constexpr int kRowChunks = kRowBytes / 16;         ///< chunks of 16 bytes
    static constexpr int kValues = kWarpTokens * kRowBytes;   ///< offset of V in bytes
    static constexpr int kScales = 2 * kValues;               ///< offset of the scales in bytes
    static constexpr bool kHasScales = kFormat == KvFormat::int8;
    static constexpr int kBytes = kScales + (kHasScales ? 2 * kWarpTokens * 4 : 0);

    /// Returns the offset in bytes of 16-byte chunk `chunk` of the row of a token, within the K of the
    /// tile, or within its V if `value` is true. Rows fill lines of eight chunks. Within a line the chunks
    /// are permuted by an exclusive or, so that eight lanes that read at the same time access eight
    /// different positions in a line.
    PARETOKEN_HOST_DEVICE static constexpr int place(bool value, int token, int chunk) {
        const int index = token * kRowChunks + chunk;
        int exchange = token & 7;  // equal for all chunks of a line
        if (!kHalf) exchange = value ? (token >> 1 & 3) << 1 : kRowChunks == 8 ? (token & 1) << 2 : 0;
        return index / 8 * 128 + (index % 8 ^ exchange) * 16;
    }
    /// Returns the place of the chunk that comes 2 · `steps` chunks after the one at place `at`, which is
    /// chunk 0 or 1 of a row. For 16-bit formats only. It uses an exclusive or and a constant; otherwise the
    /// compiler would keep an address in a register for every step.
    PARETOKEN_HOST_DEVICE static constexpr int further(int at, int steps) {
        return (at ^ steps % 4 * 32) + steps / 4 * 128;
    }
    /// Returns the place of the chunk at place `at` in the row of the token 16 · `groups` tokens later.
    PARETOKEN_HOST_DEVICE static constexpr int later(int at, int groups) {
        return at + groups * kWarpTokens * kRowBytes;
    }
};

/// The shared memory of a block: the stages of each warp, of which each holds one tile, one tile of results,
/// and the softmax states of the warps.
template <KvFormat kFormat, int kDim>
struct BlockMemory {
    static constexpr int kResultStride = kDim + 8;  // in floats; consecutive rows start eight banks apart
    static constexpr int kStageBytes = kWarps * WarpTile<kFormat, kDim>::kBytes;
    static constexpr int kResultBytes = kWarpTokens * kResultStride * 4;
    static constexpr int kStateBytes = (kWarps * 2 + 2) * 16 * 4 + 16;
    static constexpr int kFixedBytes = kResultBytes + kStateBytes;

    PARETOKEN_HOST_DEVICE static constexpr int bytes(int stages) {
        return stages * kStageBytes + kFixedBytes;
    }
};

/// Returns the dimension of the head that column `column` of result tile `tile` holds; a tile has eight
/// columns. With 8-bit values, a lane reads 16 adjacent bytes (8 if the head has 64 dimensions), which become
/// one column of all tiles.
template <KvFormat kFormat, int kDim>
PARETOKEN_HOST_DEVICE constexpr int dim_of(int tile, int column) {
    return WarpTile<kFormat, kDim>::kHalf ? tile * 8 + column : column * (kDim / 8) + tile;
}

/// Returns the first of the two adjacent dimensions that a register of the queries holds in step `step` of
/// the score product, one mma.m16n8k16. `half` is 0 for the registers of the columns k = 0 … 7 and 1 for
/// those of k = 8 … 15, and `t` is lane % 4.
template <KvFormat kFormat, int kDim>
PARETOKEN_HOST_DEVICE constexpr int query_dim(int step, int half, int t) {
    if (WarpTile<kFormat, kDim>::kHalf) return step * 16 + half * 8 + t * 2;
    return step / 4 * 64 + t * 16 + step % 4 * 4 + half * 2;
}

/// Four fp16 numbers.
struct HalfPairs {
    std::uint32_t first = 0;   ///< fp16 values of bytes 0 and 1
    std::uint32_t second = 0;  ///< fp16 values of bytes 2 and 3
};

/// Converts four 8-bit elements to fp16. The results of fp8 must still be multiplied by Machine::kE4m3Unit.
template <KvFormat kFormat, class Machine>
PARETOKEN_HOST_DEVICE inline HalfPairs halves_of(const Machine& m, std::uint32_t word) {
    if constexpr (kFormat == KvFormat::fp8) {
        return {m.e4m3_pair(word, 0), m.e4m3_pair(word, 1)};
    } else {                                            // raw_int8_pair gives 1024 + (w + 128)
        constexpr std::uint32_t kTooMuch = 0x64806480;  // 1152 in both halves
        const std::uint32_t biased = word ^ 0x80808080;
        return {m.subtract_halves(raw_int8_pair(biased, 0), kTooMuch),
                m.subtract_halves(raw_int8_pair(biased, 1), kTooMuch)};
    }
}

/// Iterates over the tokens of a piece, which is a list of segments (split.h), in steps of kBlock tokens. The
/// tokens of one warp start at `offset` in each step. The page of a step is looked up one step earlier. The
/// fields of the segment that a step needs stay in registers.
template <int kBlock>
struct TokenWalk {
    const std::int32_t* pages;       ///< PageTable::pages
    const std::int32_t* first_page;  ///< PageTable::first
    std::int32_t page_shift;         ///< log2 of the tokens per page
    std::int32_t offset;
    const Segment* segments;
    std::int32_t index;                       ///< index of the current segment
    std::int32_t end;                         ///< index after the last segment of the piece
    const std::int32_t* own_pages = nullptr;  ///< page table of the request of the segment
    std::int32_t first = 0;                   ///< tokens [first, last) of the segment
    std::int32_t last = 0;
    std::int32_t token = 0;  ///< first token of this warp in the next step
    std::int32_t page = 0;   ///< page of `token`, valid if has_tokens()

    PARETOKEN_HOST_DEVICE bool done() const { return index == end; }
    PARETOKEN_HOST_DEVICE const Segment& segment() const { return segments[index]; }
    PARETOKEN_HOST_DEVICE bool has_tokens() const { return token < last; }
    /// Returns the index of `token` in its page.
    PARETOKEN_HOST_DEVICE std::int32_t slot() const { return token & ((1 << page_shift) - 1); }
    /// Returns whether token `token + row` belongs to the segment.
    PARETOKEN_HOST_DEVICE bool holds(int row) const {
        return static_cast<std::uint32_t>(token + row - first) < static_cast<std::uint32_t>(last - first);
    }

    /// Begins the segment `index`.
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
    /// Advances by one step. Returns true if the step left the current segment.
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
