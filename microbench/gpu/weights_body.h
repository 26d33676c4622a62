#pragma once
// y[batch, rows] = W[rows, k] · x[batch, k] for batches up to 32: W streamed once as mma A fragments straight
// into registers, x as the n8 operand from L1. Each warp takes an even share of the units as one linear
// stream, however the matrix is shaped; what it leaves of a block of rows is summed in a fixed order (no
// float atomics). The Machine is a lane's instructions: a GPU's, or emulated ones in tests.
#include <cstddef>
#include <cstdint>

#include "microbench/gpu/weights_layout.h"

namespace paretoken::microbench::gpu {

/// What one load of 16 bytes gives.
struct alignas(16) Words {
    std::uint32_t w[4] = {};

    bool operator==(const Words&) const = default;
};

/// Several matrices of one shape at once, each with activations of its own: the routed experts of a decode
/// step. x is then [entries, batch, k], y [entries, batch, rows], and row blocks count on over the entries.
struct ExpertList {
    const std::int32_t* of_entries = nullptr;  ///< [entries]: which of the stored matrices
    int entries = 0;
    int row_blocks = 0;        ///< of one matrix
    std::uint32_t words = 0;   ///< of 16 bytes, from a matrix to the next
    std::uint32_t scales = 0;  ///< words, from the scales of a matrix to those of the next
};

struct WeightsCall {
    const Words* weights = nullptr;
    const std::uint32_t* scales = nullptr;
    const std::uint16_t* x = nullptr;  ///< [batch, k], bf16 or fp16
    float* y = nullptr;                ///< [batch, rows]
    float* partials = nullptr;         ///< [thread blocks, 2, batch, rows of a unit]
    std::int32_t* arrivals = nullptr;  ///< [row blocks], zero between launches
    int rows = 0;
    int batch = 0;
    int steps = 0;  ///< k / 64
    RowBlockDivision division;
    ExpertList experts = {};
};

/// Two fp16 numbers as they stand in every constant of an mma register.
PARETOKEN_HOST_DEVICE constexpr std::uint32_t both_halves(std::uint32_t fp16) {
    return fp16 << 16 | fp16;
}

/// How stored words become mma operands, and what a row's or a block's scale is.
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
/// By the conversion instruction, where there is one.
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
/// By moving bits.
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
    /// Of row g (0) or g + 8 (1), for one block of 32.
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

/// `kColumns` · 8 ≥ batch; `kParts` · 16 rows per unit.
template <class Weights, int kColumns, int kParts>
struct WeightsTile {
    static constexpr WeightFormat kFormat = Weights::kFormat;
    static constexpr int kLoads = loads_of(kFormat);
    static constexpr bool kGrouped = group_of(kFormat) != 0;
    static constexpr bool kRowScaled = bits_of(kFormat) == 8;
    static constexpr int kRows = 16 * kParts;
    static constexpr int kColumnStride =
        kRows + 4;  ///< in shared memory: the four columns of a store then lie in other banks
    static constexpr int kSlot = kColumns * 8 * kColumnStride;
    static constexpr int kSharedBytes = kWeightWarps * 2 * kSlot * 4;
    /// Units on the way: 12 loads of 16 bytes per lane, 8 of the smallest, fewer where accumulators take the
    /// registers. Even, as x alternates between two sets of registers.
    static constexpr int kStages = kColumns < 4  ? (kLoads == 4   ? 4
                                                    : kLoads == 2 ? 6
                                                                  : 8)
                                   : kParts == 1 ? (kLoads == 4   ? 2
                                                    : kLoads == 2 ? 4
                                                                  : 6)
                                                 : 3;
    static constexpr bool kBf16 = is_bf16(kFormat);
    /// x of the next unit is on the way while this one is multiplied, where registers allow it.
    static constexpr bool kXAhead = kColumns == 1;
    static_assert(!kXAhead || kStages % 2 == 0);
};

/// One lane of multiply_weights. `kExperts`: by the call's list of experts, else one matrix.
template <class Machine, class Weights, int kColumns, int kParts, bool kExperts = false>
class WeightsLane : WeightsTile<Weights, kColumns, kParts> {
    using Tile = WeightsTile<Weights, kColumns, kParts>;
    using Tile::kBf16;
    using Tile::kColumnStride;
    using Tile::kFormat;
    using Tile::kGrouped;
    using Tile::kLoads;
    using Tile::kRows;
    using Tile::kRowScaled;
    using Tile::kSlot;
    using Tile::kStages;
    using Tile::kXAhead;

