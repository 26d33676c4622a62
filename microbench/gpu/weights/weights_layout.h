#pragma once
// Where weight (row, k) lies in the operand that the kernels stream, and how work on it is divided. The
// matrix is cut into units of 16 · tiles rows × 64 of k, stored one after the other, k inside. Up to eight
// blocks of rows make a stack: their units of one step lie side by side, so that as many warps of a thread
// block read one linear stream, and the same x. Within a unit each lane's 16-byte load holds complete mma A
// registers (mma.h).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microbench/gpu/device/mma.h"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {

inline constexpr int kUnitK = 64;
inline constexpr int kTilesPerUnit = kUnitK / kMmaK;  ///< mma instructions along k
inline constexpr int kFp16Group = 128;                ///< weights along k that share an fp16 scale

/// The k, within a unit, of column `column` of A (= row of B) in its mma `tile`. Lane t of a group of four
/// then finds its x for two tiles in 16 consecutive bytes; a tile never leaves its block of 32.
PARETOKEN_HOST_DEVICE constexpr int k_of(int tile, int column) {
    return tile / 2 * 32 + column % 8 / 2 * 8 + tile % 2 * 4 + column / 8 * 2 + column % 2;
}

/// 16-byte loads of a lane per 16 rows of a unit.
PARETOKEN_HOST_DEVICE constexpr int loads_of(WeightFormat format) {
    return bits_of(format) / 4;
}

struct WeightsShape {
    WeightFormat format = WeightFormat::bf16;
    std::size_t rows = 0;
    std::size_t k = 0;  ///< a multiple of 64 and of the scale's group
    int tiles = 1;      ///< 16 rows each, per unit
    int stacked = 1;    ///< blocks of rows side by side, see stacked_blocks

    bool operator==(const WeightsShape&) const = default;
    PARETOKEN_HOST_DEVICE std::size_t unit_rows() const { return 16 * static_cast<std::size_t>(tiles); }
    PARETOKEN_HOST_DEVICE std::size_t row_blocks() const { return (rows + unit_rows() - 1) / unit_rows(); }
    PARETOKEN_HOST_DEVICE std::size_t steps() const { return k / kUnitK; }
    PARETOKEN_HOST_DEVICE std::size_t units() const { return row_blocks() * steps(); }
    /// The index of a unit in the stream.
    PARETOKEN_HOST_DEVICE std::size_t unit_at(std::size_t row_block, std::size_t step) const {
        const auto of_stack = static_cast<std::size_t>(stacked);
        return (row_block / of_stack * steps() + step) * of_stack + row_block % of_stack;
    }
    PARETOKEN_HOST_DEVICE std::size_t unit_words() const {
        return static_cast<std::size_t>(tiles * loads_of(format)) * kLanes * 4;
    }
    PARETOKEN_HOST_DEVICE std::size_t words() const { return units() * unit_words(); }
    /// The number of words that hold the scales, in the order of the units that they belong to:
    ///   row_float   one float per row
    ///   group_fp16  a word with two fp16 (rows g and g + 8) for each g < 8 of 16 rows, per 128 of k
    ///   group_e8m0  a word with four e8m0 for each g < 8 of 16 rows, per 64 of k: rows g and g + 8 of the
    ///               first 32 of k, then of the second 32
    PARETOKEN_HOST_DEVICE std::size_t scale_words() const;
};

/// Can these kernels multiply by such a matrix?
constexpr bool fits(WeightFormat format, std::size_t k) {
    return k > 0 && k % kUnitK == 0 &&
           (group_of(format) == 0 || k % static_cast<std::size_t>(group_of(format)) == 0);
}

/// Bytes of the format itself, without padding: codes and scales.
double format_bytes(WeightFormat format, double rows, double k);

struct Place {
    std::size_t word = 0;
    int pair = 0;
    int half = 0;

    bool operator==(const Place&) const = default;
};

