#include "microbench/cpu/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "microbench/collect.h"

namespace paretoken::microbench {
namespace {

struct Problem {
    KvShape shape;
    std::vector<float> keys;  // before rounding
    std::vector<float> values;
    Queries q;

    KvNumbers stored_keys() const { return kv_numbers(shape.type, keys, shape.head_dim); }
    KvNumbers stored_values() const { return kv_numbers(shape.type, values, shape.head_dim); }
    std::vector<std::byte> cache() const { return packed_kv(shape, stored_keys(), stored_values()); }
};

Problem random_problem(const KvShape& shape, std::size_t group, std::uint64_t seed) {
    Random random(seed);
    Problem p{.shape = shape, .keys = {}, .values = {}, .q = {}};
    for (std::size_t i = 0; i < shape.tokens * shape.head_dim; ++i) {
        p.keys.push_back(static_cast<float>(random.normal()));
        p.values.push_back(static_cast<float>(random.normal()));
    }
    std::vector<float> q(group * shape.head_dim);
    for (float& value : q) value = static_cast<float>(random.normal());
    p.q = queries_for(shape.type, q, group);
    return p;
}

std::vector<float> output_of(const Problem& p, Isa isa) {
    auto kv = p.cache();
    kv.resize(kv.size() + 128);
    std::vector<float> out(p.q.group * p.shape.head_dim, std::numeric_limits<float>::quiet_NaN());
    attention_for(p.shape.type, isa,
                  p.q.group)({.kv = kv.data(), .shape = p.shape, .q = &p.q, .out = out.data()});
    return out;
}

/// Returns the output with the blocks anywhere in a pool that is larger than the cache.
std::vector<float> paged_output_of(const Problem& p, Isa isa, std::uint64_t seed) {
    const auto kv = p.cache();
    const std::size_t size = p.shape.block_bytes();
    std::vector<std::uint32_t> pages(2 * p.shape.blocks() + 1);
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::uint32_t>(i);
    Random random(seed);
    for (std::size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[random() % i]);
    std::vector<std::byte> pool(pages.size() * size + 128, std::byte{0x7f});  // NaN outside of the blocks
    for (std::size_t i = 0; i < p.shape.blocks(); ++i)
        std::copy_n(kv.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                    pool.begin() + static_cast<std::ptrdiff_t>(pages[i] * size));
    std::vector<float> out(p.q.group * p.shape.head_dim, std::numeric_limits<float>::quiet_NaN());
    attention_for(p.shape.type, isa, p.q.group)(
        {.kv = pool.data(), .pages = pages.data(), .shape = p.shape, .q = &p.q, .out = out.data()});
    return out;
}

void expect_right(const Problem& p) {
    const auto reference = attention_reference(p.shape, p.stored_keys(), p.stored_values(), p.q);
    for (const Isa isa : available_isas()) {
        EXPECT_LE(relative_l2(output_of(p, isa), reference), attention_bound(p.shape.type))
            << name_of(p.shape.type) << ' ' << name_of(isa) << " tokens " << p.shape.tokens << " block "
            << p.shape.block << " dim " << p.shape.head_dim << " group " << p.q.group;
    }
}

TEST(Attention, every_kernel_agrees_with_fp64_around_every_edge_of_tile_and_block) {
    std::uint64_t seed = 1;
    for (const KvType type : kKvTypes) {
        for (const std::size_t block : {16, 32, 64}) {
            for (const std::size_t tokens : {std::size_t{1}, std::size_t{15}, std::size_t{16},
                                             std::size_t{17}, block - 1, block, block + 1, 5 * block + 3}) {
                for (const std::size_t group : {1, 3, 4}) {
                    expect_right(random_problem({type, tokens, 64, block}, group, ++seed));
                }
            }
        }
    }
}

TEST(Attention, every_kernel_agrees_with_fp64_at_other_heads) {
    for (const KvType type : kKvTypes) {
        for (const std::size_t dim : {16, 96, 128, 256}) {
            for (const std::size_t group : {2, 4, 5, 6, 7, 8}) {
                expect_right(random_problem({type, 77, dim, 32}, group, dim + group));
            }
        }
    }
}

TEST(Attention, the_order_of_pages_does_not_change_a_bit_of_the_result) {
    for (const KvType type : kKvTypes) {
        for (const std::size_t tokens : {1, 32, 33, 200}) {
            const Problem p = random_problem({type, tokens, 64, 32}, 4, tokens);
            for (const Isa isa : available_isas())
                EXPECT_EQ(paged_output_of(p, isa, tokens), output_of(p, isa))
                    << name_of(isa) << ' ' << tokens;
        }
    }
}

TEST(Attention, equal_keys_give_the_mean_of_the_values) {
    for (const KvType type : kKvTypes) {
        for (const Isa isa : available_isas()) {
            Problem p = random_problem({type, 50, 32, 16}, 4, 3);
            for (std::size_t i = 0; i < p.keys.size(); ++i) p.keys[i] = p.keys[i % 32];
            const auto out = output_of(p, isa);
            const KvNumbers values = p.stored_values();
            for (std::size_t d = 0; d < 32; ++d) {
                double mean = 0;
                for (std::size_t t = 0; t < 50; ++t) mean += values.value(t, d) / 50.0;
                EXPECT_NEAR(out[d], mean, type == KvType::f16 ? 1e-5 : 1e-3) << name_of(type) << name_of(isa);
            }
        }
    }
}

TEST(Attention, a_late_key_that_outweighs_all_others_takes_over) {
    for (const KvType type : kKvTypes) {
        for (const Isa isa : available_isas()) {
            Problem p = random_problem({type, 200, 64, 32}, 1, 8);
            for (std::size_t d = 0; d < 64; ++d) {  // scores far above the others, in the last block but one
                p.keys[170 * 64 + d] = 40.F * (p.q.values[d] > 0 ? 1.F : -1.F);
            }
            const auto out = output_of(p, isa);
            const KvNumbers values = p.stored_values();
            for (std::size_t d = 0; d < 64; ++d)
                EXPECT_NEAR(out[d], values.value(170, d), 1e-4) << name_of(isa);
        }
    }
}

TEST(Attention, codes_at_their_ends_do_not_saturate) {
    for (const float sign : {-1.F, 1.F}) {
        Problem p = random_problem({KvType::int8, 130, 256, 128}, 8, 4);
        for (float& key : p.keys) key = 3;  // ±127 throughout
        for (std::size_t i = 0; i < p.values.size(); ++i) p.values[i] = sign * (i % 2 == 0 ? 2.F : 1.99F);
        p.q = queries_for(KvType::int8, std::vector<float>(8 * 256, sign * 0.1F), 8);
        expect_right(p);
    }
}

TEST(Attention, tokens_may_differ_in_scale_by_orders_of_magnitude) {
    for (const std::size_t tokens : {40, 200}) {
        Problem p = random_problem({KvType::int8, tokens, 64, 32}, 4, tokens);
        for (std::size_t i = 0; i < p.values.size(); ++i) {
            const float factor = std::pow(10.F, static_cast<float>(i / 64 % 7) - 3);
            p.values[i] *= factor;
            p.keys[i] *= i / 64 % 3 == 0 ? 1e-3F : 1.F;
        }
        expect_right(p);
    }
}

TEST(Attention, values_of_zero_give_zero) {
    for (const KvType type : kKvTypes) {
        Problem p = random_problem({type, 70, 64, 32}, 4, 6);
        p.values.assign(p.values.size(), 0.F);
        for (const Isa isa : available_isas()) {
            for (const float value : output_of(p, isa)) EXPECT_EQ(value, 0.F) << name_of(isa);
        }
    }
}

TEST(Attention, codes_stand_for_the_numbers_they_were_made_of_to_half_a_step) {
    const Problem p = random_problem({KvType::int8, 20, 64, 32}, 1, 12);
    const KvNumbers keys = p.stored_keys();
    ASSERT_EQ(keys.scale.size(), 20u);
    for (std::size_t t = 0; t < 20; ++t) {
        for (std::size_t d = 0; d < 64; ++d)
            EXPECT_NEAR(keys.value(t, d), p.keys[t * 64 + d], keys.scale[t] * 0.5001);
    }
}

TEST(Attention, a_block_of_int8_has_keys_their_scales_scales_and_values) {
    const Problem p = random_problem({KvType::int8, 40, 32, 32}, 1, 13);
    const auto cache = p.cache();
    const KvNumbers keys = p.stored_keys();
    const KvNumbers values = p.stored_values();
    ASSERT_EQ(p.shape.block_bytes(), 2u * 32 * (32 + 4));
    ASSERT_EQ(cache.size(), 2 * p.shape.block_bytes());
    for (std::size_t token = 0; token < 40; ++token) {
        const std::size_t t = token % 32;
        const std::byte* const k = cache.data() + token / 32 * p.shape.block_bytes();
        const std::byte* const v = k + 32 * (32 + 4);
        float scale = 0;
        std::memcpy(&scale, k + 32 * 32 + 4 * t, 4);
        EXPECT_EQ(scale, keys.scale[token]);
        std::memcpy(&scale, v + 4 * t, 4);
        EXPECT_EQ(scale, values.scale[token]);
        for (std::size_t d = 0; d < 32; ++d) {
            const std::size_t key_at = t / 16 * 16 * 32 + (d / 4 * 16 + t % 16) * 4 + d % 4;
            const std::size_t value_at = 4 * 32 + d / 16 * 16 * 32 + (t / 4 * 16 + d % 16) * 4 + t % 4;
            EXPECT_EQ(std::to_integer<int>(k[key_at]),
                      static_cast<std::int8_t>(keys.bits[token * 32 + d]) + 128);
            EXPECT_EQ(std::to_integer<std::uint8_t>(v[value_at]), values.bits[token * 32 + d]);
        }
    }
}

TEST(Attention, an_unknown_group_is_refused_with_the_known_ones) {
    EXPECT_THROW(attention_for(KvType::bf16, best_isa(), 9), UsageError);
    EXPECT_TRUE(attention_takes({32, 8, 128}));
    EXPECT_FALSE(attention_takes({128, 8, 128}));
    EXPECT_FALSE(attention_takes({9, 3, 40}));
    EXPECT_FALSE(attention_takes({8, 8, 512}));
}

}  // namespace
}  // namespace paretoken::microbench
