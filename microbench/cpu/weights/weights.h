#pragma once
// Computes y[batch, rows] = W[rows, k] · x[batch, k] from stored weights, as in decode, by one function per
// (type, layout, instruction set, batch, and for some way of prefetching).
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "microbench/cpu/fetch.h"
#include "microbench/cpu/formats.h"
#include "microbench/cpu/isa.h"

namespace paretoken::microbench {

/// `row` stores one row after the other, as a GGUF file does; `packed` stores panels of 32 rows by packed().
enum class Layout { row, packed };
std::string_view name_of(Layout layout);

/// The rows per packed panel: two registers of 16, so that one broadcast of x serves both.
inline constexpr std::size_t kPanel = 32;

/// The part of a batch that packed AVX-512 kernels multiply at once: more sums would not stay in registers.
inline constexpr int kMostAtOnce = 8;

constexpr std::size_t panels_of(std::size_t rows) {
    return (rows + kPanel - 1) / kPanel;
}

/// Returns the bytes of memory of a matrix; the packed layout pads rows to whole panels.
constexpr std::size_t stored_bytes(WeightType type, Layout layout, std::size_t rows, std::size_t k) {
    return row_bytes(type, k) * (layout == Layout::packed ? panels_of(rows) * kPanel : rows);
}

/// Returns the number z that is added to a stored integer w to make it unsigned: kernels compute Σ (w + z) ·
/// x − z · Σ x. It is 1 for q4_1 and q4_k, whose kernels multiply Σ x by the minimums of the blocks.
constexpr float zero_point(WeightType type) {
    switch (type) {
        case WeightType::q8_0:
            return 128;
        case WeightType::q6_k:
            return 32;
        case WeightType::q4_0:
            return 8;
        case WeightType::bf16:
        case WeightType::f16:
        case WeightType::q4_1:
        case WeightType::q4_k:
            return 1;
    }
    return 1;
}

/// Allocates storage that begins on a cache line, because a load across two lines costs twice.
template <class Value>
struct LineAligned {
    using value_type = Value;
    LineAligned() = default;
    template <class Other>
    explicit LineAligned(const LineAligned<Other>&) {}
    static Value* allocate(std::size_t count) {
        return static_cast<Value*>(::operator new (count * sizeof(Value), std::align_val_t{64}));
    }
    static void deallocate(Value* at, std::size_t) { ::operator delete (at, std::align_val_t{64}); }
    bool operator==(const LineAligned&) const = default;
};
template <class Value>
using Lines = std::vector<Value, LineAligned<Value>>;

/// x in every form that a kernel of the weight type reads; other forms may be empty. For bf16 weights x is
/// rounded to bf16, for f16 it is unchanged, and for block-quantised weights it is bytes in −127 … 127 with a
/// scale for each 32 values, padded to a multiple of four blocks.
struct Activations {
    std::size_t k = 0;
    std::size_t batch = 0;
    Lines<float> values;  ///< [batch, k], the exact values of the numbers below

    Lines<std::uint16_t> bf16;               ///< [batch, k]
    Lines<float> interleaved_values;         ///< [k, batch]
    Lines<std::uint32_t> interleaved_pairs;  ///< [k / 2, batch] of two bf16

    std::size_t blocks = 0;           ///< k / 32, padded to a multiple of four
    Lines<std::int8_t> bytes;         ///< [batch, blocks, 32]
    Lines<std::int8_t> nibble_order;  ///< [batch, blocks / 4, 2, 4, 16]: the halves of four blocks together
    Lines<float> scale;               ///< [batch, blocks]
    Lines<float> offset;              ///< [batch, blocks] of zero_point(type) · scale · Σ bytes
    Lines<std::int32_t> interleaved_quads;  ///< [k / 4, batch] of four bytes
    Lines<float> interleaved_scale;         ///< [blocks, batch]
    Lines<float> interleaved_offset;        ///< [blocks, batch]
    Lines<std::int32_t> interleaved_start;  ///< q6_k: [2 · blocks, batch] of −32 · Σ of 16 bytes
};

/// `x` is [batch, k].
Activations activations_for(WeightType type, std::span<const float> x, std::size_t batch);

/// Row kernels may read 128 bytes after the weights: zeros, or further blocks of the type.
struct GemvCall {
    const std::byte* weights = nullptr;
    std::size_t rows = 0;
    const Activations* x = nullptr;
    float* y = nullptr;  ///< y[b · y_stride + row]
    std::size_t y_stride = 0;
};
using Gemv = void (*)(const GemvCall&);

struct GemvVariant {
    WeightType type;
    Layout layout;
    Isa isa;
    std::size_t batch;  ///< 0 means any
    Gemv run;
    Fetch fetch = Fetch::none;
};

std::span<const GemvVariant> bf16_gemvs();
std::span<const GemvVariant> f16_gemvs();
std::span<const GemvVariant> q8_0_gemvs();
std::span<const GemvVariant> q4_gemvs(WeightType type);  ///< q4_0 or q4_1
std::span<const GemvVariant> q4_k_gemvs();
std::span<const GemvVariant> q6_k_gemvs();
std::span<const GemvVariant> tile_gemvs();  ///< kernels of Isa::amx; only bf16 has any

/// Returns the kernels for the batch of the best instruction set up to `isa` that has any; there is always a
/// scalar one. They give equal bits and differ in the way of prefetching.
std::vector<GemvVariant> gemvs_for(WeightType type, Layout layout, Isa isa, std::size_t batch);

/// Converts the row layout to the packed layout; missing rows of the last panel are zeros. "per 32" and "per
/// 256" count weights along k, and "32 × d" are the values d of the panel's 32 rows.
///   bf16  [k / 2][32 rows][2]
///   f16   [k][32 rows]
///   q8_0  per 32: 32 × d, then [8][32 rows][4] bytes with 128 added
///   q4_0  per 32: 32 × d, then [4][32 rows][4] bytes: low halves are weights 8i … 8i + 3, high halves 8i + 4
///         … 8i + 7
///   q4_1  as q4_0, with 32 × m after d
///   q4_k  per 256: 32 × d, 32 × m, the scales' 12 bytes as [12][32 rows], then per 32 as q4_0
///   q6_k  per 256: 32 × d, then scales [16][32 rows], then for each 16 weights three arrays [32 rows][4] of
///         bytes, of which byte j of a row holds:
///         in array 1: weight j in the low half and weight 4 + j in the high half (low 4 bits of each),
///         in array 2: weights 8 + j and 12 + j in the same way,
///         in array 3: the upper two bits of weight 4i + j in its bits 2i and 2i + 1.
std::vector<std::byte> packed(WeightType type, std::span<const std::byte> row_layout, std::size_t rows,
                              std::size_t k);

/// Each of these writes one block of weights, neighbours along k in one row, to their positions in the block
/// of a panel. `row` is 0 to 31 within the panel. The panel's block must be zero before its first row.
void pack_bf16(const std::byte* block, std::byte* panel_block, std::size_t row);
void pack_f16(const std::byte* block, std::byte* panel_block, std::size_t row);
void pack_q8_0(const std::byte* block, std::byte* panel_block, std::size_t row);
void pack_q4(WeightType type, const std::byte* block, std::byte* panel_block, std::size_t row);
void pack_q4_k(const std::byte* block, std::byte* panel_block, std::size_t row);
void pack_q6_k(const std::byte* block, std::byte* panel_block, std::size_t row);

}  // namespace paretoken::microbench