/// Where element `element` (mma.h) of A of mma `tile` lies, in the unit's 16-row part; words within that
/// part.
PARETOKEN_HOST_DEVICE constexpr Place place_in_part(int bits, int lane, int tile, int element) {
    const int half = element & 1;
    const int reg = element / 2;  // of the mma: row half + 2 · column half
    const int row_half = reg & 1;
    const int column_half = reg / 2;
    const auto word = [lane](int load, int index) {
        return static_cast<std::size_t>(load * kLanes + lane) * 4 + static_cast<std::size_t>(index);
    };
    if (bits == 16) return {word(tile, reg), 0, half};
    if (bits == 8) return {word(tile / 2, tile % 2 * 2 + row_half), column_half, half};
    return {word(0, tile), reg, half};
}

/// The place of weight (row, k).
PARETOKEN_HOST_DEVICE inline Place place_of(const WeightsShape& shape, std::size_t row, std::size_t k) {
    const std::size_t unit = shape.unit_at(row / shape.unit_rows(), k / kUnitK);
    const int row_in_unit = static_cast<int>(row % shape.unit_rows());
    const int part = row_in_unit / 16;
    const int m = row_in_unit % 16;
    const int k_in_unit = static_cast<int>(k % kUnitK);
    // k_of, inverted: 32 · tile half, 8 · lane, 4 · tile parity, 2 · column half, parity
    const int tile = k_in_unit / 32 * 2 + k_in_unit / 4 % 2;
    const int lane = m % 8 * 4 + k_in_unit % 32 / 8;
    const int element = k_in_unit % 2 + m / 8 * 2 + k_in_unit / 2 % 2 * 4;
    Place place = place_in_part(bits_of(shape.format), lane, tile, element);
    place.word +=
        unit * shape.unit_words() + static_cast<std::size_t>(part * loads_of(shape.format)) * kLanes * 4;
    return place;
}

/// The index of the scale's word for the lanes of group `g` (lane / 4), and which of its fields. Not for
/// formats without groups.
struct ScalePlace {
    std::size_t word = 0;
    int field = 0;  ///< index of the fp16, or of the byte with an e8m0, in the word

    bool operator==(const ScalePlace&) const = default;
};
PARETOKEN_HOST_DEVICE inline ScalePlace scale_place_of(const WeightsShape& shape, std::size_t row,
                                                       std::size_t k) {
    const bool fp16 = scale_of(shape.format) == WeightScale::group_fp16;
    const std::size_t steps_of_scale = fp16 ? kFp16Group / kUnitK : 1;
    const auto of_stack = static_cast<std::size_t>(shape.stacked);
    const std::size_t row_block = row / shape.unit_rows();
    const std::size_t group =
        row_block / of_stack * (shape.steps() / steps_of_scale) + k / kUnitK / steps_of_scale;
    const std::size_t part = row % shape.unit_rows() / 16;
    const std::size_t word =
        ((group * of_stack + row_block % of_stack) * static_cast<std::size_t>(shape.tiles) + part) * 8 +
        row % 8;
    const int row_half = static_cast<int>(row / 8 % 2);
    return {word, fp16 ? row_half : static_cast<int>(k / 32 % 2) * 2 + row_half};
}

PARETOKEN_HOST_DEVICE inline std::size_t WeightsShape::scale_words() const {
    const std::size_t padded_rows = row_blocks() * unit_rows();
    switch (scale_of(format)) {
        case WeightScale::none:
            return 0;
        case WeightScale::row_float:
            return padded_rows;
        case WeightScale::group_fp16:
            return padded_rows / 16 * (k / kFp16Group) * 8;
        case WeightScale::group_e8m0:
            return padded_rows / 16 * steps() * 8;
    }
    return 0;
}

/// Codes [rows, k] → the streamed operand; rows that only pad hold code 0.
std::vector<std::uint32_t> packed(const WeightsShape& shape, std::span<const std::uint16_t> codes);

// ---- dividing steps of stacks among teams of warps

/// A number of units in contiguous shares, as even as can be, the larger ones first. Without divisions:
/// kernels ask for it before their first load.
struct EvenShares {
    std::uint32_t quotient = 0;
    std::uint32_t remainder = 0;

