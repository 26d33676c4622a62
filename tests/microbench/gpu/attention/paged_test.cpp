#include "microbench/gpu/attention/paged.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "microbench/cpu/formats.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr KvFormat kFormats[] = {KvFormat::bf16, KvFormat::fp16, KvFormat::fp8, KvFormat::int8};

TEST(PageTables, random_order_permutes_the_whole_pool_and_no_page_has_two_owners) {
    const std::vector<std::int32_t> lengths = {1, 15, 16, 17, 100, 4096};
    const auto tables = page_tables(lengths, 16, 5, PageOrder::random, 3);
    std::vector<std::int32_t> all;
    std::size_t beyond = 0;
    const auto per_copy = static_cast<std::int32_t>(pages_for(lengths, 16));
    for (std::size_t copy = 0; copy < tables.size(); ++copy) {
        EXPECT_EQ(tables[copy].first, (std::vector<std::int32_t>{0, 1, 2, 3, 5, 12, 268}));
        for (const std::int32_t page : tables[copy].pages) {
            beyond += page / per_copy != static_cast<std::int32_t>(copy) ? 1U : 0U;
            all.push_back(page);
        }
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int32_t>(i));
    EXPECT_GT(beyond, all.size() / 2) << "the pages of a copy must be spread over the whole pool";
}

TEST(PageTables, depend_on_nothing_but_the_seed) {
    const std::vector<std::int32_t> lengths(10, 1000);
    EXPECT_EQ(page_tables(lengths, 32, 2, PageOrder::random, 1),
              page_tables(lengths, 32, 2, PageOrder::random, 1));
    EXPECT_NE(page_tables(lengths, 32, 2, PageOrder::random, 1),
              page_tables(lengths, 32, 2, PageOrder::random, 2));
}

TEST(PageTables, sequential_order_counts_up) {
    const auto tables = page_tables(std::vector<std::int32_t>{40, 20}, 16, 2, PageOrder::sequential, 1);
    EXPECT_EQ(tables[1].pages, (std::vector<std::int32_t>{5, 6, 7, 8, 9}));
}

TEST(PageTables, pages_that_left_the_window_have_been_given_back) {
    const std::vector<std::int32_t> lengths = {200, 50};
    const auto table = page_tables(lengths, 16, 1, PageOrder::sequential, 1, 128).front();
    EXPECT_EQ(pages_for(lengths, 16, 128), 9U + 4U);
    EXPECT_EQ(table.first, (std::vector<std::int32_t>{0, 13, 17}));
    EXPECT_EQ(std::count(table.pages.begin(), table.pages.end(), kNoPage), 4)
        << "the four pages of tokens 0 … 63 are freed, because the window begins at token 72";
    EXPECT_EQ(table.pages[4], 0);
}

TEST(SeenTokens, the_joint_window_is_the_union_of_what_each_query_token_sees) {
    for (std::int32_t q_len = 1; q_len <= 6; ++q_len) {
        for (std::int32_t length = q_len; length <= 40; ++length) {
            for (std::int32_t window = 0; window <= 42; ++window) {
                std::set<std::int32_t> seen;
                for (std::int32_t i = 0; i < q_len; ++i) {
                    const std::int32_t end = seen_end(length, q_len, i);
                    EXPECT_EQ(end, length - q_len + i + 1);
                    for (std::int32_t t = window_begin(end, window); t < end; ++t) seen.insert(t);
                }
                EXPECT_EQ(*seen.begin(), window_begin(length, joint_window(window, q_len)));
                EXPECT_EQ(*seen.rbegin() + 1, length);
                EXPECT_EQ(std::ssize(seen), *seen.rbegin() + 1 - *seen.begin())
                    << "the visible tokens must have no gaps";
            }
        }
    }
}

TEST(Pool, every_element_of_a_page_has_a_place_of_its_own_in_both_layouts) {
    for (const KvFormat format : kFormats) {
        for (const PageLayout layout : {PageLayout::nhd, PageLayout::hnd}) {
            const PoolShape shape{format, layout, 3, 64, 32};
            const PageStrides strides = shape.strides();
            std::set<std::uint64_t> rows;
            for (std::uint32_t which = 0; which < 2; ++which) {
                for (std::uint32_t head = 0; head < 3; ++head) {
                    for (std::uint32_t token = 0; token < 32; ++token) {
                        rows.insert(which * strides.value + head * strides.head + token * strides.token);
                    }
                }
            }
            EXPECT_EQ(rows.size(), 2U * 3 * 32);
            EXPECT_EQ(*rows.rbegin() + 64 * bytes_of(format), shape.page_bytes());
            EXPECT_EQ(shape.page_bytes(), 2U * 3 * 32 * 64 * bytes_of(format));
        }
    }
}

