#include "tests/virtual_gpu/tensor_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "core/random.h"
#include "tests/virtual_gpu/small_kernel.h"

namespace paretoken::virtual_gpu {
namespace {

struct Matrices {
    std::array<std::array<float, 16>, 16> a{};  // [m][k]
    std::array<std::array<float, 8>, 16> b{};   // [k][n]
    std::array<std::array<float, 8>, 16> c{};   // [m][n]
};
using Product = std::array<std::array<float, 8>, 16>;

std::uint32_t code_of(float value, bool bf16) {
    if (bf16) return std::bit_cast<std::uint32_t>(value) >> 16;
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

/// Runs mma.m16n8k16 on each set of matrices, with one thread block per product.
std::vector<Product> multiplied(const std::vector<Matrices>& all, bool bf16, int capability = 90) {
    std::string body =
        "mad.lo.s32 %r10, %r2, 32, %r1;\nmul.wide.u32 %rd10, %r10, 40;\nadd.s64 %rd11, %rd1, %rd10;\n"
        "mul.wide.u32 %rd12, %r10, 16;\nadd.s64 %rd13, %rd2, %rd12;\n";
    for (int i = 0; i < 6; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd11+{}];\n", 20 + i, 4 * i);
    for (int i = 0; i < 4; ++i) body += fmt::format("ld.global.f32 %f{}, [%rd11+{}];\n", 10 + i, 24 + 4 * i);
    body += fmt::format(
        "mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%f20, %f21, %f22, %f23}}, {{%r20, %r21, %r22, "
        "%r23}}, "
        "{{%r24, %r25}}, {{%f10, %f11, %f12, %f13}};\nst.global.v4.f32 [%rd13], {{%f20, %f21, %f22, %f23}};",
        bf16 ? "bf16" : "f16");
    struct Registers {
        std::array<std::uint32_t, 10> words;
    };
    std::vector<Registers> in;
    for (const Matrices& x : all) {
        for (std::size_t lane = 0; lane < 32; ++lane) {
            // The layout is from the PTX manual, "Matrix Fragments for mma.m16n8k16", with groupID = lane / 4
            // and threadID_in_group = lane % 4.
            const std::size_t group = lane / 4;
            const std::size_t thread = lane % 4;
            Registers registers{};
            for (std::size_t i = 0; i < 8; ++i) {
                const std::size_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
                const std::size_t column = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
                registers.words[i / 2] |= code_of(x.a[row][column], bf16) << (i % 2 * 16);
            }
            for (std::size_t i = 0; i < 4; ++i) {
                const std::size_t row = thread * 2 + (i & 1) + (i >= 2 ? 8 : 0);
                registers.words[4 + i / 2] |= code_of(x.b[row][group], bf16) << (i % 2 * 16);
            }
            for (std::size_t i = 0; i < 4; ++i)
                registers.words[6 + i] =
                    std::bit_cast<std::uint32_t>(x.c[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)]);
            in.push_back(registers);
        }
    }
    Device device;
    auto* const out = device.room<float>(all.size() * 128);
    const LaunchReport report =
        device.run(small_kernel(body, "", capability), device.holding(in), out,
                   {.grid = {static_cast<unsigned>(all.size()), 1, 1}, .block = {32, 1, 1}});
    EXPECT_FALSE(report.fault) << report.fault->message;
    std::vector<Product> products(all.size());
    for (std::size_t p = 0; p < all.size(); ++p) {
        for (std::size_t lane = 0; lane < 32; ++lane) {
            for (std::size_t i = 0; i < 4; ++i)
                products[p][lane / 4 + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)] =
                    out[p * 128 + lane * 4 + i];
        }
    }
    return products;
}

TEST(MatrixProduct, EveryElementMeetsItsRowAndColumn) {
    for (const bool bf16 : {false, true}) {
        std::vector<Matrices> all;
        for (std::size_t hot = 0; hot < 256 + 128; ++hot) {
            Matrices x;
            for (std::size_t i = 0; i < 16; ++i) {
                for (std::size_t j = 0; j < 8; ++j) x.c[i][j] = static_cast<float>(i * 8 + j) / 256;
            }
            if (hot < 256) {
                x.a[hot / 16][hot % 16] = 1;
                for (std::size_t i = 0; i < 128; ++i) x.b[i / 8][i % 8] = static_cast<float>(i + 1);
            } else {
                x.b[(hot - 256) / 8][(hot - 256) % 8] = 1;
                for (std::size_t i = 0; i < 256; ++i) x.a[i / 16][i % 16] = static_cast<float>(i + 1);
            }
            all.push_back(x);
        }
        const std::vector<Product> products = multiplied(all, bf16);
        for (std::size_t p = 0; p < all.size(); ++p) {
            for (std::size_t m = 0; m < 16; ++m) {
                for (std::size_t n = 0; n < 8; ++n) {
                    float expected = all[p].c[m][n];
                    if (p < 256 && m == p / 16) expected += all[p].b[p % 16][n];
                    if (p >= 256 && n == p % 8) expected += all[p].a[m][(p - 256) / 8];
                    ASSERT_EQ(products[p][m][n], expected) << p << " " << m << " " << n;
                }
            }
        }
    }
}

/// Random factors of both signs with exponents from lowest to highest, and some zeros.
Matrices random_matrices(Random& random, bool bf16, int lowest, int highest) {
    const auto factor = [&] {
        if (random.below(12) == 0) return 0.0F;
        const auto fraction = static_cast<float>(128 + random.below(128)) / 128;
        const auto exponent =
            lowest + static_cast<int>(random.below(static_cast<std::uint64_t>(highest - lowest + 1)));
        return std::ldexp(random.below(2) == 0 ? fraction : -fraction, exponent);
    };
    Matrices x;
    for (auto& row : x.a) std::generate(row.begin(), row.end(), factor);
    for (auto& row : x.b) std::generate(row.begin(), row.end(), factor);
    for (auto& row : x.c)
        std::generate(row.begin(), row.end(), [&] { return factor() * (bf16 ? factor() : 1.2345F); });
    return x;
}

TEST(MatrixProduct, IsWithinWhatCuttingLosesOfTheExactOne) {
    for (const int capability : {80, 90}) {
        for (const bool bf16 : {false, true}) {
            Random random(9);
            std::vector<Matrices> all;
            for (int i = 0; i < 100; ++i)
                all.push_back(random_matrices(random, bf16, bf16 ? -20 : -8, bf16 ? 20 : 7));
            const std::vector<Product> products = multiplied(all, bf16, capability);
            for (std::size_t p = 0; p < all.size(); ++p) {
                for (std::size_t m = 0; m < 16; ++m) {
                    for (std::size_t n = 0; n < 8; ++n) {
                        double exact = all[p].c[m][n];
                        double size = std::fabs(exact);
                        for (std::size_t k = 0; k < 16; ++k) {
                            exact += double(all[p].a[m][k]) * all[p].b[k][n];
                            size += std::fabs(double(all[p].a[m][k]) * all[p].b[k][n]);
                        }
                        // Each of 17 terms loses less than 2^-24 of the largest term, and each sum loses less
                        // than 2^-23 of itself.
                        ASSERT_NEAR(products[p][m][n], exact, size * (18 * 0x1p-24 + 2 * 0x1p-23));
                    }
                }
            }
        }
    }
}

TEST(MatrixProduct, InIntegersIsTheSameAsInDoublesBitByBit) {
    Random random(10);
    for (const int capability : {80, 90}) {
        const TensorCore core = tensor_core_of(capability);
        for (const auto& [bf16, lowest, highest] : {std::tuple{false, -8, 7},
                                                    {false, -24, 15},
                                                    {true, -20, 20},
                                                    {true, -70, -40},
                                                    {true, -126, 127},
                                                    {true, 55, 64}}) {
            for (int i = 0; i < 200; ++i) {
                const Matrices x = random_matrices(random, bf16, lowest, highest);
                float a[16][16];
                float b[16][8];
                float c[16][8];
                for (std::size_t m = 0; m < 16; ++m) {
                    std::copy(x.a[m].begin(), x.a[m].end(), a[m]);
                    std::copy(x.b[m].begin(), x.b[m].end(), b[m]);
                    std::copy(x.c[m].begin(), x.c[m].end(), c[m]);
                }
                multiply_accumulated(core, c, a, b);
                for (std::size_t n = 0; n < 8; ++n) {
                    float column[16];
                    for (std::size_t k = 0; k < 16; ++k) column[k] = x.b[k][n];
                    for (std::size_t m = 0; m < 16; ++m) {
                        const float one = dot_accumulated(core, x.c[m][n], x.a[m], column);
                        if (std::isnan(one)) {
                            ASSERT_TRUE(std::isnan(c[m][n]));
                        } else {
                            ASSERT_EQ(std::bit_cast<std::uint32_t>(c[m][n]),
                                      std::bit_cast<std::uint32_t>(one))
                                << c[m][n] << ", " << one;
                        }
                    }
                }
            }
        }
    }
}

/// The sum of c and sixteen products of value `each`, on a GPU of this compute capability.
float sum_of(float c, float each, int capability = 90) {
    const std::vector<float> a(16, each);
    const std::vector<float> b(16, 1.0F);
    return dot_accumulated(tensor_core_of(capability), c, a, b);
}

TEST(TensorCore, BitsBelowTheLargestTermsAreCutNotRounded) {
    constexpr float kBig = 16777216;  // 2^24: its last bit is worth 2; sums keep two more bits, down to 1/2
    EXPECT_EQ(sum_of(kBig, 0.25F), kBig) << "each product is lost, although their sum is 4";
    EXPECT_EQ(sum_of(kBig, 0.5F), kBig + 8);
    EXPECT_EQ(sum_of(kBig, 0.75F), kBig + 8) << "0.25 of each product is lost";
    EXPECT_EQ(sum_of(-kBig, -0.75F), -kBig - 8) << "both signs are truncated towards zero";
    EXPECT_EQ(sum_of(kBig, -0.75F), kBig - 8);
    EXPECT_EQ(sum_of(-kBig, 0.75F), -kBig + 8);
    // sm_80 keeps one more bit and adds eight products at a time.
    EXPECT_EQ(sum_of(kBig, 0.5F, 80), kBig);
    EXPECT_EQ(sum_of(kBig, 1.0F, 80), kBig + 16);
    EXPECT_EQ(sum_of(kBig, 1.75F, 80), kBig + 16);
    EXPECT_EQ(sum_of(-kBig, -1.75F, 80), -kBig - 16);
}

TEST(TensorCore, SumsAreCutTowardsZero) {
    const auto plus = [](float c, float product) {
        return dot_accumulated(tensor_core_of(90), c, std::array{product}, std::array{1.0F});
    };
    EXPECT_EQ(plus(16777216.0F, 3.0F), 16777218.0F) << "rounding to nearest would give 16777220";
    EXPECT_EQ(plus(-16777216.0F, -3.0F), -16777218.0F);
    EXPECT_EQ(plus(1.0F, 0x1.8p-24F), 1.0F) << "rounding to nearest would give the next float";
    EXPECT_EQ(plus(-1.0F, -0x1.8p-24F), -1.0F);
    EXPECT_EQ(plus(1.0F, -0x1p-25F), 0x1.fffffep-1F) << "1 - 2^-25 is truncated";
    EXPECT_EQ(plus(0.0F, 0.0F), 0.0F);
    EXPECT_EQ(plus(5.0F, -5.0F), 0.0F);
}

TEST(TensorCore, ALargeProductHidesASmallSum) {
    const std::array a{0x1p15F, -0x1p15F, 1.0F};
    const std::array b{0x1p12F, 0x1p12F, 0.5F};
    EXPECT_EQ(dot_accumulated(tensor_core_of(90), 0, a, b), 0.0F)
        << "beside 2^27, the last bit that is kept is worth 4";
    EXPECT_EQ(dot_accumulated(tensor_core_of(90), 0, std::array{0x1p15F, -0x1p15F, 4.0F},
                              std::array{0x1p12F, 0x1p12F, 1.0F}),
              4.0F);
}

TEST(TensorCore, InfinitiesAndNanSpread) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto plus = [](float c, float a, float b) {
        return dot_accumulated(tensor_core_of(90), c, std::array{a, 1.0F}, std::array{b, 1.0F});
    };
    EXPECT_EQ(plus(1, kInfinity, 2), kInfinity);
    EXPECT_EQ(plus(1, kInfinity, -2), -kInfinity);
    EXPECT_EQ(plus(-kInfinity, 3, 2), -kInfinity);
    EXPECT_TRUE(std::isnan(plus(1, kInfinity, 0)));
    EXPECT_TRUE(std::isnan(plus(-kInfinity, kInfinity, 1)));
    EXPECT_TRUE(std::isnan(plus(std::numeric_limits<float>::quiet_NaN(), 1, 1)));
}

}  // namespace
}  // namespace paretoken::virtual_gpu
