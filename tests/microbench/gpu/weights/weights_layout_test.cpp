#include "microbench/gpu/weights/weights_layout.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/random.h"
#include "microbench/cpu/formats.h"

namespace paretoken::microbench::gpu {
namespace {

std::vector<std::uint16_t> random_codes(WeightFormat format, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint16_t> codes(count);
    for (std::uint16_t& code : codes) {
        code = static_cast<std::uint16_t>(random.below(1ULL << bits_of(format)));
        if (format == WeightFormat::fp8 && !is_finite_e4m3(code)) code ^= 1;
        // The codes of both 16-bit formats keep their sign and low mantissa bits and get the exponent −1, so
        // that they are finite.
        if (bits_of(format) == 16) code = (code & 0x807f) | (format == WeightFormat::bf16 ? 0x3f00 : 0x3800);
    }
    return codes;
}

TEST(WeightsLayout, k_of_names_every_k_of_a_unit_once_and_keeps_blocks_of_32_together) {
    std::set<int> ks;
    for (int tile = 0; tile < kTilesPerUnit; ++tile) {
        for (int column = 0; column < kMmaK; ++column) {
            EXPECT_TRUE(ks.insert(k_of(tile, column)).second);
            EXPECT_EQ(k_of(tile, column) / 32, tile / 2);
        }
    }
    EXPECT_EQ(ks.size(), 64u);
}

TEST(WeightsLayout, a_lane_finds_its_x_for_two_tiles_in_16_consecutive_bytes_in_register_order) {
    for (int half = 0; half < 2; ++half) {
        for (int lane = 0; lane < kLanes; ++lane) {
            for (int tile = 2 * half; tile < 2 * half + 2; ++tile) {
                for (int element = 0; element < kBElements; ++element) {
                    // Kernels load 8 values from k = 32 · half + 8 · (lane % 4) on, four for each tile.
                    const int loaded = half * 32 + lane % 4 * 8 + tile % 2 * 4 + element;
                    EXPECT_EQ(k_of(tile, b_element(lane, element).row), loaded);
                }
            }
        }
    }
}

TEST(WeightsLayout, the_place_of_a_weight_is_where_the_mma_that_multiplies_it_looks) {
    for (const WeightFormat format : kWeightFormats) {
        for (const int tiles : {1, 2}) {
            const WeightsShape shape{format, 64, 256, tiles, tiles};
            for (std::size_t unit = 0; unit < shape.units(); ++unit) {
                // The units of a stack for the same step are adjacent.
                const auto stacked = static_cast<std::size_t>(shape.stacked);
                const std::size_t step_of_stack = unit / stacked;
                const std::size_t row_block = step_of_stack / shape.steps() * stacked + unit % stacked;
                const std::size_t first_row = row_block * shape.unit_rows();
                const std::size_t first_k = step_of_stack % shape.steps() * kUnitK;
                for (int part = 0; part < tiles; ++part) {
                    for (int lane = 0; lane < kLanes; ++lane) {
                        for (int tile = 0; tile < kTilesPerUnit; ++tile) {
                            for (int element = 0; element < kAElements; ++element) {
                                const Element at = a_element(lane, element);
                                Place seen = place_in_part(bits_of(format), lane, tile, element);
                                seen.word += unit * shape.unit_words() +
                                             static_cast<std::size_t>(part * loads_of(format)) * kLanes * 4;
                                const std::size_t row =
                                    first_row + static_cast<std::size_t>(part * 16 + at.row);
                                const std::size_t k =
                                    first_k + static_cast<std::size_t>(k_of(tile, at.column));
                                ASSERT_EQ(place_of(shape, row, k), seen)
                                    << name_of(format) << ' ' << row << ' ' << k;
                            }
                        }
                    }
                }
            }
        }
    }
}

TEST(WeightsLayout, the_pair_of_a_register_and_its_word_do_not_depend_on_the_lane) {
    for (const int bits : {4, 8, 16}) {
        for (int tile = 0; tile < kTilesPerUnit; ++tile) {
            for (int element = 0; element < kAElements; ++element) {
                const Place of_first = place_in_part(bits, 0, tile, element);
                for (int lane = 1; lane < kLanes; ++lane) {
                    const Place place = place_in_part(bits, lane, tile, element);
                    EXPECT_EQ(place.word, of_first.word + static_cast<std::size_t>(lane) * 4);
                    EXPECT_EQ(place.pair, of_first.pair);
                    EXPECT_EQ(place.half, element % 2);
                }
            }
        }
    }
}

TEST(WeightsLayout, packing_loses_no_code_of_any_format_also_with_ragged_rows) {
    for (const WeightFormat format : kWeightFormats) {
        for (const int tiles : {1, 2}) {
            for (const std::size_t rows : {1U, 15U, 16U, 17U, 48U}) {
                const WeightsShape shape{format, rows, 256, tiles};
                const auto codes = random_codes(format, rows * shape.k, rows);
                const auto words = packed(shape, codes);
                ASSERT_EQ(words.size(), shape.words());
                EXPECT_EQ(words.size() * 32, shape.row_blocks() * shape.unit_rows() * shape.k *
                                                 static_cast<std::size_t>(bits_of(format)));
                for (std::size_t row = 0; row < rows; ++row) {
                    for (std::size_t k = 0; k < shape.k; ++k) {
                        const Place place = place_of(shape, row, k);
                        ASSERT_EQ(code_at(format, words[place.word], place.pair, place.half),
                                  codes[row * shape.k + k]);
                    }
                }
            }
        }
    }
}

TEST(WeightsLayout, every_group_has_one_place_for_its_scale) {
    for (const WeightFormat format : {WeightFormat::int4, WeightFormat::mxfp4}) {
        for (const int tiles : {1, 2}) {
            const WeightsShape shape{format, 64, 384, tiles, 2};
            const auto group = static_cast<std::size_t>(group_of(format));
            std::map<std::pair<std::size_t, int>, std::pair<std::size_t, std::size_t>> owners;
            for (std::size_t row = 0; row < shape.rows; ++row) {
                for (std::size_t k = 0; k < shape.k; ++k) {
                    const ScalePlace place = scale_place_of(shape, row, k);
                    ASSERT_LT(place.word, shape.scale_words());
                    const std::pair of{row, k / group};
                    const auto [found, added] = owners.emplace(std::pair{place.word, place.field}, of);
                    ASSERT_EQ(found->second, of);
                }
            }
            EXPECT_EQ(owners.size(), shape.rows * shape.k / group);
            EXPECT_EQ(shape.scale_words() * (format == WeightFormat::int4 ? 2 : 4), owners.size());
        }
    }
}

TEST(WeightsLayout, blocks_of_rows_are_stacked_as_far_as_they_go_and_leave_work_for_every_thread_block) {
    const auto stacked = [](std::size_t rows, std::size_t k, std::size_t matrices = 1) {
        return stacked_blocks({WeightFormat::bf16, rows, k, 1}, matrices, {132, 3});
    };
    EXPECT_EQ(stacked(28672, 4096), 8);
    EXPECT_EQ(stacked(16384, 4096), 8);
    EXPECT_EQ(stacked(6400, 512), 2);   // 3200 units in total
    EXPECT_EQ(stacked(2880, 2880), 4);  // 180 blocks of rows
    EXPECT_EQ(stacked(16, 64), 1);
    EXPECT_EQ(stacked(1536, 2048, 8), 8);  // eight experts have enough steps
    EXPECT_EQ(stacked(1536, 2048), 2);
    EXPECT_EQ(stacked(4096, 4096), 1);  // 256 blocks of rows, each with a thread block of its own
}

TEST(WeightsLayout, a_block_of_rows_gets_a_thread_block_if_all_run_at_once_and_fill_the_multiprocessors) {
    const auto each = [](std::size_t blocks, std::size_t matrices = 1, std::size_t per_multiprocessor = 3) {
        return one_thread_block_each({WeightFormat::bf16, blocks * 16, 4096, 1}, matrices,
                                     {132, per_multiprocessor});
    };
    EXPECT_TRUE(each(132));
    EXPECT_TRUE(each(113));
    EXPECT_FALSE(each(112));  // 84.8 % of the multiprocessors
    EXPECT_FALSE(each(133));  // one multiprocessor would take twice as long as the others
    EXPECT_TRUE(each(256));
    EXPECT_TRUE(each(396));
    EXPECT_FALSE(each(397));  // a second wave
    EXPECT_FALSE(each(384, 1, 2));
    EXPECT_TRUE(each(48, 8));  // of several experts
    const WeightsShape shape{WeightFormat::bf16, 4096, 4096, 1};
    EXPECT_EQ(thread_blocks_for(shape, 1, {132, 3}), 256U);
    EXPECT_EQ(thread_blocks_for(shape, 1, {100, 3}), 256U);  // 256 of 300 places
    EXPECT_EQ(thread_blocks_for(shape, 1, {90, 2}), 180U);
}

TEST(WeightsLayout, bytes_of_formats_are_those_of_the_codes_and_their_scales) {
    EXPECT_EQ(format_bytes(WeightFormat::bf16, 4096, 4096), 33554432);
    EXPECT_EQ(format_bytes(WeightFormat::fp8, 4096, 4096), 16777216 + 4 * 4096);
    EXPECT_EQ(format_bytes(WeightFormat::int4, 4096, 4096), 4096.0 * 4096 * 4.125 / 8);
    EXPECT_EQ(format_bytes(WeightFormat::mxfp4, 4096, 4096), 4096.0 * 4096 * 4.25 / 8);
    EXPECT_TRUE(fits(WeightFormat::mxfp4, 2880));  // gpt-oss
    EXPECT_FALSE(fits(WeightFormat::int4, 2880));  // 2880 is not a multiple of 128
    EXPECT_FALSE(fits(WeightFormat::bf16, 360));
    EXPECT_FALSE(fits(WeightFormat::bf16, 0));
}

// ---- products of one warp, computed lane by lane from packed words

float fp16_value(std::uint32_t pair, int half) {
    return float_of_f16(static_cast<std::uint16_t>(pair >> (16 * half)));
}

/// Returns the value of one element of an A register after conversion, multiplied by the constant that the
/// kernel includes in the scale.
double operand_value(WeightFormat format, std::uint32_t word, int pair, int half) {
    switch (format) {
        case WeightFormat::bf16:
            return static_cast<double>(float_of_bf16(static_cast<std::uint16_t>(word >> (16 * half))));
        case WeightFormat::fp16:
            return static_cast<double>(fp16_value(word, half));
        case WeightFormat::fp8:
            return static_cast<double>(fp16_value(raw_e4m3_pair(word, pair), half) * kRawE4m3Scale);
        case WeightFormat::int8:
            return fp16_value(raw_int8_pair(word, pair), half) + value_of_fp16(kInt8Correction.addend_bits);
        case WeightFormat::int4: {
            const Correction c = int4_correction(pair);
            return fp16_value(raw_int4_pair(word, pair), half) * value_of_fp16(c.multiplier_bits) +
                   value_of_fp16(c.addend_bits);
        }
        case WeightFormat::mxfp4:
            break;
    }
    return static_cast<double>(fp16_value(raw_e2m1_pair(word, pair), half) * kRawE2m1Scale);
}

/// Returns y of the 16 · tiles rows of a block over all steps, as the 32 lanes of a warp compute it from the
/// packed words.
std::vector<double> warp_product(const WeightsShape& shape, const std::vector<std::uint32_t>& words,
                                 const std::vector<double>& x, std::size_t row_block) {
    std::vector<double> y(shape.unit_rows());
    for (std::size_t step = 0; step < shape.steps(); ++step) {
        const std::size_t unit = shape.unit_at(row_block, step);
        for (int part = 0; part < shape.tiles; ++part) {
            for (int tile = 0; tile < kTilesPerUnit; ++tile) {
                for (int lane = 0; lane < kLanes; ++lane) {
                    for (int element = 0; element < kAElements; ++element) {
                        const Place place = place_in_part(bits_of(shape.format), lane, tile, element);
                        const std::size_t at =
                            unit * shape.unit_words() +
                            static_cast<std::size_t>(part * loads_of(shape.format)) * kLanes * 4 + place.word;
                        const Element m = a_element(lane, element);
                        const double weight = operand_value(shape.format, words[at], place.pair, place.half);
                        y[static_cast<std::size_t>(part * 16 + m.row)] +=
                            weight * x[step * kUnitK + static_cast<std::size_t>(k_of(tile, m.column))];
                    }
                }
            }
        }
    }
    return y;
}

TEST(WeightsLayout, warps_over_packed_words_give_the_product_of_the_codes) {
    for (const WeightFormat format : kWeightFormats) {
        for (const int stacked : {1, 2, 4}) {
            const int tiles = stacked == 2 ? 2 : 1;
            const WeightsShape shape{format, 60, 256, tiles, stacked};
            ASSERT_EQ(shape.row_blocks() % static_cast<std::size_t>(stacked), 0u);
            const auto codes = random_codes(format, shape.rows * shape.k, 7);
            const auto words = packed(shape, codes);
            Random random(8);
            std::vector<double> x(shape.k);
            for (double& value : x) value = static_cast<double>(random.below(64)) - 32;
            for (std::size_t row_block = 0; row_block < shape.row_blocks(); ++row_block) {
                const auto y = warp_product(shape, words, x, row_block);
                for (std::size_t i = 0; i < y.size(); ++i) {
                    const std::size_t row = row_block * shape.unit_rows() + i;
                    if (row >= shape.rows) continue;
                    double expected = 0;
                    for (std::size_t k = 0; k < shape.k; ++k)
                        expected += value_of(format, codes[row * shape.k + k]) * x[k];
                    EXPECT_NEAR(y[i], expected, 1e-9 * (1 + std::abs(expected)))
                        << name_of(format) << " row " << row;
                }
            }
        }
    }
}

// ---- division of the work

struct Case {
    std::uint32_t stacks;
    std::uint32_t steps;
    std::uint32_t thread_blocks;
    std::uint32_t team_bits = 3;
};

std::vector<Case> random_cases() {
    std::vector<Case> cases{{1, 1, 1},       {1, 2, 2},     {1, 64, 3}, {256, 64, 264},
                            {2004, 64, 264}, {7, 832, 264}, {3, 2, 6},  {32, 64, 264, 0}};
    Random random(9);
    for (int i = 0; i < 400; ++i) {
        Case c{1 + static_cast<std::uint32_t>(random.below(40)),
               1 + static_cast<std::uint32_t>(random.below(70)), 0,
               static_cast<std::uint32_t>(random.below(4))};
        c.thread_blocks =
            1 + static_cast<std::uint32_t>(random.below(std::min<std::uint64_t>(c.stacks * c.steps, 40)));
        cases.push_back(c);
    }
    return cases;
}

StackDivision division_of(const Case& c) {
    return {EvenShares::of(c.stacks * c.steps, c.thread_blocks), c.steps, c.team_bits};
}

TEST(EvenShares, are_contiguous_and_even_and_know_their_owner) {
    for (const std::uint32_t workers : {1U, 2U, 7U, 264U}) {
        for (const std::uint32_t units : {264U, 265U, 1000U, 16384U, 128256U}) {
            const EvenShares shares = EvenShares::of(units, workers);
            EXPECT_EQ(shares.first(0), 0u);
            EXPECT_EQ(shares.first(workers), units);
            for (std::uint32_t worker = 0; worker < workers; ++worker) {
                const std::uint32_t size = shares.first(worker + 1) - shares.first(worker);
                EXPECT_GE(size, units / workers);
                EXPECT_LE(size, units / workers + 1);
                EXPECT_EQ(shares.owner(shares.first(worker)), worker);
                EXPECT_EQ(shares.owner(shares.first(worker + 1) - 1), worker);
            }
        }
    }
}

TEST(StackDivision, teams_of_all_thread_blocks_follow_each_other_and_differ_by_two_steps_at_most) {
    for (const Case& c : random_cases()) {
        const StackDivision division = division_of(c);
        const std::uint32_t units = c.stacks * c.steps;
        const std::uint32_t teams = c.thread_blocks * division.teams();
        EXPECT_EQ(division.first(0), 0u);
        EXPECT_EQ(division.end(teams - 1), units);
        for (std::uint32_t team = 0; team < teams; ++team) {
            const std::uint32_t size = division.end(team) - division.first(team);
            EXPECT_LE(size, units / teams + 2);
            EXPECT_GE(size + 1, units / teams);
        }
        for (std::uint32_t block = 0; block < c.thread_blocks; ++block) {
            EXPECT_GT(division.thread_blocks.first(block + 1), division.thread_blocks.first(block))
                << "a thread block has no steps";
        }
    }
}

/// Simulates which parts the kernel adds: the output of a stack is the number of its steps that reached it.
class Bookkeeping {
  public:
    explicit Bookkeeping(const Case& c)
        : case_(c), division_(division_of(c)), output(c.stacks), arrivals_(c.stacks) {}

