#include "microbench/gpu/gemm/gemm_forms.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/gpu/weights/tensor_parallel.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr Scaling kScalings[] = {Scaling::none,          Scaling::operand,       Scaling::row,
                                 Scaling::groups_of_128, Scaling::blocks_of_128, Scaling::groups_of_32,
                                 Scaling::groups_of_16};

TEST(GemmForms, each_stands_where_its_name_is) {
    std::set<std::string_view> names;
    for (const GemmForm form : kGemmForms) names.insert(name_of(form));
    EXPECT_EQ(names.size(), std::size(kGemmForms));
    EXPECT_EQ(name_of(GemmForm::fp8_blocks), "fp8_blocks");
    EXPECT_EQ(name_of(GemmForm::int8), "int8");
}

TEST(GemmForms, what_a_gpu_has_no_instructions_for_is_not_offered_and_said) {
    const std::map<int, std::set<GemmForm>> missing{
        {80, {GemmForm::fp8, GemmForm::fp8_rows, GemmForm::fp8_blocks, GemmForm::mxfp8, GemmForm::nvfp4}},
        {89, {GemmForm::fp8_rows, GemmForm::fp8_blocks, GemmForm::mxfp8, GemmForm::nvfp4}},
        {90, {GemmForm::mxfp8, GemmForm::nvfp4}},
        {100, {}},
        {120, {}}};
    for (const auto& [capability, forms] : missing) {
        for (const GemmForm form : kGemmForms) {
            EXPECT_EQ(offer_of(form, capability) == Offer::none, forms.contains(form))
                << name_of(form) << " on " << capability;
        }
    }
    EXPECT_EQ(lack_of(GemmForm::nvfp4, 90), "w:nvfp4 needs sm_100, this GPU has sm_90");
}

TEST(GemmForms, only_documented_support_is_counted_on) {
    EXPECT_EQ(offer_of(GemmForm::fp8_blocks, 90), Offer::documented);
    EXPECT_EQ(offer_of(GemmForm::fp8_blocks, 100), Offer::to_be_asked);
    EXPECT_EQ(offer_of(GemmForm::nvfp4, 103), Offer::documented);
    EXPECT_EQ(offer_of(GemmForm::nvfp4, 120), Offer::to_be_asked);
    EXPECT_EQ(offer_of(GemmForm::int8, 90), Offer::documented);
    for (const int capability : {80, 86, 89, 90, 100, 120})
        EXPECT_EQ(offer_of(GemmForm::bf16, capability), Offer::documented);
}

TEST(GemmForms, every_matrix_of_every_model_fits_but_those_that_no_16_bytes_divide) {
    for (const ModelShape& model : model_shapes()) {
        for (const MatrixShape& matrix : shares_of(model, 1)) {
            for (const GemmForm form : kGemmForms) {
                if (matrix.rows % 16 != 0 || matrix.k % 32 != 0) continue;
                EXPECT_TRUE(fits(form, {matrix.rows, matrix.k, 2048})) << model.name << " " << matrix.op;
            }
        }
    }
    EXPECT_FALSE(fits(GemmForm::nvfp4, {64, 48, 64}))
        << "48 elements of nvfp4 take 24 bytes, which is no multiple of 16";
    EXPECT_TRUE(fits(GemmForm::fp8, {64, 48, 64}));
    EXPECT_FALSE(fits(GemmForm::fp8, {64, 64, 1}));
    EXPECT_TRUE(fits(GemmForm::bf16, {64, 64, 1}));
}

TEST(GemmElements, every_pair_of_e2m1_has_its_first_in_the_low_nibble) {
    constexpr double kMagnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto stored = static_cast<std::uint8_t>(byte);
        const auto value = [&](unsigned nibble) {
            return kMagnitudes[nibble & 7] * ((nibble & 8) != 0 ? -1 : 1);
        };
        EXPECT_EQ(element_value(GemmForm::nvfp4, &stored, 0), value(byte & 15)) << byte;
        EXPECT_EQ(element_value(GemmForm::nvfp4, &stored, 1), value(byte >> 4)) << byte;
    }
}

