#include "microbench/gpu/formats/dtypes.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/random.h"
#include "microbench/cpu/formats.h"

namespace paretoken::microbench::gpu {
namespace {

// Returns raw · multiplier + addend as a GPU computes it in fp16: exactly, then rounded once.
std::uint16_t corrected(std::uint16_t raw, Correction correction) {
    return f16_of(static_cast<float>(value_of_fp16(raw) * value_of_fp16(correction.multiplier_bits) +
                                     value_of_fp16(correction.addend_bits)));
}

std::uint16_t half_of(std::uint32_t pair, int half) {
    return static_cast<std::uint16_t>(pair >> (16 * half));
}

/// Returns a word with `code` at (pair, half) and random codes everywhere else.
std::uint32_t word_with(WeightFormat format, unsigned code, int pair, int half, Random& random) {
    std::uint32_t word = 0;
    const int pairs = 16 / bits_of(format);
    for (int p = 0; p < pairs; ++p) {
        for (int h = 0; h < 2; ++h) {
            const auto other = static_cast<unsigned>(random.below(1ULL << bits_of(format)));
            word |= placed_code(format, p == pair && h == half ? code : other, p, h);
        }
    }
    return word;
}

TEST(Dtypes, codes_of_e4m3_are_the_values_of_the_ocp_specification) {
    EXPECT_EQ(value_of_e4m3(0x00), 0);
    EXPECT_TRUE(std::signbit(value_of_e4m3(0x80)));
    EXPECT_EQ(value_of_e4m3(0x01), std::ldexp(1.0, -9));    // smallest subnormal
    EXPECT_EQ(value_of_e4m3(0x07), std::ldexp(0.875, -6));  // largest subnormal
    EXPECT_EQ(value_of_e4m3(0x08), std::ldexp(1.0, -6));    // smallest normal
    EXPECT_EQ(value_of_e4m3(0x38), 1);
    EXPECT_EQ(value_of_e4m3(0x7e), 448);
    EXPECT_EQ(value_of_e4m3(0xfe), -448);
    EXPECT_TRUE(std::isnan(value_of_e4m3(0x7f)));
    EXPECT_TRUE(std::isnan(value_of_e4m3(0xff)));
    for (unsigned code = 1; code < 0x7f; ++code)
        EXPECT_GT(value_of_e4m3(code), value_of_e4m3(code - 1)) << code;
    for (unsigned code = 0; code < 0x7f; ++code)
        EXPECT_EQ(value_of_e4m3(code | 0x80), -value_of_e4m3(code)) << code;
}

TEST(Dtypes, codes_of_e2m1_and_e8m0_are_the_values_of_the_ocp_specification) {
    constexpr double kMagnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
    for (unsigned code = 0; code < 8; ++code) {
        EXPECT_EQ(value_of_e2m1(code), kMagnitudes[code]);
        EXPECT_EQ(value_of_e2m1(code | 8), -kMagnitudes[code]);
    }
    EXPECT_EQ(value_of_e8m0(127), 1);
    EXPECT_EQ(value_of_e8m0(0), std::ldexp(1.0, -127));
    EXPECT_EQ(value_of_e8m0(254), std::ldexp(1.0, 127));
    EXPECT_TRUE(std::isnan(value_of_e8m0(255)));
}

TEST(Dtypes, finite_16_bit_codes_agree_with_the_cpu_backend) {
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
        if ((code & 0x7c00) != 0x7c00) {
            EXPECT_EQ(value_of_fp16(code),
                      static_cast<double>(float_of_f16(static_cast<std::uint16_t>(code))));
        }
        if ((code & 0x7f80) != 0x7f80) {
            EXPECT_EQ(value_of_bf16(code),
                      static_cast<double>(float_of_bf16(static_cast<std::uint16_t>(code))));
        }
    }
}

TEST(Dtypes, a_code_comes_back_from_its_place_in_a_word_whatever_its_neighbours_are) {
    Random random(1);
    for (const WeightFormat format : kWeightFormats) {
        const unsigned step = bits_of(format) == 16 ? 251 : 1;
        for (unsigned code = 0; code < 1U << bits_of(format); code += step) {
            for (int pair = 0; pair < 16 / bits_of(format); ++pair) {
                for (int half = 0; half < 2; ++half) {
                    EXPECT_EQ(code_at(format, word_with(format, code, pair, half, random), pair, half), code)
                        << name_of(format) << ' ' << code << ' ' << pair << ' ' << half;
                }
            }
        }
    }
}

TEST(Dtypes, the_places_of_a_word_cover_each_of_its_bits_once) {
    for (const WeightFormat format : kWeightFormats) {
        std::uint32_t all = 0;
        int bits = 0;
        for (int pair = 0; pair < 16 / bits_of(format); ++pair) {
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t mask = placed_code(format, (1U << bits_of(format)) - 1, pair, half);
                EXPECT_EQ(all & mask, 0u);
                all |= mask;
                bits += std::popcount(mask);
            }
        }
        EXPECT_EQ(all, ~0U) << name_of(format);
        EXPECT_EQ(bits, 32);
    }
}