    void run_thread_block(std::uint32_t block) {
        slots_.clear();
        for (std::uint32_t team = 0; team < division_.teams(); ++team)
            stream(block * division_.teams() + team);
        for (std::uint32_t team = 0; team < division_.teams(); ++team) {
            const auto duties = division_.duties_of(block * division_.teams() + team);
            if (duties.first) combine(block, duties.first_stack, team);
            if (duties.last) combine(block, duties.last_stack, team);
        }
        EXPECT_TRUE(slots_.empty()) << "a partial sum was not added";
    }

  private:
    using Slot = std::pair<std::uint32_t, std::uint32_t>;
    Case case_;
    StackDivision division_;

  public:
    std::vector<std::uint32_t> output;

  private:
    void stream(std::uint32_t team) {
        std::uint32_t unit = division_.first(team);
        while (unit < division_.end(team)) {
            const std::uint32_t stack = unit / case_.steps;
            const std::uint32_t stop = std::min(division_.end(team), (stack + 1) * case_.steps);
            if (stop - unit == case_.steps) {
                output[stack] += case_.steps;
            } else {
                EXPECT_TRUE(slots_.emplace(Slot{team, division_.slot(team, stack)}, stop - unit).second)
                    << "two partial sums in one slot";
            }
            unit = stop;
        }
    }
    void combine(std::uint32_t block, std::uint32_t stack, std::uint32_t from) {
        std::uint32_t sum = 0;
        for (std::uint32_t team = block * division_.teams() + from; team < (block + 1) * division_.teams();
             ++team) {
            if (division_.first(team) >= (stack + 1) * case_.steps) break;
            if (division_.first(team) == division_.end(team)) continue;
            const auto part = slots_.extract({team, division_.slot(team, stack)});
            ASSERT_FALSE(part.empty()) << "this partial sum was not stored";
            sum += part.mapped();
        }
        if (division_.within(block, stack)) {
            output[stack] += sum;
            return;
        }
        const std::uint32_t first = division_.first_thread_block(stack);
        const std::uint32_t last = division_.last_thread_block(stack);
        ASSERT_TRUE(first <= block && block <= last);
        ASSERT_TRUE(partials_.emplace(Slot{block, division_.thread_block_slot(block, stack)}, sum).second);
        if (++arrivals_[stack] != last - first + 1) return;
        for (std::uint32_t b = first; b <= last; ++b) {
            output[stack] += partials_.at({b, division_.thread_block_slot(b, stack)});
        }
    }

    std::vector<std::uint32_t> arrivals_;
    std::map<Slot, std::uint32_t> slots_;
    std::map<Slot, std::uint32_t> partials_;
};

TEST(StackDivision, every_unit_reaches_the_output_of_its_rows_exactly_once) {
    for (const Case& c : random_cases()) {
        Bookkeeping bookkeeping(c);
        for (std::uint32_t block = 0; block < c.thread_blocks; ++block) bookkeeping.run_thread_block(block);
        for (const std::uint32_t units : bookkeeping.output) {
            ASSERT_EQ(units, c.steps) << c.stacks << ' ' << c.steps << ' ' << c.thread_blocks;
        }
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
