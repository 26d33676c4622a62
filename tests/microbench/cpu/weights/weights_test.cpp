#include "microbench/cpu/weights/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "microbench/collect.h"

namespace paretoken::microbench {
namespace {

constexpr double kBound = 2e-5;

/// Returns depths with few and many blocks, in even and odd numbers.
std::vector<std::size_t> depths_of(WeightType type) {
    if (block_values(type) == kSuperBlock) return {256, 512, 768};
    return {32, 64, 96, 160, 576};
}

struct Problem {
    WeightType type;
    std::size_t rows;
    std::size_t k;
    std::vector<std::byte> weights;  // row layout
    Activations x;
};

Problem random_problem(WeightType type, std::size_t rows, std::size_t k, std::size_t batch,
                       std::uint64_t seed) {
    Random random(seed);
    auto weights = random_weights(type, rows, k, random);
    std::vector<float> x(batch * k);
    for (float& value : x) value = static_cast<float>(random.normal());
    return {type, rows, k, std::move(weights), activations_for(type, x, batch)};
}

std::vector<double> reference_of(const Problem& p) {
    std::vector<double> y(p.x.batch * p.rows);
    std::vector<float> row(p.k);
    for (std::size_t r = 0; r < p.rows; ++r) {
        dequantise(p.type, p.weights.data() + r * row_bytes(p.type, p.k), row);
        for (std::size_t b = 0; b < p.x.batch; ++b) {
            for (std::size_t i = 0; i < p.k; ++i) {
                y[b * p.rows + r] +=
                    static_cast<double>(row[i]) * static_cast<double>(p.x.values[b * p.k + i]);
            }
        }
    }
    return y;
}

/// Returns the output, which is poisoned before and has guards on both sides that no kernel may touch. Every
/// variant gives equal bits.
std::vector<float> output_of(const Problem& p, Layout layout, Isa isa) {
    auto stored = layout == Layout::packed ? packed(p.type, p.weights, p.rows, p.k) : p.weights;
    EXPECT_EQ(stored.size(), stored_bytes(p.type, layout, p.rows, p.k));
    stored.resize(stored.size() + 128);
    const float guard = 12345.F;
    std::vector<float> result;
    for (const GemvVariant& variant : gemvs_for(p.type, layout, isa, p.x.batch)) {
        std::vector<float> y(p.x.batch * p.rows + 32, guard);
        std::fill(y.begin() + 16, y.end() - 16, std::numeric_limits<float>::quiet_NaN());
        const Isa vectors = std::min(isa, Isa::avx512);  // most types have no kernels with tiles
        EXPECT_TRUE(variant.isa == isa || variant.isa == vectors || variant.isa == Isa::scalar);
        variant.run(
            {.weights = stored.data(), .rows = p.rows, .x = &p.x, .y = y.data() + 16, .y_stride = p.rows});
        for (std::size_t i = 0; i < 16; ++i) {
            EXPECT_EQ(y[i], guard);
            EXPECT_EQ(y[y.size() - 1 - i], guard);
        }
        const std::vector<float> output(y.begin() + 16, y.end() - 16);
        if (result.empty()) result = output;
        EXPECT_EQ(output, result) << name_of(p.type) << ' ' << name_of(isa);
    }
    return result;
}

void expect_right(const Problem& p) {
    const auto reference = reference_of(p);
    for (const Isa isa : available_isas()) {
        for (const Layout layout : {Layout::row, Layout::packed}) {
            const auto y = output_of(p, layout, isa);
            EXPECT_LE(relative_l2(y, reference), kBound)
                << name_of(p.type) << ' ' << name_of(layout) << ' ' << name_of(isa) << " rows " << p.rows
                << " k " << p.k << " batch " << p.x.batch;
        }
    }
}

TEST(Weights, every_kernel_agrees_with_fp64_on_ragged_shapes_and_every_batch) {
    std::uint64_t seed = 1;
    for (const WeightType type : kWeightTypes) {
        for (const std::size_t rows : {1, 15, 16, 17, 31, 32, 33, 70}) {
            for (const std::size_t k : depths_of(type)) {
                for (const std::size_t batch : {1, 4, 8, 16})
                    expect_right(random_problem(type, rows, k, batch, ++seed));
            }
        }
    }
}

TEST(Weights, a_batch_that_no_vector_kernel_takes_falls_back_to_one_that_does) {
    expect_right(random_problem(WeightType::q4_1, 20, 64, 3, 5));
    EXPECT_EQ(gemvs_for(WeightType::bf16, Layout::packed, best_isa(), 3).front().isa, Isa::scalar);
}

/// Sets all stored bytes to one value: q8_0 −128 or 127, nibbles 0 or 15, numbers of six bits 0 or 63. The
/// scales within blocks are set too: to six bits of ones, or to extreme signed bytes.
void fill_quants(Problem& p, std::uint8_t byte) {
    const std::size_t head = p.type == WeightType::q4_1 || p.type == WeightType::q4_k ? 4
                             : p.type == WeightType::q6_k                             ? 0
                                                                                      : 2;
    const std::size_t tail = p.type == WeightType::q6_k ? 2 : 0;
    for (std::size_t at = 0; at < p.weights.size(); at += block_bytes(p.type)) {
        for (std::size_t i = head; i < block_bytes(p.type) - tail; ++i)
            p.weights[at + i] = static_cast<std::byte>(byte);
    }
}

TEST(Weights, extreme_weights_against_extreme_activations_do_not_saturate) {
    for (const WeightType type :
         {WeightType::q8_0, WeightType::q4_0, WeightType::q4_1, WeightType::q4_k, WeightType::q6_k}) {
        const std::size_t k = block_values(type) * 3;
        for (const float sign : {-1.F, 1.F}) {
            for (const std::uint8_t byte : {0x80, 0x7f, 0x00, 0xff}) {
                Problem p = random_problem(type, 17, k, 4, 11);
                fill_quants(p, byte);
                const std::vector<float> x(4 * k, sign * 3.F);  // quantised to ±127 throughout
                p.x = activations_for(type, x, 4);
                ASSERT_EQ(std::abs(p.x.bytes[0]), 127);
                if (byte == 0x00 && (type == WeightType::q8_0 || block_values(type) == kSuperBlock))
                    continue;  // a sum of zero has no relative error
                expect_right(p);
            }
        }
    }
}

TEST(Weights, a_scale_of_zero_gives_zero) {
    for (const WeightType type :
         {WeightType::q8_0, WeightType::q4_0, WeightType::q4_1, WeightType::q4_k, WeightType::q6_k}) {
        Problem p = random_problem(type, 16, 2 * block_values(type), 1, 3);
        for (std::size_t at = 0; at < p.weights.size(); at += block_bytes(type)) {
            store_u16(p.weights.data() + at + (type == WeightType::q6_k ? 208 : 0), 0);
            if (type == WeightType::q4_1 || type == WeightType::q4_k) store_u16(p.weights.data() + at + 2, 0);
        }
        for (const Isa isa : available_isas()) {
            for (const Layout layout : {Layout::row, Layout::packed}) {
                for (const float y : output_of(p, layout, isa)) EXPECT_EQ(y, 0.F);
            }
        }
    }
}

TEST(Weights, activations_of_zero_give_zero) {
    for (const WeightType type : kWeightTypes) {
        const std::size_t k = 2 * block_values(type);
        Problem p = random_problem(type, 5, k, 1, 3);
        p.x = activations_for(type, std::vector<float>(k), 1);
        for (const Isa isa : available_isas()) {
            for (const float y : output_of(p, Layout::packed, isa)) EXPECT_EQ(y, 0.F);
        }
    }
}

TEST(Weights, one_hot_activations_read_back_each_weight) {
    for (const WeightType type : kWeightTypes) {
        Problem p = random_problem(type, 17, block_values(type) == kSuperBlock ? 256 : 64, 1, 9);
        std::vector<float> row(p.k);
        for (std::size_t hot = 0; hot < p.k; ++hot) {
            std::vector<float> x(p.k);
            x[hot] = 127;  // exact in bytes and in bf16
            p.x = activations_for(type, x, 1);
            for (const Isa isa : available_isas()) {
                for (const Layout layout : {Layout::row, Layout::packed}) {
                    const auto y = output_of(p, layout, isa);
                    for (std::size_t r = 0; r < p.rows; ++r) {
                        dequantise(type, p.weights.data() + r * row_bytes(type, p.k), row);
                        ASSERT_NEAR(y[r], 127 * row[hot], 1e-4 * (1 + std::abs(127 * row[hot])))
                            << name_of(type) << ' ' << name_of(layout) << ' ' << name_of(isa) << " row " << r
                            << " k " << hot;
                    }
                }
            }
        }
    }
}

TEST(Weights, packing_puts_every_byte_of_a_panel_into_one_linear_stream) {
    Problem p = random_problem(WeightType::bf16, 32, 64, 1, 4);
    const auto stream = packed(p.type, p.weights, p.rows, p.k);
    for (std::size_t i = 0; i < p.k; ++i) {
        for (std::size_t r = 0; r < p.rows; ++r) {
            // [k / 2][32 rows][2]
            EXPECT_EQ(load_u16(stream.data() + ((i / 2 * 32 + r) * 2 + i % 2) * 2),
                      load_u16(p.weights.data() + (r * p.k + i) * 2));
        }
    }
}

TEST(Weights, packing_halves_puts_the_rows_of_a_panel_side_by_side) {
    Problem p = random_problem(WeightType::f16, 32, 64, 1, 4);
    const auto stream = packed(p.type, p.weights, p.rows, p.k);
    for (std::size_t i = 0; i < p.k; ++i) {
        for (std::size_t r = 0; r < p.rows; ++r) {
            EXPECT_EQ(load_u16(stream.data() + (i * 32 + r) * 2),
                      load_u16(p.weights.data() + (r * p.k + i) * 2));
        }
    }
}

TEST(Weights, packing_keeps_every_bit_of_the_k_types_and_no_more) {
    const auto ones = [](std::span<const std::byte> bytes) {
        std::size_t count = 0;
        for (const std::byte byte : bytes) count += std::popcount(std::to_integer<unsigned>(byte));
        return count;
    };
    for (const WeightType type : {WeightType::q4_k, WeightType::q6_k}) {
        const Problem p = random_problem(type, 32, 512, 1, 6);
        const auto stream = packed(type, p.weights, p.rows, p.k);
        EXPECT_EQ(stream.size(), p.weights.size()) << name_of(type);
        EXPECT_EQ(ones(stream), ones(p.weights)) << name_of(type);
    }
}

TEST(Weights, bytes_of_activations_stand_for_the_values_next_to_them) {
    Random random(3);
    std::vector<float> x(4 * 96);
    for (float& value : x) value = static_cast<float>(random.normal());
    const Activations a = activations_for(WeightType::q4_0, x, 4);
    ASSERT_EQ(a.blocks, 4u);  // three, padded
    for (std::size_t b = 0; b < 4; ++b) {
        for (std::size_t block = 0; block < 3; ++block) {
            double sum = 0;
            for (std::size_t i = 0; i < 32; ++i) {
                const float value = a.scale[b * 4 + block] * a.bytes[(b * 4 + block) * 32 + i];
                sum += value;
                EXPECT_EQ(value, a.values[b * 96 + block * 32 + i]);
                EXPECT_NEAR(value, x[b * 96 + block * 32 + i], a.scale[b * 4 + block] * 0.5001);
            }
            EXPECT_NEAR(a.offset[b * 4 + block], 8 * sum, 1e-4);
        }
        EXPECT_EQ(a.offset[b * 4 + 3], 0);
    }
}

}  // namespace
}  // namespace paretoken::microbench
