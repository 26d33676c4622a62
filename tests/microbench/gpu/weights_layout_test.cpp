#include "microbench/gpu/weights_layout.h"

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
        // Sign, an exponent near 0, mantissa: finite in both formats of 16 bits.
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
                    // What kernels load: 8 values from k = 32 · half + 8 · (lane % 4), four for each tile.
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
            const WeightsShape shape{format, 64, 256, tiles};
            for (std::size_t unit = 0; unit < shape.units(); ++unit) {
                const std::size_t first_row = unit / shape.steps() * shape.unit_rows();
                const std::size_t first_k = unit % shape.steps() * kUnitK;
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
            const WeightsShape shape{format, 64, 384, tiles};
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

TEST(WeightsLayout, bytes_of_formats_are_those_of_the_codes_and_their_scales) {
    EXPECT_EQ(format_bytes(WeightFormat::bf16, 4096, 4096), 33554432);
    EXPECT_EQ(format_bytes(WeightFormat::fp8, 4096, 4096), 16777216 + 4 * 4096);
    EXPECT_EQ(format_bytes(WeightFormat::int4, 4096, 4096), 4096.0 * 4096 * 4.125 / 8);
    EXPECT_EQ(format_bytes(WeightFormat::mxfp4, 4096, 4096), 4096.0 * 4096 * 4.25 / 8);
    EXPECT_TRUE(fits(WeightFormat::mxfp4, 2880));  // gpt-oss
    EXPECT_FALSE(fits(WeightFormat::int4, 2880));  // no whole groups of 128
    EXPECT_FALSE(fits(WeightFormat::bf16, 360));
    EXPECT_FALSE(fits(WeightFormat::bf16, 0));
}

// ---- a warp of the weight kernel, instruction by instruction, on packed words

float fp16_value(std::uint32_t pair, int half) {
    return float_of_f16(static_cast<std::uint16_t>(pair >> (16 * half)));
}

/// What a register of A holds after dequantisation, and what a block's scale makes of it.
double operand_value(WeightFormat format, std::uint32_t word, int pair, int half) {
    switch (format) {
        case WeightFormat::bf16:
            return static_cast<double>(float_of_bf16(static_cast<std::uint16_t>(word >> (16 * half))));
        case WeightFormat::fp16:
            return static_cast<double>(fp16_value(word, half));
        case WeightFormat::fp8:
            return static_cast<double>(fp16_value(raw_e4m3_pair(word, pair), half) * kRawE4m3Scale);
        case WeightFormat::int8:
            return static_cast<double>(fp16_value(raw_int8_pair(word, pair), half) + kInt8Correction.addend);
        case WeightFormat::int4: {
            const Correction c = int4_correction(pair);
            return static_cast<double>(fp16_value(raw_int4_pair(word, pair), half) * c.multiplier + c.addend);
        }
        default:
            return static_cast<double>(fp16_value(raw_e2m1_pair(word, pair), half) * kRawE2m1Scale);
    }
}

/// y of 16 · tiles rows over all steps, as the warp's 32 lanes compute it from the words in stream order.
std::vector<double> warp_product(const WeightsShape& shape, const std::vector<std::uint32_t>& words,
                                 const std::vector<double>& x, std::size_t row_block) {
    std::vector<double> y(shape.unit_rows());
    for (std::size_t step = 0; step < shape.steps(); ++step) {
        const std::size_t unit = row_block * shape.steps() + step;
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
        for (const int tiles : {1, 2}) {
            const WeightsShape shape{format, 40, 256, tiles};
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

// ---- dividing the work

struct Case {
    std::uint64_t row_blocks;
    std::uint64_t steps;
    std::uint64_t thread_blocks;
};

std::vector<Case> random_cases() {
    std::vector<Case> cases{{1, 1, 1},       {1, 2, 2},     {1, 64, 3}, {256, 64, 264},
                            {2004, 64, 264}, {7, 832, 264}, {3, 2, 6}};
    Random random(9);
    for (int i = 0; i < 400; ++i) {
        Case c{1 + random.below(40), 1 + random.below(70), 0};
        c.thread_blocks = 1 + random.below(std::min<std::uint64_t>(c.row_blocks * c.steps, 40));
        cases.push_back(c);
    }
    return cases;
}

RowBlockDivision division_of(const Case& c) {
    return {{c.row_blocks * c.steps, c.thread_blocks * kWeightWarps}, c.steps};
}

TEST(RowBlockDivision, shares_are_contiguous_even_and_owned_by_whom_they_begin_at) {
    for (const Case& c : random_cases()) {
        const EvenShares shares = division_of(c).shares;
        EXPECT_EQ(shares.first(0), 0u);
        EXPECT_EQ(shares.first(shares.workers), shares.units);
        for (std::uint64_t worker = 0; worker < shares.workers; ++worker) {
            const std::uint64_t size = shares.first(worker + 1) - shares.first(worker);
            EXPECT_GE(size, shares.units / shares.workers);
            EXPECT_LE(size, shares.units / shares.workers + 1);
            for (std::uint64_t unit = shares.first(worker); unit < shares.first(worker + 1); ++unit)
                ASSERT_EQ(shares.owner(unit), worker);
        }
    }
}

/// Runs the kernel's bookkeeping: a block of rows is worth the number of units that reached its output.
TEST(RowBlockDivision, every_unit_reaches_the_output_of_its_rows_exactly_once) {
    for (const Case& c : random_cases()) {
        const RowBlockDivision division = division_of(c);
        std::vector<std::uint64_t> output(c.row_blocks);
        std::vector<std::uint64_t> arrivals(c.row_blocks);
        std::map<std::pair<std::uint64_t, int>, std::uint64_t> partials;
        for (std::uint64_t thread_block = 0; thread_block < c.thread_blocks; ++thread_block) {
            std::map<std::pair<std::uint64_t, int>, std::uint64_t> slots;
            for (int w = 0; w < kWeightWarps; ++w) {
                const std::uint64_t worker = thread_block * kWeightWarps + static_cast<std::uint64_t>(w);
                std::uint64_t unit = division.shares.first(worker);
                const std::uint64_t end = division.shares.first(worker + 1);
                while (unit < end) {
                    const std::uint64_t row_block = unit / c.steps;
                    const std::uint64_t stop = std::min(end, (row_block + 1) * c.steps);
                    if (stop - unit == c.steps) {
                        output[row_block] += c.steps;
                    } else {
                        const bool added =
                            slots.emplace(std::pair{worker, division.slot(worker, row_block)}, stop - unit)
                                .second;
                        ASSERT_TRUE(added) << "two parts in one slot";
                    }
                    unit = stop;
                }
            }
            for (int w = 0; w < kWeightWarps; ++w) {
                const std::uint64_t worker = thread_block * kWeightWarps + static_cast<std::uint64_t>(w);
                const auto duties = division.duties_of(worker);
                const auto combine = [&](std::uint64_t row_block) {
                    std::uint64_t sum = 0;
                    for (std::uint64_t other = worker; other < (thread_block + 1) * kWeightWarps; ++other) {
                        const std::uint64_t first = division.shares.first(other);
                        if (first >= (row_block + 1) * c.steps) break;
                        if (first == division.shares.first(other + 1)) continue;
                        const auto part = slots.extract({other, division.slot(other, row_block)});
                        ASSERT_FALSE(part.empty()) << "nobody has put that part";
                        sum += part.mapped();
                    }
                    if (division.within(thread_block, row_block)) {
                        output[row_block] += sum;
                        return;
                    }
                    ASSERT_GE(thread_block, division.first_thread_block(row_block));
                    ASSERT_LE(thread_block, division.last_thread_block(row_block));
                    ASSERT_TRUE(partials
                                    .emplace(std::pair{thread_block,
                                                       division.thread_block_slot(thread_block, row_block)},
                                             sum)
                                    .second);
                    ++arrivals[row_block];
                    if (arrivals[row_block] !=
                        division.last_thread_block(row_block) - division.first_thread_block(row_block) + 1)
                        return;
                    for (auto b = division.first_thread_block(row_block);
                         b <= division.last_thread_block(row_block); ++b) {
                        output[row_block] += partials.at({b, division.thread_block_slot(b, row_block)});
                    }
                };
                if (duties.first) combine(duties.first_block);
                if (duties.last) combine(duties.last_block);
            }
            EXPECT_TRUE(slots.empty()) << "a part was left over";
        }
        for (const std::uint64_t units : output)
            ASSERT_EQ(units, c.steps) << c.row_blocks << ' ' << c.steps << ' ' << c.thread_blocks;
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
