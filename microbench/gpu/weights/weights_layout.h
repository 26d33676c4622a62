#pragma once
// The layout of the weights in memory, and the division of the work on them. A kernel computes W · x for a
// matrix W [rows, k].
//
// A unit is a part of W: 64 values along k of 16, 32, … rows (16 · WeightsShape::tiles). Units that have the
// same rows form a block of rows; each unit of it is one step of the walk along k. A stack consists of 1, 2,
// 4 or 8 adjacent blocks of rows, and all stacks of a matrix have the same size. Memory holds one stack after
// the other, within a stack one step after the other, and within a step the units of all blocks of the stack.
// A team of warps has one warp for each block of rows of a stack. It therefore reads one contiguous stream,
// and all its warps use the same values of x.
//
// Within a unit, a lane loads 16 bytes at a time. One such load holds the lane's complete A operands for one
// mma instruction (16-bit weights), two (8-bit) or four (4-bit). mma.h describes the A operand.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "microbench/gpu/device/mma.h"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {

inline constexpr int kUnitK = 64;                     ///< values of a unit along k
inline constexpr int kTilesPerUnit = kUnitK / kMmaK;  ///< mma instructions along k per unit
inline constexpr int kFp16Group = 128;                ///< weights along k that share an fp16 scale
inline constexpr int kE8m0Group = 32;                 ///< weights along k that share an e8m0 scale
// The functions below compute places of scales for these groups only.
static_assert(std::all_of(std::begin(kWeightFormats), std::end(kWeightFormats), [](WeightFormat format) {
    const int group = group_of(format);
    switch (scale_of(format)) {
        case WeightScale::none:
        case WeightScale::row_float:
            return group == 0;
        case WeightScale::group_fp16:
            return group == kFp16Group;
        case WeightScale::group_e8m0:
            return group == kE8m0Group;
    }
    return false;
}));

/// Returns which k of a unit (0 to 63) is column `column` of A, and row `column` of B, of the unit's mma
/// instruction number `tile`. The order is chosen so that a lane finds its values of x for two instructions
/// in 16 consecutive bytes. All k of one instruction lie in the same block of 32.
PARETOKEN_HOST_DEVICE constexpr int k_of(int tile, int column) {
    return tile / 2 * 32 + column % 8 / 2 * 8 + tile % 2 * 4 + column / 8 * 2 + column % 2;
}

/// Returns the number of 16-byte loads per lane for 16 rows of a unit.
PARETOKEN_HOST_DEVICE constexpr int loads_of(WeightFormat format) {
    return bits_of(format) / 4;
}

struct WeightsShape {
    WeightFormat format = WeightFormat::bf16;
    std::size_t rows = 0;
    std::size_t k = 0;  ///< a multiple of 64 and of the number of weights that share a group scale
    int tiles = 1;      ///< number of 16-row parts per unit
    int stacked = 1;    ///< blocks of rows per stack, see stacked_blocks

    bool operator==(const WeightsShape&) const = default;
    /// Number of rows of a unit.
    PARETOKEN_HOST_DEVICE std::size_t unit_rows() const { return 16 * static_cast<std::size_t>(tiles); }
    /// Number of blocks of rows. The last one may contain rows that only pad it.
    PARETOKEN_HOST_DEVICE std::size_t row_blocks() const { return (rows + unit_rows() - 1) / unit_rows(); }
    /// Number of units along k.
    PARETOKEN_HOST_DEVICE std::size_t steps() const { return k / kUnitK; }
    PARETOKEN_HOST_DEVICE std::size_t units() const { return row_blocks() * steps(); }
    /// Returns the index of a unit in memory.
    PARETOKEN_HOST_DEVICE std::size_t unit_at(std::size_t row_block, std::size_t step) const {
        const auto of_stack = static_cast<std::size_t>(stacked);
        return (row_block / of_stack * steps() + step) * of_stack + row_block % of_stack;
    }
    /// Number of 32-bit words of a unit.
    PARETOKEN_HOST_DEVICE std::size_t unit_words() const {
        return static_cast<std::size_t>(tiles * loads_of(format)) * kLanes * 4;
    }
    /// Number of 32-bit words of the matrix, without its scales.
    PARETOKEN_HOST_DEVICE std::size_t words() const { return units() * unit_words(); }
    /// Returns the number of 32-bit words that hold the scales. They are stored in the order of the units
    /// that they belong to:
    ///   row_float   one float per row
    ///   group_fp16  eight words per 16 rows and 128 k; word g holds two fp16, for rows g and g + 8
    ///   group_e8m0  eight words per 16 rows and 64 k; word g holds four e8m0: for rows g and g + 8 and the
    ///               first 32 k, then for the same rows and the second 32 k
    PARETOKEN_HOST_DEVICE std::size_t scale_words() const;
};