  public:
    PARETOKEN_HOST_DEVICE WeightsLane(const Machine& machine, const WeightsCall& call)
        : m_(machine), call_(call), lane_(machine.lane()) {}

    PARETOKEN_HOST_DEVICE void run() const {
        auto* const shared = reinterpret_cast<float*>(m_.shared());
        const auto warp_here = static_cast<std::uint32_t>(m_.warp());
        const std::uint32_t warp = static_cast<std::uint32_t>(m_.piece()) * kWeightWarps + warp_here;
        stream(call_.division.first(warp), call_.division.end(warp), shared + warp_here * 2 * kSlot);
        m_.sync_block();
        const RowBlockDivision::Duties duties = call_.division.duties_of(warp);
        if (duties.first) combine(duties.first_block, warp_here, shared);
        if (duties.last) combine(duties.last_block, warp_here, shared);
    }

  private:
    struct Stage {
        Words words[kParts][kLoads];
        std::uint32_t scales[kParts];
    };

    /// A block of rows: which of its matrix, and whose that is.
    struct Where {
        int block = 0;
        int entry = 0;
        int expert = 0;
    };
    PARETOKEN_HOST_DEVICE Where where(int row_block) const {
        if constexpr (!kExperts) return {row_block};
        const int entry = row_block / call_.experts.row_blocks;
        return {row_block - entry * call_.experts.row_blocks, entry,
                m_.load_cached(call_.experts.of_entries + entry)};
    }
    /// True when it has come to another matrix.
    PARETOKEN_HOST_DEVICE bool advance(Where& at) const {
        ++at.block;
        if constexpr (kExperts) {
            if (at.block == call_.experts.row_blocks && at.entry + 1 < call_.experts.entries) {
                at = {0, at.entry + 1, m_.load_cached(call_.experts.of_entries + at.entry + 1)};
                return true;
            }
        }
        return false;
    }
    PARETOKEN_HOST_DEVICE const Words* unit_at(const Where& at, int step) const {
        const auto unit = static_cast<std::size_t>(at.block) * call_.steps + step;
        const Words* const matrix =
            kExperts ? call_.weights + static_cast<std::size_t>(at.expert) * call_.experts.words
                     : call_.weights;
        return matrix + unit * (kParts * kLoads * kLanes) + lane_;
    }
    PARETOKEN_HOST_DEVICE const std::uint32_t* scales_of(const Where& at) const {
        return kExperts ? call_.scales + static_cast<std::size_t>(at.expert) * call_.experts.scales
                        : call_.scales;
    }
    PARETOKEN_HOST_DEVICE float* outputs_of(const Where& at) const {
        const std::size_t entry =
            kExperts ? static_cast<std::size_t>(at.entry) * call_.batch * call_.rows : 0;
        return call_.y + entry + static_cast<std::size_t>(at.block) * kRows;
    }

    PARETOKEN_HOST_DEVICE void load(Stage& stage, const Words* at, const Where& where, int step) const {
        PARETOKEN_UNROLL
        for (int part = 0; part < kParts; ++part) {
            PARETOKEN_UNROLL
            for (int i = 0; i < kLoads; ++i) {
                stage.words[part][i] = m_.load_streamed(at + (part * kLoads + i) * kLanes);
            }
            if constexpr (kGrouped) {
                const int groups = kFormat == WeightFormat::int4 ? call_.steps / 2 : call_.steps;
                const int group = kFormat == WeightFormat::int4 ? step / 2 : step;
                const auto index =
                    (static_cast<std::size_t>(where.block * kParts + part) * groups + group) * 8 + lane_ / 4;
                stage.scales[part] = m_.load_cached(scales_of(where) + index);
            }
        }
    }

    /// x of half a unit: 16 bytes of each column make the registers of two mma tiles.
    using X = Words[kColumns];
    PARETOKEN_HOST_DEVICE void load_x(X& x, const Where& where, int step, int half) const {
        const unsigned row_words = static_cast<unsigned>(call_.steps) * (kUnitK / 8);  // of 16 bytes
        unsigned at = lane_ / 4 * row_words + step * (kUnitK / 8) + half * 4 + lane_ % 4;
        if constexpr (kExperts) at += static_cast<unsigned>(where.entry * call_.batch) * row_words;
        PARETOKEN_UNROLL
        for (int c = 0; c < kColumns; ++c) {
            x[c] = c * 8 + lane_ / 4 < call_.batch
                       ? m_.load_cached(reinterpret_cast<const Words*>(call_.x) + at)
                       : Words{};
            at += 8 * row_words;
        }
    }

