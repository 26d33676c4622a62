#pragma once
// The body of the weight kernel: y[batch, rows] = W[rows, k] · x[batch, k] for batches up to 32. W is
// streamed once as A operand of mma instructions. x is the B operand and is loaded through L1. Each team of
// warps streams an even, contiguous share of the units of W, whatever the shape of the matrix;
// weights_layout.h explains units, blocks of rows, stacks and teams. The partial sums of a block of rows are
// added in a fixed order, without float atomics. W is copied to a ring in shared memory by asynchronous
// copies, because a lane can wait for the oldest copies only, whereas it has to wait for all its loads to
// registers together. A lane reads only the bytes that it copied itself, so that no barrier is needed. The
// template parameter `Machine` provides the instructions of a lane, on a GPU (weights.cuh) or emulated in
// tests.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {

/// The 16 bytes of one load.
struct alignas(16) Words {
    std::uint32_t w[4] = {};

    bool operator==(const Words&) const = default;
};

/// Several matrices of the same shape by which one launch multiplies, each with its own input, e.g. those of
/// the routed experts of a decode step. x is then [entries, batch, k] and y [entries, batch, rows]. The
/// stacks of all entries are numbered consecutively.
struct ExpertList {
    const std::int32_t* of_entries = nullptr;  ///< [entries], index of the stored matrix
    int entries = 0;
    int stacks = 0;            ///< stacks per matrix
    std::uint32_t words = 0;   ///< distance from a matrix to the next, in units of 16 bytes
    std::uint32_t scales = 0;  ///< distance from the scales of a matrix to the next, in words
};

/// The arguments of one launch. Pointers refer to the memory of the machine that runs the kernel.
struct WeightsCall {
    const Words* weights = nullptr;         ///< in the layout of WeightsShape
    const std::uint32_t* scales = nullptr;  ///< laid out as described at WeightsShape::scale_words
    const std::uint16_t* x = nullptr;       ///< [batch, k], bf16 or fp16
    float* y = nullptr;                     ///< [batch, rows]
    float* partials = nullptr;              ///< [thread blocks, 2, stacked, batch, rows of a unit]
    /// [entries · blocks of rows], the number of thread blocks that have written their sums for it; zero
    /// before and after every launch
    std::int32_t* arrivals = nullptr;
    int rows = 0;
    int batch = 0;
    int steps = 0;  ///< k / 64
    StackDivision division;
    ExpertList experts = {};  ///< used only by kernels for a list of matrices
};

/// Returns a word with the same fp16 number in both halves.
PARETOKEN_HOST_DEVICE constexpr std::uint32_t both_halves(std::uint32_t fp16) {
    return fp16 << 16 | fp16;
}

/// The following types convert the weights of a format. `pair` converts pair `p` of the codes of a word into
/// a register of an mma operand. `row_scale` and `block_scale` return the factor by which the kernel
/// multiplies its sums: `row_scale` for a row from its stored scale, and `block_scale` for block 0 or 1 of 32
/// k of a unit from the word of scales that holds it, for row g (row_half 0) or g + 8 (row_half 1).
struct Bf16Weights {
    static constexpr WeightFormat kFormat = WeightFormat::bf16;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine&, std::uint32_t word, int) {
        return word;
    }
};
struct Fp16Weights {
    static constexpr WeightFormat kFormat = WeightFormat::fp16;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine&, std::uint32_t word, int) {
        return word;
    }
};
/// fp8 weights that are converted by the machine's conversion instruction, or by moving bits if it has none.
struct Fp8Weights {
    static constexpr WeightFormat kFormat = WeightFormat::fp8;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static float row_scale(const Machine&, float scale) {
        return scale * Machine::kE4m3Unit;
    }
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine& m, std::uint32_t word, int p) {
        return m.e4m3_pair(word, p);
    }
};
/// fp8 weights that are converted by moving bits, on every GPU.
struct Fp8ShiftedWeights {
    static constexpr WeightFormat kFormat = WeightFormat::fp8;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static float row_scale(const Machine&, float scale) {
        return scale * kRawE4m3Scale;
    }
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine&, std::uint32_t word, int p) {
        return raw_e4m3_pair(word, p);
    }
};
struct Int8Weights {
    static constexpr WeightFormat kFormat = WeightFormat::int8;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static float row_scale(const Machine&, float scale) {
        return scale;
    }
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine& m, std::uint32_t word, int p) {
        return m.add_halves(raw_int8_pair(word, p), both_halves(kInt8Correction.addend_bits));
    }
};
struct Int4Weights {
    static constexpr WeightFormat kFormat = WeightFormat::int4;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine& m, std::uint32_t word, int p) {
        const Correction c = int4_correction(p);
        const std::uint32_t raw = raw_int4_pair(word, p);
        if (c.multiplier_bits == kFp16One) return m.add_halves(raw, both_halves(c.addend_bits));
        return m.multiply_add_halves(raw, both_halves(c.multiplier_bits), both_halves(c.addend_bits));
    }
    /// The scale is the same for both blocks of a unit, because 128 k share it.
    template <class Machine>
    PARETOKEN_HOST_DEVICE static float block_scale(const Machine& m, std::uint32_t word, int, int row_half) {
        return m.float_of_half(word >> (16 * row_half) & 0xffff);
    }
};
struct Mxfp4Weights {
    static constexpr WeightFormat kFormat = WeightFormat::mxfp4;
    template <class Machine>
    PARETOKEN_HOST_DEVICE static std::uint32_t pair(const Machine&, std::uint32_t word, int p) {
        return raw_e2m1_pair(word, p);
    }
    template <class Machine>
    PARETOKEN_HOST_DEVICE static float block_scale(const Machine& m, std::uint32_t word, int block,
                                                   int row_half) {
        return m.float_of_bits(float_bits_of_raw_e8m0(word >> (16 * block + 8 * row_half) & 0xff));
    }
};