/// Returns whether the kernels support a matrix with this format and this k.
constexpr bool fits(WeightFormat format, std::size_t k) {
    return k > 0 && k % kUnitK == 0 &&
           (group_of(format) == 0 || k % static_cast<std::size_t>(group_of(format)) == 0);
}

/// Returns the number of bytes of the codes and scales of a matrix, without padding.
double format_bytes(WeightFormat format, double rows, double k);

/// The position of one weight: the 32-bit word, the pair of weights within that word (always 0 for 16-bit
/// weights), and the half of the pair (0 is the weight with the lower k).
struct Place {
    std::size_t word = 0;
    int pair = 0;
    int half = 0;

    bool operator==(const Place&) const = default;
};

/// Returns the place of element `element` of a lane's A operand of the mma instruction `tile` within a 16-row
/// part of a unit. a_element in mma.h describes the elements. Words are counted from the beginning of the
/// part.
PARETOKEN_HOST_DEVICE constexpr Place place_in_part(int bits, int lane, int tile, int element) {
    const int half = element & 1;
    const int reg = element / 2;  // mma register: row half + 2 · column half
    const int row_half = reg & 1;
    const int column_half = reg / 2;
    const auto word = [lane](int load, int index) {
        return static_cast<std::size_t>(load * kLanes + lane) * 4 + static_cast<std::size_t>(index);
    };
    if (bits == 16) return {word(tile, reg), 0, half};
    if (bits == 8) return {word(tile / 2, tile % 2 * 2 + row_half), column_half, half};
    return {word(0, tile), reg, half};
}

/// Returns the place of weight (row, k) among the words of the matrix.
PARETOKEN_HOST_DEVICE inline Place place_of(const WeightsShape& shape, std::size_t row, std::size_t k) {
    const std::size_t unit = shape.unit_at(row / shape.unit_rows(), k / kUnitK);
    const int row_in_unit = static_cast<int>(row % shape.unit_rows());
    const int part = row_in_unit / 16;
    const int m = row_in_unit % 16;
    const int k_in_unit = static_cast<int>(k % kUnitK);
    // The inverse of k_of:
    // k = 32 · (tile / 2) + 8 · (lane % 4) + 4 · (tile % 2) + 2 · (element / 4) + element % 2.
    const int tile = k_in_unit / 32 * 2 + k_in_unit / 4 % 2;
    const int lane = m % 8 * 4 + k_in_unit % 32 / 8;
    const int element = k_in_unit % 2 + m / 8 * 2 + k_in_unit / 2 % 2 * 4;
    Place place = place_in_part(bits_of(shape.format), lane, tile, element);
    place.word +=
        unit * shape.unit_words() + static_cast<std::size_t>(part * loads_of(shape.format)) * kLanes * 4;
    return place;
}

/// The place of the scale of a group of weights: the index of the word that holds it, and the index of the
/// scale within the word. Formats without groups do not use it.
struct ScalePlace {
    std::size_t word = 0;
    int field = 0;  ///< index of the fp16, or of the byte with an e8m0, in the word

    bool operator==(const ScalePlace&) const = default;
};
/// Returns the place of the scale of weight (row, k).
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
    return {word, fp16 ? row_half : static_cast<int>(k / kE8m0Group % 2) * 2 + row_half};
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

/// Returns codes [rows, k] in the layout of the kernels. Rows that only pad the last unit hold code 0.
std::vector<std::uint32_t> packed(const WeightsShape& shape, std::span<const std::uint16_t> codes);

// ---- division of the work among teams of warps

/// Divides a number of things, here called units, among workers: into contiguous shares whose sizes differ by
/// at most one; the larger shares come first. `first` needs no division, which would be slow, because kernels
/// call it before their first load.
struct EvenShares {
    std::uint32_t quotient = 0;
    std::uint32_t remainder = 0;

    bool operator==(const EvenShares&) const = default;
    PARETOKEN_HOST_DEVICE static constexpr EvenShares of(std::uint32_t units, std::uint32_t workers) {
        return {units / workers, units % workers};
    }
    /// Returns the first unit of worker i; for i = workers, the number of units.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first(std::uint32_t i) const {
        return i * quotient + (i < remainder ? i : remainder);
    }
    /// Returns the worker whose share contains `unit`.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t owner(std::uint32_t unit) const {
        const std::uint32_t in_larger = remainder * (quotient + 1);
        return unit < in_larger ? unit / (quotient + 1) : remainder + (unit - in_larger) / quotient;
    }
};

