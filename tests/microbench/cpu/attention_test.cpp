#include "microbench/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "microbench/collect.h"
#include "microbench/cpu/formats.h"

namespace paretoken::microbench {
namespace {

struct Problem {
    KvShape shape;
    std::vector<std::uint16_t> keys;
    std::vector<std::uint16_t> values;
    Queries q;
};

std::uint16_t bits_of(KvType type, double value) {
    const auto number = static_cast<float>(value);
    return type == KvType::bf16 ? bf16_of(number) : f16_of(number);
}

Problem random_problem(const KvShape& shape, std::size_t group, std::uint64_t seed) {
    Random random(seed);
    Problem p{.shape = shape, .keys = {}, .values = {}, .q = {}};
    for (std::size_t i = 0; i < shape.tokens * shape.head_dim; ++i) {
        p.keys.push_back(bits_of(shape.type, random.normal()));
        p.values.push_back(bits_of(shape.type, random.normal()));
    }
    std::vector<float> q(group * shape.head_dim);
    for (float& value : q) value = static_cast<float>(random.normal());
    p.q = queries_for(shape.type, q, group);
    return p;
}

std::vector<float> output_of(const Problem& p, Isa isa) {
    auto kv = packed_kv(p.shape, p.keys, p.values);
    kv.resize(kv.size() + 128);
    std::vector<float> out(p.q.group * p.shape.head_dim, std::numeric_limits<float>::quiet_NaN());
    attention_for(p.shape.type, isa,
                  p.q.group)({.kv = kv.data(), .shape = p.shape, .q = &p.q, .out = out.data()});
    return out;
}

/// The same with the blocks anywhere in a pool that is larger than the cache.
std::vector<float> paged_output_of(const Problem& p, Isa isa, std::uint64_t seed) {
    const auto kv = packed_kv(p.shape, p.keys, p.values);
    const std::size_t size = p.shape.block_bytes();
    std::vector<std::uint32_t> pages(2 * p.shape.blocks() + 1);
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::uint32_t>(i);
    Random random(seed);
    for (std::size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[random() % i]);
    std::vector<std::byte> pool(pages.size() * size + 128, std::byte{0x7f});  // NaN where no block lies
    for (std::size_t i = 0; i < p.shape.blocks(); ++i)
        std::copy_n(kv.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                    pool.begin() + static_cast<std::ptrdiff_t>(pages[i] * size));
    std::vector<float> out(p.q.group * p.shape.head_dim, std::numeric_limits<float>::quiet_NaN());
    attention_for(p.shape.type, isa, p.q.group)(
        {.kv = pool.data(), .pages = pages.data(), .shape = p.shape, .q = &p.q, .out = out.data()});
    return out;
}

void expect_right(const Problem& p) {
    const auto reference = attention_reference(p.shape, p.keys, p.values, p.q);
    for (const Isa isa : available_isas()) {
        EXPECT_LE(relative_l2(output_of(p, isa), reference), attention_bound(p.shape.type))
            << name_of(p.shape.type) << ' ' << name_of(isa) << " tokens " << p.shape.tokens << " block "
            << p.shape.block << " dim " << p.shape.head_dim << " group " << p.q.group;
    }
}

TEST(Attention, every_kernel_agrees_with_fp64_around_every_edge_of_tile_and_block) {
    std::uint64_t seed = 1;
    for (const KvType type : {KvType::bf16, KvType::f16}) {
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
    for (const KvType type : {KvType::bf16, KvType::f16}) {
        for (const std::size_t dim : {16, 96, 128, 256}) {
            for (const std::size_t group : {2, 4, 5, 6, 7, 8}) {
                expect_right(random_problem({type, 77, dim, 32}, group, dim + group));
            }
        }
    }
}

TEST(Attention, the_order_of_pages_does_not_change_a_bit_of_the_result) {
    for (const KvType type : {KvType::bf16, KvType::f16}) {
        for (const std::size_t tokens : {1, 32, 33, 200}) {
            const Problem p = random_problem({type, tokens, 64, 32}, 4, tokens);
            for (const Isa isa : available_isas())
                EXPECT_EQ(paged_output_of(p, isa, tokens), output_of(p, isa))
                    << name_of(isa) << ' ' << tokens;
        }
    }
}

TEST(Attention, equal_keys_give_the_mean_of_the_values) {
    for (const Isa isa : available_isas()) {
        Problem p = random_problem({KvType::f16, 50, 32, 16}, 4, 3);
        for (std::size_t i = 0; i < p.keys.size(); ++i) p.keys[i] = p.keys[i % 32];
        const auto out = output_of(p, isa);
        for (std::size_t d = 0; d < 32; ++d) {
            double mean = 0;
            for (std::size_t t = 0; t < 50; ++t) mean += float_of_f16(p.values[t * 32 + d]) / 50.0;
            EXPECT_NEAR(out[d], mean, 1e-5) << name_of(isa);
        }
    }
}

TEST(Attention, a_late_key_that_outweighs_all_others_takes_over) {
    for (const KvType type : {KvType::bf16, KvType::f16}) {
        for (const Isa isa : available_isas()) {
            Problem p = random_problem({type, 200, 64, 32}, 1, 8);
            for (std::size_t d = 0; d < 64; ++d) {  // scores far above the others, in the last block but one
                p.keys[170 * 64 + d] = bits_of(type, 40.0 * (p.q.values[d] > 0 ? 1 : -1));
            }
            const auto out = output_of(p, isa);
            for (std::size_t d = 0; d < 64; ++d) {
                EXPECT_NEAR(out[d], float_of(type, p.values[170 * 64 + d]), 1e-4) << name_of(isa);
            }
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