inline constexpr int kWeightThreads = kWeightWarps * kLanes;

/// Sizes of the kernel for batches up to 8 · kColumns and units of kParts 16-row parts. A column is one input
/// of the batch.
template <class Weights, int kColumns, int kParts>
struct WeightsTile {
    static constexpr WeightFormat kFormat = Weights::kFormat;
    static constexpr int kLoads = loads_of(kFormat);
    static constexpr WeightScale kScale = scale_of(kFormat);
    static constexpr bool kGrouped = group_of(kFormat) != 0;
    static constexpr bool kRowScaled = kScale == WeightScale::row_float;
    static constexpr int kRows = 16 * kParts;
    /// Distance from a column to the next in shared memory, in floats. It is padded by four, so that the four
    /// columns that a warp stores to at the same time lie in different banks.
    static constexpr int kColumnStride = kRows + 4;
    /// Size of a slot, which holds the partial sums of a block of rows, in floats.
    static constexpr int kSlot = kColumns * 8 * kColumnStride;

    /// Layout of a unit in the ring: 16 bytes per lane for each load, then one word of scales per lane for
    /// each part.
    static constexpr int kUnitLoads = kParts * kLoads;
    static constexpr int kScalesAt = kUnitLoads * kLanes * 16;
    static constexpr int kStageBytes = kScalesAt + (kGrouped ? kParts * kLanes * 4 : 0);
    /// Number of thread blocks that must fit on a multiprocessor at the same time, which limits their
    /// registers.
    static constexpr int kResident = kColumns < 4 ? 3 : 2;
    /// Number of stages of the ring of a warp; a stage holds one unit. The ring holds 4 KiB of weights per
    /// warp, i.e. 64 to 96 KiB per multiprocessor, and leaves the rest of L1 to x.
    static constexpr int kStages = 8 / kUnitLoads;
    static constexpr int kRingBytes = kStages * kStageBytes;

    static constexpr int kXWords = kUnitK / 8;  ///< words of 16 bytes per unit in a column of x

    /// Shared memory holds slot 0 of every warp, followed by the rings of all warps. Slot 1 of a warp reuses
    /// the memory of its ring.
    static constexpr int kRingsAt = static_cast<int>(kWeightWarps) * kSlot * 4;
    static constexpr int kSharedBytes = kRingsAt + static_cast<int>(kWeightWarps) * kRingBytes;
    static_assert(kSlot * 4 <= kRingBytes);
    static_assert(kSharedBytes <= 99 * 1024,
                  "a thread block of sm_89 and sm_120 can use at most 99 KiB of shared memory");