    PARETOKEN_HOST_DEVICE void operand(std::uint32_t (&a)[4], const Words (&words)[kLoads], int tile) const {
        PARETOKEN_UNROLL
        for (int reg = 0; reg < 4; ++reg) {
            const Place place = place_in_part(bits_of(kFormat), 0, tile, 2 * reg);
            const int load = static_cast<int>(place.word) / (kLanes * 4);
            a[reg] = Weights::pair(m_, words[load].w[place.word % 4], place.pair);
        }
    }

    /// `ahead`: x of this unit, when it was loaded ahead.
    PARETOKEN_HOST_DEVICE void multiply(float (&sums)[kParts][kColumns][4], const Stage& stage,
                                        const Where& where, int step, const X (&ahead)[2]) const {
        PARETOKEN_UNROLL
        for (int half = 0; half < 2; ++half) {
            X x;
            if constexpr (kXAhead) {
                PARETOKEN_UNROLL
                for (int c = 0; c < kColumns; ++c) x[c] = ahead[half][c];
            } else {
                load_x(x, where, step, half);
            }
            PARETOKEN_UNROLL
            for (int part = 0; part < kParts; ++part) {
                float block[kColumns][4];
                if constexpr (kGrouped) {
                    PARETOKEN_UNROLL
                    for (int c = 0; c < kColumns; ++c)
                        block[c][0] = block[c][1] = block[c][2] = block[c][3] = 0;
                }
                float(&into)[kColumns][4] = kGrouped ? block : sums[part];
                PARETOKEN_UNROLL
                for (int tile = 2 * half; tile < 2 * half + 2; ++tile) {
                    std::uint32_t a[4];
                    operand(a, stage.words[part], tile);
                    PARETOKEN_UNROLL
                    for (int c = 0; c < kColumns; ++c) {
                        if (tile % 2 == 0) {
                            m_.template mma<kBf16>(into[c], a, x[c].w[0], x[c].w[1]);
                        } else {
                            m_.template mma<kBf16>(into[c], a, x[c].w[2], x[c].w[3]);
                        }
                    }
                }
                if constexpr (kGrouped) {
                    const float scale = Weights::block_scale(m_, stage.scales[part], half, 0);
                    const float scale_8 = Weights::block_scale(m_, stage.scales[part], half, 1);
                    PARETOKEN_UNROLL
                    for (int c = 0; c < kColumns; ++c) {
                        sums[part][c][0] += scale * block[c][0];
                        sums[part][c][1] += scale * block[c][1];
                        sums[part][c][2] += scale_8 * block[c][2];
                        sums[part][c][3] += scale_8 * block[c][3];
                    }
                }
            }
        }
    }