    bool operator==(const EvenShares&) const = default;
    PARETOKEN_HOST_DEVICE static constexpr EvenShares of(std::uint32_t units, std::uint32_t workers) {
        return {units / workers, units % workers};
    }
    /// Where worker i begins; for i = workers the end.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first(std::uint32_t i) const {
        return i * quotient + (i < remainder ? i : remainder);
    }
    /// Whose share `unit` is in.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t owner(std::uint32_t unit) const {
        const std::uint32_t in_larger = remainder * (quotient + 1);
        return unit < in_larger ? unit / (quotient + 1) : remainder + (unit - in_larger) / quotient;
    }
};

inline constexpr std::uint32_t kWeightWarps = 8;  ///< of a thread block

/// How many blocks of rows of such a matrix to stack: as many as a thread block has warps, unless they do not
/// divide its blocks, or too little would be left to give every thread block of a large GPU its share.
int stacked_blocks(const WeightsShape& shape, std::size_t matrices);

/// Stacks, `steps` deep, divided among thread blocks (no more of them than steps of stacks) and then among
/// their teams, all numbered through: a team has as many warps as a stack has blocks of rows, each its own. A
/// team that has a stack for itself writes its outputs; the others are summed: first the parts that lie in
/// one thread block, by the first of its teams that has one, then the sums of thread blocks, by whoever is
/// last.
struct StackDivision {
    EvenShares thread_blocks;
    std::uint32_t steps = 1;
    std::uint32_t team_bits = 3;  ///< 2^team_bits teams are a thread block's warps

    bool operator==(const StackDivision&) const = default;
    static StackDivision of(const WeightsShape& shape, std::size_t matrices, std::uint32_t thread_blocks);

    PARETOKEN_HOST_DEVICE constexpr std::uint32_t teams() const { return 1U << team_bits; }
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t stacked() const { return kWeightWarps >> team_bits; }

    /// Where a team's share begins.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first(std::uint32_t team) const {
        const std::uint32_t block = team >> team_bits;
        const std::uint32_t begin = thread_blocks.first(block);
        const std::uint32_t here = thread_blocks.first(block + 1) - begin;
        return begin + EvenShares{here >> team_bits, here & (teams() - 1)}.first(team & (teams() - 1));
    }
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t end(std::uint32_t team) const { return first(team + 1); }

    /// Where a team keeps its part of a stack: 0 when the stack begins before its share, else 1.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t slot(std::uint32_t team, std::uint32_t stack) const {
        return first(team) > stack * steps ? 0 : 1;
    }
    /// The same for a thread block's sum.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t thread_block_slot(std::uint32_t block,
                                                                    std::uint32_t stack) const {
        return thread_blocks.first(block) > stack * steps ? 0 : 1;
    }
    PARETOKEN_HOST_DEVICE constexpr bool within(std::uint32_t block, std::uint32_t stack) const {
        return thread_blocks.first(block) <= stack * steps &&
               thread_blocks.first(block + 1) >= (stack + 1) * steps;
    }
    /// Thread blocks that have units of a stack: first … last.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first_thread_block(std::uint32_t stack) const {
        return thread_blocks.owner(stack * steps);
    }
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t last_thread_block(std::uint32_t stack) const {
        return thread_blocks.owner((stack + 1) * steps - 1);
    }

    /// Which stacks this team sums up for its thread block: the one its share begins within, and the
    /// one it ends within.
    struct Duties {
        bool first = false;
        bool last = false;
        std::uint32_t first_stack = 0;
        std::uint32_t last_stack = 0;

        bool operator==(const Duties&) const = default;
    };
    PARETOKEN_HOST_DEVICE constexpr Duties duties_of(std::uint32_t team) const {
        const std::uint32_t begin = first(team);
        const std::uint32_t stop = end(team);
        if (begin == stop) return {};
        const std::uint32_t first_stack = begin / steps;
        const std::uint32_t last_stack = (stop - 1) / steps;
        const bool begins_within = begin != first_stack * steps;
        const bool ends_within = stop != (last_stack + 1) * steps;
        const bool only_one = begins_within && first_stack == last_stack;
        return {begins_within && begin == thread_blocks.first(team >> team_bits), ends_within && !only_one,
                first_stack, last_stack};
    }
};

}  // namespace paretoken::microbench::gpu