    static constexpr bool kBf16 = is_bf16(kFormat);
    /// Whether x of the next unit is loaded while the current unit is multiplied. Only the kernels for
    /// batches up to 8 have enough registers for it.
    static constexpr bool kXAhead = kColumns == 1;
    /// Number of halves of a unit that are summed before they are scaled. Both halves can be scaled together
    /// if the unit lies in one group of 128 and there are enough registers.
    static constexpr int kHalvesPerScale = kScale == WeightScale::group_fp16 && kParts == 1 ? 2 : 1;
};

/// One lane of the kernel multiply_weights. With `kExperts` it multiplies by the matrices of the call's
/// ExpertList, otherwise by a single matrix.
template <class Machine, class Weights, int kColumns, int kParts, bool kExperts = false>
class WeightsLane : WeightsTile<Weights, kColumns, kParts> {
    using Tile = WeightsTile<Weights, kColumns, kParts>;
    using Tile::kBf16;
    using Tile::kColumnStride;
    using Tile::kFormat;
    using Tile::kGrouped;
    using Tile::kHalvesPerScale;
    using Tile::kLoads;
    using Tile::kRingBytes;
    using Tile::kRingsAt;
    using Tile::kRows;
    using Tile::kRowScaled;
    using Tile::kScale;
    using Tile::kScalesAt;
    using Tile::kSlot;
    using Tile::kStageBytes;
    using Tile::kStages;
    using Tile::kUnitLoads;
    using Tile::kXAhead;
    using Tile::kXWords;

  public:
    PARETOKEN_HOST_DEVICE WeightsLane(const Machine& machine, const WeightsCall& call)
        : m_(machine),
          call_(call),
          lane_(machine.lane()),
          warp_(static_cast<std::uint32_t>(machine.warp())),
          words_(ring_of(warp_) + lane_ * 16),
          scales_(ring_of(warp_) + kScalesAt + lane_ * 4) {}

    /// Streams this warp's share and adds its partial sums to those of other warps.
    PARETOKEN_HOST_DEVICE void run() const {
        const StackDivision& division = call_.division;
        const std::uint32_t team =
            static_cast<std::uint32_t>(m_.piece()) * division.teams() + warp_ / division.stacked();
        stream(division.first(team), division.end(team));
        m_.sync_block();
        combine(division.duties_of(team), team);
    }

  private:
    PARETOKEN_HOST_DEVICE std::byte* ring_of(std::uint32_t warp) const {
        return m_.shared() + kRingsAt + warp * kRingBytes;
    }
    /// Returns the place of a warp's partial sums of its block of rows, see StackDivision::slot.
    PARETOKEN_HOST_DEVICE float* slot_of(std::uint32_t warp, std::uint32_t slot) const {
        return slot == 0 ? reinterpret_cast<float*>(m_.shared()) + warp * kSlot
                         : reinterpret_cast<float*>(ring_of(warp));
    }

    /// The position of a stack: its index in its matrix, the entry of the list, and the stored matrix.
    struct Where {
        int stack = 0;
        int entry = 0;
        int expert = 0;
    };
    PARETOKEN_HOST_DEVICE Where where(int stack) const {
        if constexpr (!kExperts) return {stack};
        const int entry = stack / call_.experts.stacks;
        return {stack - entry * call_.experts.stacks, entry,
                m_.load_cached(call_.experts.of_entries + entry)};
    }
    /// Advances to the next stack. Returns true if that stack belongs to another matrix.
    PARETOKEN_HOST_DEVICE bool advance(Where& at) const {
        ++at.stack;
        if constexpr (kExperts) {
            if (at.stack == call_.experts.stacks && at.entry + 1 < call_.experts.entries) {
                at = {0, at.entry + 1, m_.load_cached(call_.experts.of_entries + at.entry + 1)};
                return true;
            }
        }
        return false;
    }
    /// Returns the index of this warp's block of rows.
    PARETOKEN_HOST_DEVICE int row_block(const Where& at) const {
        return at.stack * stacked() + static_cast<int>(warp_ % call_.division.stacked());
    }
    PARETOKEN_HOST_DEVICE int stacked() const { return static_cast<int>(call_.division.stacked()); }
    /// Returns the index of this warp's unit of a step among the units of the matrix.
    PARETOKEN_HOST_DEVICE std::size_t unit_index(const Where& at, int step) const {
        return (static_cast<std::size_t>(at.stack) * call_.steps + step) * call_.division.stacked() +
               warp_ % call_.division.stacked();
    }
    /// Returns the first word that this lane loads of this warp's unit of a step.
    PARETOKEN_HOST_DEVICE const Words* unit_at(const Where& at, int step) const {
        const Words* const matrix =
            kExperts ? call_.weights + static_cast<std::size_t>(at.expert) * call_.experts.words
                     : call_.weights;
        return matrix + unit_index(at, step) * (kUnitLoads * kLanes) + lane_;
    }
    PARETOKEN_HOST_DEVICE const std::uint32_t* scales_of(const Where& at) const {
        return kExperts ? call_.scales + static_cast<std::size_t>(at.expert) * call_.experts.scales
                        : call_.scales;
    }
    /// Returns the output of the first row of this warp's block of rows in column 0.
    PARETOKEN_HOST_DEVICE float* outputs_of(const Where& at) const {
        const std::size_t entry =
            kExperts ? static_cast<std::size_t>(at.entry) * call_.batch * call_.rows : 0;
        return call_.y + entry + static_cast<std::size_t>(row_block(at)) * kRows;
    }

