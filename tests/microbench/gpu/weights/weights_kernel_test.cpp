#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/weights/weights_body.h"
#include "tests/microbench/gpu/emulated_weights.h"

namespace paretoken::microbench::gpu {
namespace {

struct Problem {
    WeightsShape shape;
    int batch = 1;
    std::vector<std::uint16_t> codes;  // [rows, k]
    std::vector<std::uint32_t> scales;
    std::vector<std::uint16_t> x;  // [batch, k]
};

std::uint16_t random_16_bits(bool bf16, Random& random) {
    const auto value = static_cast<float>(random.normal());
    return bf16 ? bf16_of(value) : f16_of(value);
}

std::uint32_t random_scale(WeightFormat format, Random& random) {
    switch (scale_of(format)) {
        case WeightScale::group_fp16:
            return 0x20002000U | (static_cast<std::uint32_t>(random()) & 0x03ff03ffU);
        case WeightScale::group_e8m0: {
            std::uint32_t word = 0;
            for (int i = 0; i < 32; i += 8) word |= static_cast<std::uint32_t>(120 + random.below(10)) << i;
            return word;
        }
        case WeightScale::none:
        case WeightScale::row_float:
            break;
    }
    return std::bit_cast<std::uint32_t>(static_cast<float>(random.uniform() + .5));
}

Problem random_problem(const WeightsShape& shape, int batch, std::uint64_t seed) {
    Random random(seed);
    Problem p{shape, batch, std::vector<std::uint16_t>(shape.rows * shape.k),
              std::vector<std::uint32_t>(shape.scale_words()),
              std::vector<std::uint16_t>(static_cast<std::size_t>(batch) * shape.k)};
    for (std::uint16_t& code : p.codes) {
        if (bits_of(shape.format) == 16) {
            code = random_16_bits(is_bf16(shape.format), random);
            continue;
        }
        code = static_cast<std::uint16_t>(random.below(1ULL << bits_of(shape.format)));
        if (shape.format == WeightFormat::fp8 && !is_finite_e4m3(code)) code ^= 1;
    }
    for (std::uint32_t& scale : p.scales) scale = random_scale(shape.format, random);
    for (std::uint16_t& value : p.x) value = random_16_bits(is_bf16(shape.format), random);
    return p;
}

double scale_in(const Problem& p, std::size_t row, std::size_t k) {
    if (bits_of(p.shape.format) == 16) return 1;
    if (bits_of(p.shape.format) == 8) return static_cast<double>(std::bit_cast<float>(p.scales[row]));
    const ScalePlace place = scale_place_of(p.shape, row, k);
    if (p.shape.format == WeightFormat::int4)
        return value_of_fp16(p.scales[place.word] >> (16 * place.field) & 0xffff);
    return value_of_e8m0(p.scales[place.word] >> (8 * place.field) & 0xff);
}

std::vector<double> reference_of(const Problem& p) {
    std::vector<double> y(static_cast<std::size_t>(p.batch) * p.shape.rows);
    for (std::size_t b = 0; b < static_cast<std::size_t>(p.batch); ++b) {
        for (std::size_t row = 0; row < p.shape.rows; ++row) {
            for (std::size_t k = 0; k < p.shape.k; ++k) {
                const std::uint16_t x = p.x[b * p.shape.k + k];
                y[b * p.shape.rows + row] += value_of(p.shape.format, p.codes[row * p.shape.k + k]) *
                                             scale_in(p, row, k) *
                                             (is_bf16(p.shape.format) ? value_of_bf16(x) : value_of_fp16(x));
            }
        }
    }
    return y;
}

/// Returns the output of a launch over a list of matrices, each multiplied by the activations of its problem.
/// Without kExperts, there is only one problem, and the list is {0}. Expects the counters to be zero after
/// the launch.
template <class Weights, int kColumns, int kParts, bool kByShift = false, bool kExperts = false>
std::vector<float> output_of(const std::vector<Problem>& problems, const std::vector<std::int32_t>& list,
                             std::uint32_t thread_blocks, std::uint64_t seed) {
    using Machine = EmulatedWeightsMachine<kByShift>;
    using Tile = WeightsTile<Weights, kColumns, kParts>;
    const WeightsShape& shape = problems.front().shape;
    const int batch = problems.front().batch;
    std::vector<std::uint32_t> weights, scales;
    std::vector<std::uint16_t> x;
    for (const Problem& p : problems) {
        const auto more = packed(p.shape, p.codes);
        weights.insert(weights.end(), more.begin(), more.end());
        scales.insert(scales.end(), p.scales.begin(), p.scales.end());
    }
    for (const std::int32_t expert : list) {
        const Problem& p = problems[static_cast<std::size_t>(expert)];
        x.insert(x.end(), p.x.begin(), p.x.end());
    }
    const auto weight_words = words_of(weights);
    const auto x_words = words_of(x);
    constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> y(list.size() * static_cast<std::size_t>(batch) * shape.rows, kPoison);
    std::vector<float> partials(
        2 * thread_blocks * static_cast<std::size_t>(batch * shape.stacked) * shape.unit_rows(), kPoison);
    std::vector<std::int32_t> arrivals(list.size() * shape.row_blocks());
    const auto units =
        static_cast<std::uint32_t>(list.size() * shape.units()) / static_cast<std::uint32_t>(shape.stacked);
    EXPECT_LE(thread_blocks, units);
    const WeightsCall call{.weights = weight_words.data(),
                           .scales = scales.data(),
                           .x = reinterpret_cast<const std::uint16_t*>(x_words.data()),
                           .y = y.data(),
                           .partials = partials.data(),
                           .arrivals = arrivals.data(),
                           .rows = static_cast<int>(shape.rows),
                           .batch = batch,
                           .steps = static_cast<int>(shape.steps()),
                           .division = StackDivision::of(shape, list.size(), thread_blocks),
                           .experts = {.of_entries = list.data(),
                                       .entries = static_cast<int>(list.size()),
                                       .stacks = static_cast<int>(shape.row_blocks()) / shape.stacked,
                                       .words = static_cast<std::uint32_t>(shape.words() / 4),
                                       .scales = static_cast<std::uint32_t>(shape.scale_words())}};
    run_thread_blocks(thread_blocks, kWeightThreads, Tile::kSharedBytes, seed,
                      [&](EmulatedBlock& block, int lane, int piece) {
                          const Machine machine(block, lane, piece);
                          WeightsLane<Machine, Weights, kColumns, kParts, kExperts>(machine, call).run();
                      });
    for (const std::int32_t count : arrivals) EXPECT_EQ(count, 0);
    return y;
}

template <class Weights, int kColumns, int kParts, bool kByShift = false>
std::vector<float> output_of(const Problem& p, std::uint32_t thread_blocks, std::uint64_t seed) {
    return output_of<Weights, kColumns, kParts, kByShift>(std::vector{p}, {0}, thread_blocks, seed);
}

template <class Weights, int kColumns, int kParts, bool kByShift = false>
void expect_right(std::size_t rows, std::size_t k, int batch, std::uint32_t thread_blocks, int stacked = 1) {
    const Problem p = random_problem({Weights::kFormat, rows, k, kParts, stacked}, batch, rows + k);
    ASSERT_LE(thread_blocks, p.shape.units() / static_cast<std::size_t>(p.shape.stacked));
    const auto y = output_of<Weights, kColumns, kParts, kByShift>(p, thread_blocks, 1);
    EXPECT_LE(relative_l2(y, reference_of(p)), 2e-6)
        << name_of(Weights::kFormat) << ' ' << rows << 'x' << k << ", batch " << batch
        << ", thread blocks: " << thread_blocks;
}

TEST(WeightsKernel, every_format_gives_the_product_of_its_codes_and_scales) {
    expect_right<Bf16Weights, 1, 1>(40, 256, 3, 2);
    expect_right<Fp16Weights, 1, 1>(40, 256, 8, 2);
    expect_right<Fp8Weights, 1, 1>(40, 256, 1, 2);
    expect_right<Fp8Weights, 1, 1, true>(40, 256, 1, 2);
    expect_right<Fp8ShiftedWeights, 1, 1>(40, 256, 2, 2);
    expect_right<Int8Weights, 1, 1>(40, 256, 7, 2);
    expect_right<Int4Weights, 1, 1>(40, 256, 5, 2);
    expect_right<Mxfp4Weights, 1, 1>(40, 256, 8, 2);
}

TEST(WeightsKernel, more_columns_and_taller_units_give_the_same) {
    expect_right<Bf16Weights, 2, 1>(20, 128, 13, 1);
    expect_right<Bf16Weights, 4, 1>(20, 128, 32, 1);
    expect_right<Int8Weights, 2, 1>(20, 128, 16, 1);
    expect_right<Int4Weights, 4, 2>(40, 256, 29, 2);
    expect_right<Mxfp4Weights, 4, 2>(40, 128, 17, 1);
}

TEST(WeightsKernel, rows_and_shares_of_every_kind_reach_the_output) {
    expect_right<Mxfp4Weights, 1, 1>(1, 64, 1, 1);    // one unit, most warps idle
    expect_right<Bf16Weights, 1, 1>(16, 1024, 2, 5);  // one block of rows in five thread blocks
    expect_right<Int8Weights, 1, 1>(17, 192, 2, 6);   // one unit per thread block
    expect_right<Int4Weights, 1, 1>(330, 128, 3, 2);  // warps that have whole blocks of rows
    expect_right<Fp8Weights, 1, 1>(100, 640, 1, 3);   // shares that begin and end within blocks of rows
    expect_right<Int4Weights, 1, 1>(16, 8192, 1, 2);  // one block of rows, shares as long as the ring
    expect_right<Fp8Weights, 1, 1>(16, 8192, 1,
                                   1);  // one block of rows, shares four times as long as the ring
    expect_right<Bf16Weights, 1, 1>(700, 64, 2, 1);  // several blocks of rows per warp, a ring of 2 stages
}

TEST(WeightsKernel, stacked_blocks_of_rows_are_shared_by_a_team_of_warps) {
    expect_right<Bf16Weights, 1, 1>(128, 256, 3, 1, 8);  // one stack
    // Two stacks, the last block of rows not full, and a thread block whose share spans the two stacks:
    expect_right<Int4Weights, 1, 1>(250, 256, 3, 3, 8);
    expect_right<Int4Weights, 1, 1>(128, 128, 1, 2, 8);   // one step per thread block
    expect_right<Mxfp4Weights, 1, 1>(128, 192, 2, 2, 4);  // two teams per thread block
    expect_right<Mxfp4Weights, 4, 2>(120, 128, 17, 2, 4);
    expect_right<Int4Weights, 4, 2>(64, 256, 20, 1, 2);
    expect_right<Int8Weights, 2, 1>(60, 320, 16, 3, 2);  // four teams per thread block
    expect_right<Fp8Weights, 1, 1>(512, 64, 1, 1, 8);    // stacks of one step
}

template <class Weights>
void expect_right_by_list(std::size_t rows, std::size_t k, int batch, std::uint32_t thread_blocks,
                          int stacked = 1) {
    std::vector<Problem> experts;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        experts.push_back(random_problem({Weights::kFormat, rows, k, 1, stacked}, batch, seed));
    const std::vector<std::int32_t> list{2, 0, 3};
    const auto y = output_of<Weights, 1, 1, false, true>(experts, list, thread_blocks, 1);
    std::vector<double> expected;
    for (const std::int32_t expert : list) {
        const auto of_expert = reference_of(experts[static_cast<std::size_t>(expert)]);
        expected.insert(expected.end(), of_expert.begin(), of_expert.end());
    }
    EXPECT_LE(relative_l2(y, expected), 2e-6) << name_of(Weights::kFormat) << ' ' << thread_blocks;
}

TEST(WeightsKernel, a_list_of_experts_multiplies_each_with_its_own_activations) {
    for (const std::uint32_t thread_blocks : {1U, 2U, 5U}) {
        expect_right_by_list<Bf16Weights>(24, 128, 2, thread_blocks);
        expect_right_by_list<Fp8Weights>(24, 128, 3, thread_blocks);
        expect_right_by_list<Int4Weights>(24, 256, 1, thread_blocks);
        expect_right_by_list<Mxfp4Weights>(40, 192, 2, thread_blocks);
        expect_right_by_list<Int4Weights>(60, 256, 1, thread_blocks, 4);
        expect_right_by_list<Fp8Weights>(128, 128, 2, thread_blocks, 8);
    }
}

TEST(WeightsKernel, the_order_of_lanes_and_thread_blocks_changes_no_bit) {
    const Problem p = random_problem({WeightFormat::int8, 50, 512, 1}, 4, 3);
    const auto first = output_of<Int8Weights, 1, 1>(p, 5, 1);
    for (const std::uint64_t seed : {2U, 3U, 4U}) {
        const auto other = output_of<Int8Weights, 1, 1>(p, 5, seed);
        for (std::size_t i = 0; i < first.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(first[i]), std::bit_cast<std::uint32_t>(other[i]));
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
