#include "microbench/gpu/formats/random_words.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "core/random.h"

namespace paretoken::microbench::gpu {
namespace {

TEST(RandomWords, every_code_is_a_finite_number_of_its_format) {
    Random random(1);
    for (const WeightFormat format : kWeightFormats) {
        if (format == WeightFormat::int4 || format == WeightFormat::mxfp4)
            continue;  // all 16 codes are legal
        for (int i = 0; i < 20000; ++i) {
            const std::uint32_t word = random_code_word(format, random());
            for (int shift = 0; shift < 32; shift += bits_of(format)) {
                const unsigned code = word >> shift & ((1U << bits_of(format)) - 1);
                const double value = value_of(format, code);
                ASSERT_TRUE(std::isfinite(value)) << name_of(format) << " " << code;
                if (bits_of(format) == 16) {
                    EXPECT_GE(std::abs(value), 0x1p-7);
                    EXPECT_LT(std::abs(value), 1);
                }
            }
        }
    }
}

TEST(RandomWords, both_signs_and_every_exponent_come_about_equally_often) {
    Random random(2);
    std::array<int, 7> of_exponent{};
    int negative = 0;
    constexpr int kDrawn = 70000;
    for (int i = 0; i < kDrawn; ++i) {
        const double value = value_of_bf16(random_bf16_of(static_cast<std::uint32_t>(random())));
        negative += value < 0 ? 1 : 0;
        ++of_exponent.at(static_cast<std::size_t>(std::ilogb(std::abs(value)) + 7));
    }
    EXPECT_NEAR(negative, kDrawn / 2, kDrawn / 50);
    for (const int count : of_exponent) EXPECT_NEAR(count, kDrawn / 7, kDrawn / 70);
}

TEST(RandomWords, scales_lie_where_they_neither_vanish_nor_overflow) {
    Random random(3);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t bits = random();
        const auto single = std::bit_cast<float>(random_scale_word(WeightFormat::fp8, bits));
        EXPECT_TRUE(single >= 0x1p-7F && single < 0x1p-6F);
        const std::uint32_t halves = random_scale_word(WeightFormat::int4, bits);
        const std::uint32_t exponents = random_scale_word(WeightFormat::mxfp4, bits);
        for (int field = 0; field < 2; ++field) {
            const double value = value_of_fp16(halves >> (16 * field) & 0xffff);
            EXPECT_TRUE(value >= 0x1p-7 && value < 0x1p-6) << value;
        }
        for (int field = 0; field < 4; ++field) {
            const double value = value_of_e8m0(exponents >> (8 * field) & 0xff);
            EXPECT_TRUE(value >= 0x1p-9 && value <= 0x1p-5) << value;
        }
    }
}

TEST(RandomWords, places_and_seeds_give_different_bits_and_always_the_same) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (std::uint64_t place = 0; place < 1000; ++place) seen.insert(random_bits_at(seed, place));
    }
    EXPECT_EQ(seen.size(), 10000u);
    EXPECT_EQ(random_bits_at(5, 7), random_bits_at(5, 7));
    int ones = 0;
    for (std::uint64_t place = 0; place < 10000; ++place) ones += std::popcount(random_bits_at(9, place));
    EXPECT_NEAR(ones, 320000, 3000);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