TEST(GemmElements, every_byte_is_a_signed_whole_number_or_an_e4m3) {
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::uint8_t stored[] = {0x77, static_cast<std::uint8_t>(byte)};
        EXPECT_EQ(element_value(GemmForm::int8, stored, 1),
                  byte < 128 ? byte : static_cast<double>(byte) - 256);
        for (const GemmForm form :
             {GemmForm::fp8, GemmForm::fp8_rows, GemmForm::fp8_blocks, GemmForm::mxfp8}) {
            const double value = element_value(form, stored, 1);
            if (is_finite_e4m3(byte)) {
                EXPECT_EQ(value, value_of_e4m3(byte));
            } else {
                EXPECT_TRUE(std::isnan(value));
            }
        }
    }
}

TEST(GemmElements, every_finite_bf16_is_the_upper_half_of_a_float) {
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
        if ((code & 0x7f80) == 0x7f80) continue;
        const std::uint8_t stored[] = {0, 0, static_cast<std::uint8_t>(code),
                                       static_cast<std::uint8_t>(code >> 8)};
        ASSERT_EQ(element_value(GemmForm::bf16, stored, 1), std::bit_cast<float>(code << 16)) << code;
    }
}

TEST(GemmElements, a_turned_sign_changes_each_element_of_a_word_that_is_not_zero) {
    Random random(7);
    for (const GemmForm form : kGemmForms) {
        for (int i = 0; i < 1000; ++i) {
            const auto word = static_cast<std::uint32_t>(random());
            const std::uint32_t turned = word ^ traits_of(form).sign_bits;
            const auto at = [&](const std::uint32_t& from, std::size_t place) {
                return element_value(form, reinterpret_cast<const std::uint8_t*>(&from), place);
            };
            for (int place = 0; place < 32 / bits_of(form); ++place) {
                const double before = at(word, place);
                const double after = at(turned, place);
                if (std::isnan(before)) continue;
                if (form == GemmForm::int8) {
                    EXPECT_EQ(std::abs(after - before), 128);
                } else {
                    EXPECT_EQ(after, -before);
                }
            }
        }
    }
}

TEST(GemmScales, each_has_a_place_of_its_own_and_the_rest_only_fills_up) {
    for (const Scaling scaling : kScalings) {
        for (const std::size_t outer : {16, 80, 128, 144, 272}) {
            for (const std::size_t k : {32, 128, 160, 288, 1056}) {
                std::set<std::size_t> places;
                const std::size_t rows = scale_rows(scaling, outer);
                const std::size_t columns = scaling == Scaling::none ? 0 : scale_columns(scaling, k);
                for (std::size_t row = 0; row < rows; ++row) {
                    for (std::size_t column = 0; column < columns; ++column) {
                        const std::size_t place = scale_place(scaling, outer, k, row, column);
                        EXPECT_LT(place, stored_scales(scaling, outer, k));
                        EXPECT_TRUE(places.insert(place).second) << row << "," << column;
                    }
                }
                EXPECT_EQ(places.size(), rows * columns);
            }
        }
    }
}

/// Returns the (row, column) of each scale in the order in which tiles of 128 × 4 store them. The rows of a
/// tile are viewed as an array (4, 32); the dimension of 4 and the columns are innermost.
std::vector<std::pair<std::size_t, std::size_t>> rearranged_tiles(std::size_t rows, std::size_t columns) {
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t tile_row = 0; tile_row < divided_up(rows, 128); ++tile_row) {
        for (std::size_t tile_column = 0; tile_column < divided_up(columns, 4); ++tile_column) {
            for (std::size_t low = 0; low < 32; ++low) {
                for (std::size_t quarter = 0; quarter < 4; ++quarter) {
                    for (std::size_t column = 0; column < 4; ++column)
                        order.emplace_back(tile_row * 128 + quarter * 32 + low, tile_column * 4 + column);
                }
            }
        }
    }
    return order;
}