inline constexpr std::uint32_t kWeightWarps = 8;  ///< warps per thread block

/// The thread blocks that a GPU runs at the same time.
struct Residency {
    std::size_t multiprocessors = 0;
    std::size_t per_multiprocessor = 0;

    std::size_t thread_blocks() const { return multiprocessors * per_multiprocessor; }
};

/// Returns whether each block of rows of `matrices` matrices gets a thread block of its own. Thread blocks
/// then need not add their sums, which saved 4 to 6 µs of a launch on an H100. The condition is that all of
/// them run at the same time and that at least 85 % of the places on the multiprocessors with the most of
/// them are taken; otherwise even shares were faster.
bool one_thread_block_each(const WeightsShape& shape, std::size_t matrices, const Residency& residency);

/// Returns the number of blocks of rows per stack for `matrices` matrices of this shape. It is 1 if each
/// block of rows gets a thread block of its own. Otherwise it is the number of warps of a thread block,
/// unless that number does not divide the blocks of rows, or leaves too few steps to give every thread block
/// of a large GPU its share. It is then halved until neither is the case, or it is 1.
int stacked_blocks(const WeightsShape& shape, std::size_t matrices, const Residency& residency);

/// Returns the number of thread blocks of a launch: one for each block of rows, or as many as run at the same
/// time, but no more than there are steps of stacks.
std::size_t thread_blocks_for(const WeightsShape& shape, std::size_t matrices, const Residency& residency);

/// The division of the steps of all stacks among teams of warps. A stack has `steps` steps, and the steps of
/// all stacks are numbered consecutively. They are divided among the thread blocks, of which there are at
/// most as many as steps, and the steps of a thread block are divided among its teams. Teams are numbered
/// consecutively over all thread blocks. A team has one warp for each block of rows of a stack. A team that
/// has all steps of a stack writes its outputs. All other stacks are summed in two stages: in each thread
/// block, the first team with steps of the stack adds the parts of the thread block's teams; then the thread
/// block that finishes last adds the sums of the thread blocks.
struct StackDivision {
    EvenShares thread_blocks;     ///< the steps of each thread block
    std::uint32_t steps = 1;      ///< steps of a stack
    std::uint32_t team_bits = 3;  ///< a thread block has 2^team_bits teams

    bool operator==(const StackDivision&) const = default;
    /// Returns the division for `matrices` matrices of this shape.
    static StackDivision of(const WeightsShape& shape, std::size_t matrices, std::uint32_t thread_blocks);

    /// Number of teams of a thread block.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t teams() const { return 1U << team_bits; }
    /// Number of blocks of rows of a stack, and of warps of a team.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t stacked() const { return kWeightWarps >> team_bits; }

    /// Returns the first step of a team's share.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first(std::uint32_t team) const {
        const std::uint32_t block = team >> team_bits;
        const std::uint32_t begin = thread_blocks.first(block);
        const std::uint32_t here = thread_blocks.first(block + 1) - begin;
        return begin + EvenShares{here >> team_bits, here & (teams() - 1)}.first(team & (teams() - 1));
    }
    /// Returns the step after a team's share.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t end(std::uint32_t team) const { return first(team + 1); }

    /// Returns the slot in which a team keeps its part of a stack: 0 if the stack begins before the team's
    /// share, otherwise 1.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t slot(std::uint32_t team, std::uint32_t stack) const {
        return first(team) > stack * steps ? 0 : 1;
    }
    /// Returns the slot in which a thread block keeps its sum of a stack, by the same rule.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t thread_block_slot(std::uint32_t block,
                                                                    std::uint32_t stack) const {
        return thread_blocks.first(block) > stack * steps ? 0 : 1;
    }
    /// Returns whether a thread block has all steps of a stack.
    PARETOKEN_HOST_DEVICE constexpr bool within(std::uint32_t block, std::uint32_t stack) const {
        return thread_blocks.first(block) <= stack * steps &&
               thread_blocks.first(block + 1) >= (stack + 1) * steps;
    }
    /// Return the first and the last thread block that have steps of a stack.
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t first_thread_block(std::uint32_t stack) const {
        return thread_blocks.owner(stack * steps);
    }
    PARETOKEN_HOST_DEVICE constexpr std::uint32_t last_thread_block(std::uint32_t stack) const {
        return thread_blocks.owner((stack + 1) * steps - 1);
    }

    /// The stacks whose parts a team adds for its thread block: `first_stack`, within which the team's share
    /// begins, and `last_stack`, within which it ends. `first` and `last` tell whether the team has to add
    /// them.
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
