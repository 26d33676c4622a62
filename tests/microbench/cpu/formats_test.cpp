#include "microbench/cpu/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace paretoken::microbench {
namespace {

/// Converts IEEE 754 half precision by the standard's definition: (−1)^s · 2^(e − 15) · (1 + m / 1024).
double half_by_definition(unsigned bits) {
    const double sign = bits >> 15 ? -1 : 1;
    const unsigned exponent = bits >> 10 & 31;
    const double fraction = (bits & 1023) / 1024.0;
    if (exponent == 0) return sign * std::pow(2.0, -14) * fraction;
    return sign * std::pow(2.0, static_cast<int>(exponent) - 15) * (1 + fraction);
}

bool is_finite_half(unsigned bits) {
    return (bits >> 10 & 31) != 31;
}

TEST(Formats, every_half_has_the_value_its_definition_gives_and_comes_back) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        if (!is_finite_half(bits)) continue;
        const auto half = static_cast<std::uint16_t>(bits);
        ASSERT_EQ(float_of_f16(half), half_by_definition(bits)) << bits;
        ASSERT_EQ(f16_of(float_of_f16(half)), half) << bits;
    }
    EXPECT_TRUE(std::isinf(float_of_f16(0x7c00)));
    EXPECT_TRUE(std::isnan(float_of_f16(0x7e01)));
}

TEST(Formats, halves_round_to_nearest_with_ties_to_even) {
    for (unsigned bits = 0; bits < 0x7bff; ++bits) {
        const double low = half_by_definition(bits);
        const double high = half_by_definition(bits + 1);
        const auto middle = static_cast<float>((low + high) / 2);  // exact in a float
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;
        ASSERT_EQ(f16_of(middle), even) << bits;
        ASSERT_EQ(f16_of(std::nextafter(middle, 0.F)), bits) << bits;
        ASSERT_EQ(f16_of(std::nextafter(middle, 1e9F)), bits + 1) << bits;
    }
    EXPECT_EQ(f16_of(65519.99F), 0x7bff);
    EXPECT_EQ(f16_of(65520.F), 0x7c00);
    EXPECT_EQ(f16_of(-1e9F), 0xfc00);
}

TEST(Formats, bf16_is_the_upper_half_of_a_float_rounded_to_even) {
    EXPECT_EQ(float_of_bf16(0x3f80), 1.F);
    EXPECT_EQ(bf16_of(1.F), 0x3f80);
    EXPECT_EQ(bf16_of(1.F + 1.F / 256), 0x3f80);  // tie to even
    EXPECT_EQ(bf16_of(1.F + 3.F / 256), 0x3f82);  // tie to even, upwards
    EXPECT_EQ(bf16_of(1.F + 1.1F / 256), 0x3f81);
    EXPECT_EQ(bf16_of(-2.5F), 0xc020);
    EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of(std::numeric_limits<float>::quiet_NaN()))));
}

std::vector<std::byte> block_of(std::initializer_list<unsigned> head, unsigned (*body)(unsigned),
                                unsigned count) {
    std::vector<std::byte> block;
    for (const unsigned byte : head) block.push_back(static_cast<std::byte>(byte));
    for (unsigned i = 0; i < count; ++i) block.push_back(static_cast<std::byte>(body(i)));
    return block;
}

TEST(Formats, a_q8_0_block_is_its_scale_times_its_signed_bytes) {
    const auto block = block_of(
        {0x00, 0x38}, [](unsigned i) { return i * 8 + 128; }, 32);  // d = 0.5
    ASSERT_EQ(block.size(), block_bytes(WeightType::q8_0));
    std::vector<float> values(32);
    dequantise(WeightType::q8_0, block.data(), values);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(values[i], 0.5F * static_cast<std::int8_t>(i * 8 + 128)) << i;
    EXPECT_EQ(values[0], -64.F);
}

TEST(Formats, a_q4_0_block_keeps_weight_j_and_j_plus_16_in_byte_j) {
    // low halves 0 … 15, high halves 15 … 0
    const auto block = block_of(
        {0x00, 0xc0}, [](unsigned i) { return i | (15 - i) << 4; }, 16);  // d = -2
    ASSERT_EQ(block.size(), block_bytes(WeightType::q4_0));
    std::vector<float> values(32);
    dequantise(WeightType::q4_0, block.data(), values);
    for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(values[i], -2.F * static_cast<float>(i - 8));
        EXPECT_EQ(values[i + 16], -2.F * static_cast<float>(15 - i - 8));
    }
}