TEST(GemmScales, groups_of_32_and_16_lie_in_the_documented_tiles) {
    for (const Scaling scaling : {Scaling::groups_of_32, Scaling::groups_of_16}) {
        for (const std::size_t outer : {1, 100, 128, 300}) {
            for (const std::size_t columns : {1, 4, 9, 18}) {
                const std::size_t k = columns * group_of(scaling);
                const auto order = rearranged_tiles(outer, columns);
                ASSERT_EQ(stored_scales(scaling, outer, k), order.size());
                for (std::size_t place = 0; place < order.size(); ++place) {
                    const auto [row, column] = order[place];
                    if (row >= outer || column >= columns) continue;
                    EXPECT_EQ(scale_place(scaling, outer, k, row, column), place);
                }
            }
        }
    }
    // This is the library's own formula for the inverse within the first tile.
    for (std::size_t place = 0; place < 512; ++place) {
        const std::size_t row = place % 16 / 4 * 32 + place / 16;
        EXPECT_EQ(scale_place(Scaling::groups_of_16, 128, 64, row, place % 4), place);
    }
}

TEST(GemmScales, float_scales_are_major_as_the_library_documents_them) {
    // One scale per token and 128 elements of k; tokens are adjacent.
    EXPECT_EQ(scale_place(Scaling::groups_of_128, 80, 288, 5, 2), 2 * 80 + 5);
    EXPECT_EQ(stored_scales(Scaling::groups_of_128, 80, 288), 3 * 80);
    // One scale per 128 × 128 elements; scales along k are adjacent, and rows of blocks are a multiple of 4
    // apart.
    EXPECT_EQ(scale_place(Scaling::blocks_of_128, 300, 640, 2, 4), 2 * 8 + 4);
    EXPECT_EQ(stored_scales(Scaling::blocks_of_128, 300, 640), 3 * 8);
    EXPECT_EQ(stored_scales(Scaling::row, 300, 640), 300);
    EXPECT_EQ(stored_scales(Scaling::operand, 300, 640), 1);
    EXPECT_EQ(stored_scales(Scaling::none, 300, 640), 0);
}

TEST(GemmScales, elements_share_one_exactly_where_their_form_says) {
    constexpr std::size_t kOuter = 272;
    constexpr std::size_t kK = 544;
    const auto shared = [&](Scaling scaling, std::size_t i, std::size_t a, std::size_t j, std::size_t b) {
        return scale_place_of(scaling, kOuter, kK, i, a) == scale_place_of(scaling, kOuter, kK, j, b);
    };
    Random random(3);
    for (int n = 0; n < 20000; ++n) {
        const std::size_t i = random.below(kOuter);
        const std::size_t j = n % 2 == 0 ? i : random.below(kOuter);
        const std::size_t a = random.below(kK);
        const std::size_t b = n % 3 == 0 ? random.below(kK) : std::min(kK - 1, a + random.below(20));
        EXPECT_TRUE(shared(Scaling::operand, i, a, j, b));
        EXPECT_EQ(shared(Scaling::row, i, a, j, b), i == j);
        EXPECT_EQ(shared(Scaling::groups_of_128, i, a, j, b), i == j && a / 128 == b / 128);
        EXPECT_EQ(shared(Scaling::blocks_of_128, i, a, j, b), i / 128 == j / 128 && a / 128 == b / 128);
        EXPECT_EQ(shared(Scaling::groups_of_32, i, a, j, b), i == j && a / 32 == b / 32);
        EXPECT_EQ(shared(Scaling::groups_of_16, i, a, j, b), i == j && a / 16 == b / 16);
    }
}

TEST(GemmScales, codes_of_unsigned_e4m3_ignore_their_top_bit) {
    for (unsigned code = 0; code < 256; ++code) {
        const double value = value_of_ue4m3(code);
        if ((code & 0x7f) == 0x7f) {
            EXPECT_TRUE(std::isnan(value));
        } else {
            EXPECT_EQ(value, std::abs(value_of_e4m3(code)));
            EXPECT_EQ(scale_value(Scaling::groups_of_16, code), value);
        }
    }
}