    /// Sums to `to`, which has its columns `stride` apart and begins with the block's first row; `rows` of it
    /// exist.
    PARETOKEN_HOST_DEVICE void put(float (&sums)[kParts][kColumns][4], float* to, std::size_t stride,
                                   int rows, const Where& where) const {
        PARETOKEN_UNROLL
        for (int part = 0; part < kParts; ++part) {
            float scale[2] = {1, 1};
            if constexpr (kRowScaled) {
                const auto* const of_rows = reinterpret_cast<const float*>(scales_of(where)) +
                                            static_cast<std::size_t>(where.block) * kRows + part * 16;
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

    PARETOKEN_HOST_DEVICE int existing_rows(const Where& where) const {
        const int left = call_.rows - where.block * kRows;
        return left < kRows ? left : kRows;
    }

    /// Streams this warp's share. Blocks of rows that it has for itself go to y, of others its part goes to
    /// shared memory: slot 0 for the first block of the share when it begins before the share, else slot 1.
    PARETOKEN_HOST_DEVICE void stream(std::uint32_t first, std::uint32_t end, float* slots) const {
        if (first == end) return;
        Stage stages[kStages];
        X x[2][2];  // [parity of the unit][half]
        float sums[kParts][kColumns][4] = {};
        const auto first_block = static_cast<int>(first / static_cast<std::uint32_t>(call_.steps));
        Where ahead = where(first_block);
        Where now = ahead;
        int ahead_step = static_cast<int>(first) - first_block * call_.steps;
        int step = ahead_step;
        const auto units = static_cast<int>(end - first);
        int loaded = 0;
        const Words* at = unit_at(ahead, ahead_step);
        const auto load_next = [&](Stage& stage) {
            if (loaded == units) return;
            load(stage, at, ahead, ahead_step);
            ++loaded;
            at += kParts * kLoads * kLanes;
            if (++ahead_step == call_.steps) {
                ahead_step = 0;
                if (advance(ahead)) at = unit_at(ahead, 0);
            }
        };
        PARETOKEN_UNROLL
        for (int i = 0; i < kStages; ++i) load_next(stages[i]);
        const auto load_x_ahead = [&](X(&to)[2], const Where& of, int of_step) {
            if constexpr (kXAhead) {
                load_x(to[0], of, of_step, 0);
                load_x(to[1], of, of_step, 1);
            }
        };
        load_x_ahead(x[0], now, step);
        int began_at = step;
        for (int unit = 0; unit < units; unit += kStages) {
            PARETOKEN_UNROLL
            for (int i = 0; i < kStages; ++i) {
                if (unit + i < units) {
                    const bool last_of_block = step + 1 == call_.steps;
                    const int next_step = last_of_block ? 0 : step + 1;
                    Where next = now;
                    if (last_of_block) advance(next);
                    load_x_ahead(x[(i + 1) % 2], next, next_step);
                    multiply(sums, stages[i], now, step, x[i % 2]);
                    load_next(stages[i]);
                    if (last_of_block || unit + i + 1 == units) {
                        const bool whole = last_of_block && began_at == 0;
                        put(sums, whole ? outputs_of(now) : slots + (began_at != 0 ? 0 : kSlot),
                            whole ? static_cast<std::size_t>(call_.rows) : kColumnStride,
                            whole ? existing_rows(now) : kRows, now);
                        began_at = 0;
                    }
                    now = next;
                    step = next_step;
                }
            }
        }
    }

    /// Sums what the warps of this thread block, from `warp` on, have of a block of rows. Where other thread
    /// blocks have parts too the sum goes to `partials`, and the last one to arrive adds all of them up.
    PARETOKEN_HOST_DEVICE void combine(std::uint32_t row_block, std::uint32_t warp,
                                       const float* slots) const {
        const RowBlockDivision& division = call_.division;
        const auto block_here = static_cast<std::uint32_t>(m_.piece());
        const std::uint32_t end = (row_block + 1) * division.steps;
        const std::uint32_t first_warp = block_here * kWeightWarps;
        const bool all_here = division.within(block_here, row_block);
        const unsigned values = static_cast<unsigned>(call_.batch) * kRows;
        const auto partial_of = [&](std::uint32_t block) {
            return call_.partials +
                   static_cast<std::size_t>(block * 2 + division.thread_block_slot(block, row_block)) *
                       values;
        };
        const Where at = where(static_cast<int>(row_block));
        const auto rows = static_cast<unsigned>(existing_rows(at));
        float* const y = outputs_of(at);
        for (unsigned i = lane_; i < values; i += kLanes) {
            float sum = 0;
            for (std::uint32_t w = warp; w < kWeightWarps; ++w) {
                const std::uint32_t first = division.first(first_warp + w);
                if (first >= end) break;
                if (first == division.end(first_warp + w)) continue;
                const float* const slot = slots + (w * 2 + division.slot(first_warp + w, row_block)) * kSlot;
                sum += slot[i / kRows * kColumnStride + i % kRows];
            }
            if (!all_here) {
                partial_of(block_here)[i] = sum;
            } else if (i % kRows < rows) {
                y[static_cast<std::size_t>(i / kRows) * call_.rows + i % kRows] = sum;
            }
        }
        if (all_here) return;
        const std::uint32_t first_block = division.first_thread_block(row_block);
        const std::uint32_t last_block = division.last_thread_block(row_block);
        m_.publish();
        m_.sync_warp();
        const auto others = static_cast<std::int32_t>(last_block - first_block);
        if (!m_.any(lane_ == 0 && m_.raise(call_.arrivals + row_block) == others)) return;
        m_.publish();
        for (unsigned i = lane_; i < values; i += kLanes) {
            float sum = 0;
            for (std::uint32_t block = first_block; block <= last_block; ++block)
                sum += m_.load_fresh(partial_of(block) + i);
            if (i % kRows < rows) y[static_cast<std::size_t>(i / kRows) * call_.rows + i % kRows] = sum;
        }
        if (lane_ == 0) call_.arrivals[row_block] = 0;
    }

    const Machine& m_;
    const WeightsCall& call_;
    int lane_;
};

}  // namespace paretoken::microbench::gpu