    /// Starts this lane's copies of the units of its share, one unit per call of `next`.
    class Copier {
      public:
        PARETOKEN_HOST_DEVICE Copier(const WeightsLane& lane, std::uint32_t first, std::uint32_t end)
            : of_(lane), unit_(first), end_(end) {
            const auto steps = static_cast<std::uint32_t>(of_.call_.steps);
            where_ = of_.where(static_cast<int>(first / steps));
            take_matrix(static_cast<int>(first % steps));
        }
        /// Starts the copy of the next unit to the stage of the ring at offset `stage`, in bytes. After the
        /// last unit it copies nothing. Every call commits one group of copies, which may be empty.
        PARETOKEN_HOST_DEVICE void next(std::uint32_t stage) {
            if (unit_ != end_) {
                PARETOKEN_UNROLL
                for (int i = 0; i < kUnitLoads; ++i)
                    of_.m_.copy_streamed(of_.words_ + stage + i * (kLanes * 16), at_ + i * kLanes);
                if constexpr (kGrouped) {
                    PARETOKEN_UNROLL
                    for (int part = 0; part < kParts; ++part)
                        of_.m_.copy_word(of_.scales_ + stage + part * (kLanes * 4), scale_ + part * 8);
                }
                advance();
            }
            of_.m_.commit_copies();
        }

      private:
        PARETOKEN_HOST_DEVICE void advance() {
            at_ += of_.stacked() * (kUnitLoads * kLanes);
            // In int4, two steps share a scale, and the number of steps of a matrix is even.
            if constexpr (kGrouped) {
                if (kScale != WeightScale::group_fp16 || (unit_ & 1) != 0)
                    scale_ += of_.stacked() * (kParts * 8);
            }
            ++unit_;
            if constexpr (kExperts) {
                if (--left_in_stack_ != 0) return;
                left_in_stack_ = of_.call_.steps;
                if (of_.advance(where_)) take_matrix(0);
            }
        }
        PARETOKEN_HOST_DEVICE void take_matrix(int step) {
            left_in_stack_ = of_.call_.steps - step;
            at_ = of_.unit_at(where_, step);
            if constexpr (kGrouped) {
                constexpr int kSteps = kScale == WeightScale::group_fp16 ? 2 : 1;  // steps that share a scale
                const std::size_t group =
                    static_cast<std::size_t>(where_.stack) * (of_.call_.steps / kSteps) + step / kSteps;
                const std::size_t stacked = of_.call_.division.stacked();
                scale_ = of_.scales_of(where_) + (group * stacked + of_.warp_ % stacked) * (kParts * 8) +
                         of_.lane_ / 4;
            }
        }

        const WeightsLane& of_;
        std::uint32_t unit_;
        std::uint32_t end_;
        Where where_;
        int left_in_stack_ = 0;
        const Words* at_ = nullptr;
        const std::uint32_t* scale_ = nullptr;
    };