TEST(GemmScales, random_ones_are_legal_and_what_they_claim) {
    Random random(11);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t bits = random();
        const double single = scale_value(Scaling::row, random_scale(Scaling::row, bits));
        EXPECT_EQ(single, std::bit_cast<float>(random_scale(Scaling::row, bits)));
        EXPECT_TRUE(single >= 0x1p-7 && single < 0x1p-6);
        const double exponent = scale_value(Scaling::groups_of_32, random_scale(Scaling::groups_of_32, bits));
        EXPECT_TRUE(exponent >= 0x1p-9 && exponent <= 0x1p-5);
        const double small = scale_value(Scaling::groups_of_16, random_scale(Scaling::groups_of_16, bits));
        EXPECT_TRUE(small >= 0.25 && small < 4);
    }
    EXPECT_EQ(scale_value(Scaling::none, 12345), 1);
}

TEST(GemmScales, bytes_of_a_form_are_those_of_its_numbers_without_what_fills_up) {
    const GemmShape shape{4096, 4096, 2048};
    constexpr double kWeights = 4096.0 * 4096;
    EXPECT_EQ(weight_bytes(GemmForm::bf16, shape), kWeights * 2);
    EXPECT_EQ(weight_bytes(GemmForm::int8, shape), kWeights);
    EXPECT_EQ(weight_bytes(GemmForm::fp8, shape), kWeights + 4);
    EXPECT_EQ(weight_bytes(GemmForm::fp8_rows, shape), kWeights + 4 * 4096);
    EXPECT_EQ(weight_bytes(GemmForm::fp8_blocks, shape), kWeights + 4 * 32 * 32);
    EXPECT_EQ(weight_bytes(GemmForm::mxfp8, shape), kWeights * 8.25 / 8);
    EXPECT_EQ(weight_bytes(GemmForm::nvfp4, shape), kWeights * 4.5 / 8);
    EXPECT_EQ(token_bytes(GemmForm::fp8_blocks, shape), 2048.0 * (4096 + 4 * 32));
    EXPECT_EQ(token_bytes(GemmForm::fp8_rows, shape), 2048.0 * (4096 + 4));
}

TEST(GemmBounds, rounding_to_bf16_leaves_most_of_the_bound_to_errors_of_sums) {
    Random random(5);
    for (int n = 0; n < 200; ++n) {
        std::vector<float> rounded;
        std::vector<double> exact;
        for (int i = 0; i < 64; ++i) {
            const auto value =
                static_cast<float>((static_cast<double>(random.below(1U << 24)) - (1 << 23)) / 977);
            const auto bits = std::bit_cast<std::uint32_t>(value);
            const std::uint32_t even = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U;
            rounded.push_back(std::bit_cast<float>(even));
            exact.push_back(value);
        }
        const double rounding = relative_l2(rounded, exact);
        const double bound = result_bound(GemmForm::fp8_blocks);
        EXPECT_GE(std::sqrt(bound * bound - rounding * rounding), 3.2e-3);
    }
    EXPECT_EQ(result_bound(GemmForm::int8), 0);
}

std::uint32_t bf16_pair(float low, float high) {
    return std::bit_cast<std::uint32_t>(low) >> 16 | (std::bit_cast<std::uint32_t>(high) & 0xffff0000U);
}

TEST(GemmBounds, one_wrong_result_of_many_is_found_and_so_is_one_that_nobody_wrote) {
    std::vector<std::uint32_t> words(512, bf16_pair(1.5F, -2.0F));
    std::vector<double> wanted;
    for (int i = 0; i < 512; ++i) wanted.insert(wanted.end(), {1.5, -2.0});
    EXPECT_EQ(fault_of(GemmForm::fp8, words, wanted), std::nullopt);
    words[300] = bf16_pair(1.5F, -1.9375F);
    EXPECT_NE(fault_of(GemmForm::fp8, words, wanted), std::nullopt);
    words[300] = 0xffffffffU;
    EXPECT_NE(fault_of(GemmForm::fp8, words, wanted), std::nullopt);
}

TEST(GemmBounds, whole_numbers_are_exact_or_wrong) {
    std::vector<std::uint32_t> words{5, static_cast<std::uint32_t>(-230'000'001), 0};
    const std::vector<double> wanted{5, -230'000'001, 0};
    EXPECT_EQ(fault_of(GemmForm::int8, words, wanted), std::nullopt);
    ++words[1];
    EXPECT_EQ(fault_of(GemmForm::int8, words, wanted), "row 1: -230000000 instead of -230000001");
}

}  // namespace
}  // namespace paretoken::microbench::gpu