TEST(Dtypes, picked_bytes_takes_any_four_of_eight) {
    EXPECT_EQ(picked_bytes(0x33221100, 0x77665544, 0x3210), 0x33221100u);
    EXPECT_EQ(picked_bytes(0x33221100, 0x77665544, 0x7654), 0x77665544u);
    EXPECT_EQ(picked_bytes(0x33221100, 0x77665544, 0x0527), 0x00552277u);
}

TEST(Dtypes, the_magic_number_turns_each_int8_into_exact_fp16) {
    Random random(2);
    for (unsigned code = 0; code < 256; ++code) {
        for (int pair = 0; pair < 2; ++pair) {
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t raw =
                    raw_int8_pair(word_with(WeightFormat::int8, code, pair, half, random), pair);
                const std::uint16_t value = corrected(half_of(raw, half), kInt8Correction);
                EXPECT_EQ(value_of_fp16(value), static_cast<int>(code) - 128)
                    << code << ' ' << pair << ' ' << half;
            }
        }
    }
}

TEST(Dtypes, the_magic_numbers_turn_each_int4_into_exact_fp16) {
    Random random(3);
    for (unsigned code = 0; code < 16; ++code) {
        for (int pair = 0; pair < 4; ++pair) {
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t raw =
                    raw_int4_pair(word_with(WeightFormat::int4, code, pair, half, random), pair);
                const std::uint16_t value = corrected(half_of(raw, half), int4_correction(pair));
                EXPECT_EQ(value_of_fp16(value), static_cast<int>(code) - 8)
                    << code << ' ' << pair << ' ' << half;
            }
        }
    }
}

TEST(Dtypes, the_corrections_are_the_numbers_that_they_are_named_for) {
    EXPECT_EQ(value_of_fp16(kFp16One), 1);
    EXPECT_EQ(value_of_fp16(kInt8Correction.addend_bits), -1024 - 128);
    EXPECT_EQ(value_of_fp16(int4_correction(0).addend_bits), -1024 - 8);
    EXPECT_EQ(value_of_fp16(int4_correction(1).multiplier_bits), 1. / 16);
    EXPECT_EQ(value_of_fp16(int4_correction(1).addend_bits), -1024. / 16 - 8);
}

TEST(Dtypes, moved_bits_of_each_finite_e4m3_are_its_256th_in_fp16) {
    Random random(4);
    for (unsigned code = 0; code < 256; ++code) {
        if (!is_finite_e4m3(code)) continue;
        for (int pair = 0; pair < 2; ++pair) {
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t raw =
                    raw_e4m3_pair(word_with(WeightFormat::fp8, code, pair, half, random), pair);
                EXPECT_EQ(value_of_fp16(half_of(raw, half)) * static_cast<double>(kRawE4m3Scale),
                          value_of_e4m3(code))
                    << code;
            }
        }
    }
}

TEST(Dtypes, moved_bits_of_each_e2m1_are_its_2_to_the_minus_14_in_fp16) {
    Random random(5);
    for (unsigned code = 0; code < 16; ++code) {
        for (int pair = 0; pair < 4; ++pair) {
            for (int half = 0; half < 2; ++half) {
                const std::uint32_t raw =
                    raw_e2m1_pair(word_with(WeightFormat::mxfp4, code, pair, half, random), pair);
                EXPECT_EQ(value_of_fp16(half_of(raw, half)) * static_cast<double>(kRawE2m1Scale),
                          value_of_e2m1(code))
                    << code;
            }
        }
    }
}

TEST(Dtypes, a_scale_of_e8m0_takes_the_moved_bits_back_as_one_float) {
    for (unsigned code = 0; code <= 240; ++code) {
        const auto scale = static_cast<double>(std::bit_cast<float>(float_bits_of_raw_e8m0(code)));
        EXPECT_EQ(scale, value_of_e8m0(code) * static_cast<double>(kRawE2m1Scale)) << code;
    }
}

TEST(Dtypes, names_are_distinct) {
    std::set<std::string_view> names;
    for (const WeightFormat format : kWeightFormats) names.insert(name_of(format));
    EXPECT_EQ(names.size(), std::size(kWeightFormats));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