    /// x for one unit: for each half of the unit, 16 bytes of every column, which are the registers of two
    /// mma tiles. Columns beyond the batch repeat the last column. They do no harm, because a column of B
    /// affects only the same column of C, and these columns of C are not stored.
    using X = Words[2][kColumns];  // [halves of the unit][groups of eight columns]
    struct XRows {
        /// The first 16 bytes that this lane loads for the current unit, in each of its columns.
        const Words* of[kColumns];
    };
    PARETOKEN_HOST_DEVICE XRows x_rows(const Where& where) const {
        const unsigned row_words = static_cast<unsigned>(call_.steps) * kXWords;
        const auto* const first =
            reinterpret_cast<const Words*>(call_.x) +
            (kExperts ? static_cast<unsigned>(where.entry * call_.batch) * row_words : 0);
        XRows rows;
        PARETOKEN_UNROLL
        for (int c = 0; c < kColumns; ++c) {
            const int column = c * 8 + lane_ / 4;
            const int kept = column < call_.batch ? column : call_.batch - 1;
            rows.of[c] = first + (static_cast<unsigned>(kept) * row_words + static_cast<unsigned>(lane_ % 4));
        }
        return rows;
    }
    PARETOKEN_HOST_DEVICE void load_x(X& x, const XRows& rows, int half) const {
        PARETOKEN_UNROLL
        for (int c = 0; c < kColumns; ++c) x[half][c] = m_.load_cached(rows.of[c] + half * (kXWords / 2));
    }
    PARETOKEN_HOST_DEVICE void load_x(X& x, const XRows& rows) const {
        load_x(x, rows, 0);
        load_x(x, rows, 1);
    }
    /// Advances x by this many units along k.
    PARETOKEN_HOST_DEVICE static void go_on(XRows& rows, int units) {
        PARETOKEN_UNROLL
        for (int c = 0; c < kColumns; ++c) rows.of[c] += units * kXWords;
    }

    /// The words and scales of a unit that this lane copied.
    struct Unit {
        Words words[kParts][kLoads];
        std::uint32_t scales[kParts];
    };
    PARETOKEN_HOST_DEVICE void read(Unit& unit, std::uint32_t stage) const {
        PARETOKEN_UNROLL
        for (int part = 0; part < kParts; ++part) {
            PARETOKEN_UNROLL
            for (int i = 0; i < kLoads; ++i)
                unit.words[part][i] =
                    *reinterpret_cast<const Words*>(words_ + stage + (part * kLoads + i) * (kLanes * 16));
            if constexpr (kGrouped)
                unit.scales[part] =
                    *reinterpret_cast<const std::uint32_t*>(scales_ + stage + part * (kLanes * 4));
        }
    }

    /// Converts the weights of one mma instruction of a unit to its A operand.
    PARETOKEN_HOST_DEVICE void operand(std::uint32_t (&a)[4], const Words (&words)[kLoads], int tile) const {
        PARETOKEN_UNROLL
        for (int reg = 0; reg < 4; ++reg) {
            const Place place = place_in_part(bits_of(kFormat), 0, tile, 2 * reg);
            const int load = static_cast<int>(place.word) / (kLanes * 4);
            a[reg] = Weights::pair(m_, words[load].w[place.word % 4], place.pair);
        }
    }