TEST(Formats, a_q4_1_block_adds_its_minimum_to_unsigned_halves) {
    const auto block = block_of(
        {0x00, 0x3c, 0x00, 0xc9}, [](unsigned i) { return i | (15 - i) << 4; }, 16);
    ASSERT_EQ(block.size(), block_bytes(WeightType::q4_1));
    std::vector<float> values(32);
    dequantise(WeightType::q4_1, block.data(), values);  // d = 1, m = -10
    for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(values[i], static_cast<float>(i - 10));
        EXPECT_EQ(values[i + 16], static_cast<float>(15 - i - 10));
    }
}

/// The scales of the K types as ggml reads them (get_scale_min_k4).
void six_bits(int j, const std::uint8_t* q, int& d, int& m) {
    if (j < 4) {
        d = q[j] & 63;
        m = q[j + 4] & 63;
    } else {
        d = (q[j + 4] & 0xF) | ((q[j - 4] >> 6) << 4);
        m = (q[j + 4] >> 4) | ((q[j] >> 6) << 4);
    }
}

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint8_t> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

TEST(Formats, a_q4_k_block_walks_its_nibbles_in_stretches_of_64_with_two_scales_each) {
    auto block = random_bytes(144, 5);
    ASSERT_EQ(block.size(), block_bytes(WeightType::q4_k));
    block[1] = 0x38;  // d and m between 0.5 and 1
    block[3] = 0x38;
    const double d = half_by_definition(block[0] | block[1] << 8);
    const double m = half_by_definition(block[2] | block[3] << 8);
    std::vector<double> expected;
    const std::uint8_t* q = block.data() + 16;
    for (int part = 0; part < 8; part += 2, q += 32) {
        for (int high = 0; high < 2; ++high) {
            int scale = 0;
            int minimum = 0;
            six_bits(part + high, block.data() + 4, scale, minimum);
            for (int l = 0; l < 32; ++l)
                expected.push_back(d * scale * (high ? q[l] >> 4 : q[l] & 0xF) - m * minimum);
        }
    }
    std::vector<float> values(256);
    dequantise(WeightType::q4_k, reinterpret_cast<const std::byte*>(block.data()), values);
    for (int i = 0; i < 256; ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
}

TEST(Formats, a_q6_k_block_adds_two_high_bits_and_scales_stretches_of_16) {
    auto block = random_bytes(210, 6);
    ASSERT_EQ(block.size(), block_bytes(WeightType::q6_k));
    block[209] = 0x38;
    const double d = half_by_definition(block[208] | block[209] << 8);
    std::vector<double> expected(256);
    for (int half = 0; half < 2; ++half) {
        const std::uint8_t* ql = block.data() + 64 * half;
        const std::uint8_t* qh = block.data() + 128 + 32 * half;
        const auto* sc = reinterpret_cast<const std::int8_t*>(block.data() + 192 + 8 * half);
        for (int l = 0; l < 32; ++l) {
            const int is = l / 16;
            double* const y = &expected[128 * half + l];
            y[0] = d * sc[is] * (((ql[l] & 0xF) | ((qh[l] & 3) << 4)) - 32);
            y[32] = d * sc[is + 2] * (((ql[l + 32] & 0xF) | ((qh[l] >> 2 & 3) << 4)) - 32);
            y[64] = d * sc[is + 4] * (((ql[l] >> 4) | ((qh[l] >> 4 & 3) << 4)) - 32);
            y[96] = d * sc[is + 6] * (((ql[l + 32] >> 4) | ((qh[l] >> 6 & 3) << 4)) - 32);
        }
    }
    std::vector<float> values(256);
    dequantise(WeightType::q6_k, reinterpret_cast<const std::byte*>(block.data()), values);
    for (int i = 0; i < 256; ++i) EXPECT_NEAR(values[i], expected[i], 1e-3) << i;
}

TEST(Formats, random_weights_are_finite_not_zero_and_the_same_for_a_seed) {
    for (const WeightType type : kWeightTypes) {
        const std::size_t k = 3 * block_values(type);
        Random random(7);
        Random again(7);
        const auto weights = random_weights(type, 3, k, random);
        ASSERT_EQ(weights.size(), 3 * row_bytes(type, k));
        EXPECT_EQ(weights, random_weights(type, 3, k, again));
        std::vector<float> row(k);
        dequantise(type, weights.data() + row_bytes(type, k), row);
        double norm = 0;
        for (const float value : row) {
            ASSERT_TRUE(std::isfinite(value));
            norm += static_cast<double>(value) * static_cast<double>(value);
        }
        EXPECT_GT(norm, 0) << name_of(type);
    }
}

}  // namespace
}  // namespace paretoken::microbench