TEST(Pool, rows_of_one_head_are_adjacent_in_hnd_and_heads_of_one_token_in_nhd) {
    EXPECT_EQ((PoolShape{KvFormat::bf16, PageLayout::nhd, 8, 128, 16}.strides().head), 256U);
    EXPECT_EQ((PoolShape{KvFormat::fp8, PageLayout::nhd, 8, 128, 16}.strides().head), 128U);
    EXPECT_EQ((PoolShape{KvFormat::bf16, PageLayout::hnd, 8, 128, 16}.strides().token), 256U);
}

TEST(RandomNumbers, are_legal_spread_and_never_mostly_zero) {
    for (const KvFormat format : kFormats) {
        double sum = 0;
        double squares = 0;
        std::set<std::uint16_t> codes;
        for (std::uint64_t i = 0; i < 20000; ++i) {
            const std::uint16_t code = random_code(format, 9, i);
            const double number = number_of(format, code);
            ASSERT_TRUE(std::isfinite(number)) << name_of(format) << ' ' << code;
            codes.insert(code);
            sum += number;
            squares += number * number;
        }
        const double deviation = std::sqrt(squares / 20000);
        EXPECT_LT(std::abs(sum / 20000), deviation / 20) << name_of(format);
        EXPECT_GT(codes.size(), 100U) << name_of(format);
    }
    for (std::uint64_t i = 0; i < 5000; ++i) {
        const float number = random_number(4, i);
        EXPECT_EQ(float_of_f16(random_code(KvFormat::fp16, 4, i)), number)
            << "fp16 must hold the number exactly";
        EXPECT_NEAR(float_of_bf16(random_code(KvFormat::bf16, 4, i)), number, std::abs(number) / 128);
        const float scale = random_scale(4, i);
        EXPECT_TRUE(scale >= 1.0F / 128 && scale < 1.0F / 64);
    }
}

TEST(Numbers, e4m3_codes_are_those_of_the_published_table) {
    EXPECT_EQ(number_of(KvFormat::fp8, 0x00), 0);
    EXPECT_EQ(number_of(KvFormat::fp8, 0x01), std::ldexp(1, -9));
    EXPECT_EQ(number_of(KvFormat::fp8, 0x08), std::ldexp(1, -6));
    EXPECT_EQ(number_of(KvFormat::fp8, 0x38), 1);
    EXPECT_EQ(number_of(KvFormat::fp8, 0x40), 2);
    EXPECT_EQ(number_of(KvFormat::fp8, 0x7e), 448);
    EXPECT_EQ(number_of(KvFormat::fp8, 0xfe), -448);
    EXPECT_TRUE(std::isnan(number_of(KvFormat::fp8, 0x7f)));
    EXPECT_EQ(number_of(KvFormat::int8, 0x81), -127);
}

TEST(PageFormats, numbers_become_the_nearest_e4m3_code_and_the_even_one_between_two) {
    for (std::uint32_t code = 0; code < 0x7f; ++code) {
        const auto number = static_cast<float>(number_of(KvFormat::fp8, static_cast<std::uint16_t>(code)));
        EXPECT_EQ(e4m3_of(number), code);
        EXPECT_EQ(e4m3_of(-number), code | 0x80);
        if (code == 0x7e) break;
        const auto next = static_cast<float>(number_of(KvFormat::fp8, static_cast<std::uint16_t>(code + 1)));
        const float between = (number + next) / 2;
        EXPECT_EQ(e4m3_of(between), code % 2 == 0 ? code : code + 1) << code;
        EXPECT_EQ(e4m3_of(std::nextafter(between, 0.0F)), code);
        EXPECT_EQ(e4m3_of(std::nextafter(between, 1000.0F)), code + 1);
    }
    EXPECT_EQ(e4m3_of(449), 0x7eU);
    EXPECT_EQ(e4m3_of(-1e30F), 0xfeU);
    EXPECT_EQ(e4m3_of(std::numeric_limits<float>::infinity()), 0x7eU);
    EXPECT_EQ(e4m3_of(std::numeric_limits<float>::quiet_NaN()) & 0x7f, 0x7fU);
    EXPECT_EQ(e4m3_of(1e-30F), 0U);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