    using Sums = float[kParts][kColumns][4];
    /// Adds the product of a unit to the sums. Without kXAhead, x is loaded from `rows` here.
    PARETOKEN_HOST_DEVICE void multiply(Sums& sums, const Unit& unit, X& x, const XRows& rows) const {
        Sums block;
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            if constexpr (!kXAhead) load_x(x, rows, half);
            PARETOKEN_UNROLL
            for (int part = 0; part < kParts; ++part) {
                if constexpr (kGrouped) {
                    if (half % kHalvesPerScale == 0) {
                        PARETOKEN_UNROLL
                        for (int c = 0; c < kColumns; ++c)
                            block[part][c][0] = block[part][c][1] = block[part][c][2] = block[part][c][3] = 0;
                    }
                }
                float(&into)[kColumns][4] = kGrouped ? block[part] : sums[part];
                PARETOKEN_UNROLL
                for (int tile = 2 * half; tile < 2 * half + 2; ++tile) {
                    std::uint32_t a[4];
                    operand(a, unit.words[part], tile);
                    PARETOKEN_UNROLL
                    for (int c = 0; c < kColumns; ++c) {
                        if (tile % 2 == 0) {
                            m_.template mma<kBf16>(into[c], a, x[half][c].w[0], x[half][c].w[1]);
                        } else {
                            m_.template mma<kBf16>(into[c], a, x[half][c].w[2], x[half][c].w[3]);
                        }
                    }
                }
                if constexpr (kGrouped) {
                    if (half % kHalvesPerScale == kHalvesPerScale - 1)
                        add_scaled(sums[part], block[part], unit.scales[part], half);
                }
            }
        }
    }
    PARETOKEN_HOST_DEVICE void add_scaled(float (&sums)[kColumns][4], const float (&block)[kColumns][4],
                                          std::uint32_t scales, int half) const {
        const float scale = Weights::block_scale(m_, scales, half, 0);
        const float scale_8 = Weights::block_scale(m_, scales, half, 1);
        PARETOKEN_UNROLL
        for (int c = 0; c < kColumns; ++c) {
            sums[c][0] += scale * block[c][0];
            sums[c][1] += scale * block[c][1];
            sums[c][2] += scale_8 * block[c][2];
            sums[c][3] += scale_8 * block[c][3];
        }
    }

    /// Stores the sums, multiplied by the scales of their rows, and sets them to zero. `to` is the place of
    /// the first row of the block in column 0, and `stride` is the distance from a column to the next. Only
    /// the first `rows` rows are stored.
    PARETOKEN_HOST_DEVICE void put(Sums& sums, float* to, std::size_t stride, int rows,
                                   const Where& where) const {
        PARETOKEN_UNROLL
        for (int part = 0; part < kParts; ++part) {
            float scale[2] = {1, 1};
            if constexpr (kRowScaled) {
                const auto* const of_rows = reinterpret_cast<const float*>(scales_of(where)) +
                                            static_cast<std::size_t>(row_block(where)) * kRows + part * 16;
                scale[0] = Weights::row_scale(m_, m_.load_cached(of_rows + lane_ / 4));
                scale[1] = Weights::row_scale(m_, m_.load_cached(of_rows + lane_ / 4 + 8));
            }
            PARETOKEN_UNROLL
            for (int c = 0; c < kColumns; ++c) {
                PARETOKEN_UNROLL
                for (int i = 0; i < kCElements; ++i) {
                    const Element at = c_element(lane_, i);
                    const int row = part * 16 + at.row;
                    const int column = c * 8 + at.column;
                    if (row < rows && column < call_.batch)
                        to[static_cast<std::size_t>(column) * stride + row] = sums[part][c][i] * scale[i / 2];
                    sums[part][c][i] = 0;
                }
            }
        }
    }

    /// Returns the number of rows of this warp's block of rows that are not padding.
    PARETOKEN_HOST_DEVICE int existing_rows(const Where& where) const {
        const int left = call_.rows - row_block(where) * kRows;
        return left < kRows ? left : kRows;
    }

    /// The state that is carried from one unit to the next.
    struct Progress {
        Sums sums = {};
        XRows rows;
        std::uint32_t stage = 0;  ///< offset in the ring in bytes
    };
    /// Multiplies one unit and advances x by `ahead` units along k. With kXAhead, `x` already holds the
    /// values for this unit, and the values for the unit that follows are loaded to `next`.
    PARETOKEN_HOST_DEVICE void take_unit(Progress& progress, Copier& copier, X& x, X& next, int ahead) const {
        m_.template wait_until_pending<kStages - 1>();
        Unit unit;
        read(unit, progress.stage);
        multiply(progress.sums, unit, x, progress.rows);
        go_on(progress.rows, ahead);
        // x is loaded only now: a lane waits for all its loads together, so the multiplication would have to
        // wait for this x as well.
        if constexpr (kXAhead) load_x(next, progress.rows);
        copier.next(progress.stage);
        progress.stage += kStageBytes;
        if (progress.stage == kRingBytes) progress.stage = 0;
    }

    /// Multiplies the next `left` units along k of one block of rows. `to_end` means that they end with the
    /// last unit of the block; x then returns to k = 0. With kXAhead, `x` holds the values for the unit that
    /// follows; at the end of the share they are not used.
    PARETOKEN_HOST_DEVICE void take_units(Progress& progress, Copier& copier, X& x, int left,
                                          bool to_end) const {
        const int back = to_end ? 1 - call_.steps : 0;
        if constexpr (!kXAhead) {
            for (; left > 1; --left) take_unit(progress, copier, x, x, 1);
            take_unit(progress, copier, x, x, back);
        } else {
            X other;  // alternates with x, because copying x would cost as much as loading it
            for (; left > 2; left -= 2) {
                take_unit(progress, copier, x, other, 1);
                take_unit(progress, copier, other, x, 1);
            }
            if (left == 2) {
                take_unit(progress, copier, x, other, 1);
                take_unit(progress, copier, other, x, back);
            } else {
                take_unit(progress, copier, x, other, back);
                copy_x(x, other);
            }
        }
    }

    /// Streams this warp's part of its team's share, the steps `first` … `end`. The sums of a block of rows
    /// go to y if the share contains all its steps. Otherwise they go to shared memory: to slot 0 if the
    /// block begins before the share, else to slot 1.
    PARETOKEN_HOST_DEVICE void stream(std::uint32_t first, std::uint32_t end) const {
        if (first == end) return;
        Copier copier(*this, first, end);
        PARETOKEN_UNROLL
        for (int i = 0; i < kStages; ++i) copier.next(static_cast<std::uint32_t>(i * kStageBytes));

        const auto first_stack = static_cast<int>(first / static_cast<std::uint32_t>(call_.steps));
        Where now = where(first_stack);
        int step = static_cast<int>(first) - first_stack * call_.steps;
        auto units = static_cast<int>(end - first);
        Progress progress;
        progress.rows = x_rows(now);
        go_on(progress.rows, step);
        X x;
        if constexpr (kXAhead) load_x(x, progress.rows);
        while (true) {
            const int to_end = call_.steps - step;
            const int count = to_end < units ? to_end : units;
            take_units(progress, copier, x, count, count == to_end);
            const bool whole = count == call_.steps;
            m_.sync_warp();  // other lanes may still read the ring, whose memory slot 1 reuses
            put(progress.sums, whole ? outputs_of(now) : slot_of(warp_, step != 0 ? 0 : 1),
                whole ? static_cast<std::size_t>(call_.rows) : kColumnStride,
                whole ? existing_rows(now) : kRows, now);
            units -= count;
            if (units == 0) return;
            step = 0;
            if (advance(now)) {
                progress.rows = x_rows(now);
                if constexpr (kXAhead) load_x(x, progress.rows);
            }
        }
    }
    PARETOKEN_HOST_DEVICE static void copy_x(X& to, const X& from) {
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            PARETOKEN_UNROLL
            for (int c = 0; c < kColumns; ++c) to[half][c] = from[half][c];
        }
    }

    /// Does the duties of this warp's team: adds what this thread block has of one or two stacks, and what
    /// all thread blocks have of them if this one arrives last. Both stacks share one fence and one round of
    /// arrivals, because each takes about a microsecond at the end of a launch that takes ten.
    PARETOKEN_HOST_DEVICE void combine(const StackDivision::Duties& duties, std::uint32_t team) const {
        const bool first = duties.first && add_teams(duties.first_stack, team);
        const bool last = duties.last && add_teams(duties.last_stack, team);
        if (!first && !last) return;
        m_.publish();
        m_.sync_warp();
        const bool arrives = (lane_ == 0 && first) || (lane_ == 1 && last);
        const bool arrives_last = arrives && is_last(lane_ == 0 ? duties.first_stack : duties.last_stack);
        const bool finishes_first = m_.any(lane_ == 0 && arrives_last);
        const bool finishes_last = m_.any(lane_ == 1 && arrives_last);
        if (!finishes_first && !finishes_last) return;
        m_.publish();
        m_.sync_warp();  // all lanes now see what the lane that counted has seen
        if (finishes_first) add_thread_blocks(duties.first_stack);
        if (finishes_last) add_thread_blocks(duties.last_stack);
    }

    PARETOKEN_HOST_DEVICE std::uint32_t member() const { return warp_ % call_.division.stacked(); }
    /// Returns the number of sums of a block of rows.
    PARETOKEN_HOST_DEVICE unsigned values() const { return static_cast<unsigned>(call_.batch) * kRows; }
    /// Returns the place of a thread block's sums of this warp's block of rows of a stack.
    PARETOKEN_HOST_DEVICE float* partial_of(std::uint32_t block, std::uint32_t stack) const {
        const std::size_t slot = block * 2 + call_.division.thread_block_slot(block, stack);
        return call_.partials + (slot * call_.division.stacked() + member()) * values();
    }
    PARETOKEN_HOST_DEVICE std::int32_t* arrivals_of(std::uint32_t stack) const {
        return call_.arrivals + stack * call_.division.stacked() + member();
    }
    /// Counts this thread block as one that has written its sums. Returns whether it was the last one.
    PARETOKEN_HOST_DEVICE bool is_last(std::uint32_t stack) const {
        const StackDivision& division = call_.division;
        const std::uint32_t others = division.last_thread_block(stack) - division.first_thread_block(stack);
        return m_.raise(arrivals_of(stack)) == static_cast<std::int32_t>(others);
    }

    /// Adds the parts that the teams of this thread block, from `team` on, have of this warp's block of rows
    /// of a stack. Returns false if these are all parts, so that the sums are the outputs. Otherwise it
    /// writes the sums to `partials` and returns true.
    PARETOKEN_HOST_DEVICE bool add_teams(std::uint32_t stack, std::uint32_t team) const {
        const StackDivision& division = call_.division;
        const auto block_here = static_cast<std::uint32_t>(m_.piece());
        const std::uint32_t end = (stack + 1) * division.steps;
        const std::uint32_t first_team = block_here * division.teams();
        const bool all_here = division.within(block_here, stack);
        const Where at = where(static_cast<int>(stack));
        const auto rows = static_cast<unsigned>(existing_rows(at));
        float* const y = outputs_of(at);
        for (unsigned i = lane_; i < values(); i += kLanes) {
            float sum = 0;
            for (std::uint32_t t = team; t < first_team + division.teams(); ++t) {
                const std::uint32_t first = division.first(t);
                if (first >= end) break;
                if (first == division.end(t)) continue;
                const float* const slot =
                    slot_of((t - first_team) * division.stacked() + member(), division.slot(t, stack));
                sum += slot[i / kRows * kColumnStride + i % kRows];
            }
            if (!all_here) {
                partial_of(block_here, stack)[i] = sum;
            } else if (i % kRows < rows) {
                y[static_cast<std::size_t>(i / kRows) * call_.rows + i % kRows] = sum;
            }
        }
        return !all_here;
    }

    /// Adds the sums that all thread blocks have of this warp's block of rows of a stack, and writes the
    /// outputs. A lane loads many sums before it adds the first of them, because each load takes most of a
    /// microsecond.
    PARETOKEN_HOST_DEVICE void add_thread_blocks(std::uint32_t stack) const {
        constexpr int kBlocks = 8;
        constexpr int kValues = 2;  // of a lane; registers limit both
        const Where at = where(static_cast<int>(stack));
        const auto rows = static_cast<unsigned>(existing_rows(at));
        float* const y = outputs_of(at);
        const std::uint32_t first_block = call_.division.first_thread_block(stack);
        const std::uint32_t last_block = call_.division.last_thread_block(stack);
        for (unsigned from = static_cast<unsigned>(lane_); from < values(); from += kValues * kLanes) {
            float sums[kValues] = {};
            for (std::uint32_t block = first_block; block <= last_block; block += kBlocks) {
                float parts[kBlocks][kValues];
                PARETOKEN_UNROLL
                for (int b = 0; b < kBlocks; ++b) {
                    const bool exists = block + b <= last_block;
                    const float* const part = partial_of(exists ? block + b : last_block, stack);
                    PARETOKEN_UNROLL
                    for (int v = 0; v < kValues; ++v) {
                        const unsigned i = from + v * kLanes;
                        parts[b][v] = exists && i < values() ? m_.load_fresh(part + i) : 0;
                    }
                }
                PARETOKEN_UNROLL
                for (int b = 0; b < kBlocks; ++b) {
                    PARETOKEN_UNROLL
                    for (int v = 0; v < kValues; ++v) sums[v] += parts[b][v];
                }
            }
            PARETOKEN_UNROLL
            for (int v = 0; v < kValues; ++v) {
                const unsigned i = from + v * kLanes;
                if (i < values() && i % kRows < rows)
                    y[static_cast<std::size_t>(i / kRows) * call_.rows + i % kRows] = sums[v];
            }
        }
        if (lane_ == 0) *arrivals_of(stack) = 0;  // for the next launch
    }

    const Machine& m_;
    const WeightsCall& call_;
    int lane_;
    std::uint32_t warp_;
    std::byte* words_;   ///< this lane's words in stage 0 of its warp's ring
    std::byte* scales_;  ///< this lane's scales in stage 0 of its warp's ring
};

}  // namespace paretoken::microbench::gpu
