#include "microbench/gpu/layer/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cards/model.h"
#include "core/random.h"
#include "microbench/gpu/formats/random_words.h"
#include "tests/microbench/gpu/emulated_weights.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::int32_t kUnwritten = 1 << 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Machine = EmulatedMachine<false>;

/// The results of the kernel. During its launch each vector has one more element, which must not change.
struct Routed {
    std::vector<float> weights;
    std::vector<std::int32_t> places, tokens, of_entries;
};

/// Returns the results of the kernel. The matrices of expert e are 1000 + e for gate_up and 2000 + e for
/// down.
template <int kWarps = 2>
Routed routed(const LayerExperts& experts, const ExpertLoad& load, const std::vector<std::uint32_t>& masks,
              const std::vector<float>& logits, float scale = 1, std::uint64_t order = 1) {
    const std::size_t tokens = logits.size() / experts.count;
    Routed out{.weights = std::vector<float>(tokens * experts.active + 1, -1),
               .places = std::vector<std::int32_t>(tokens * experts.active + 1, kUnwritten),
               .tokens = std::vector<std::int32_t>(load.places() + 1, kUnwritten),
               .of_entries = std::vector<std::int32_t>(2 * load.entries + 1, kUnwritten)};
    std::vector<std::int32_t> stored;
    for (const int first : {1000, 2000}) {
        for (std::size_t i = 0; i < experts.count; ++i) stored.push_back(first + static_cast<int>(i));
    }
    const RouteCall call{
        .logits = logits.data(),
        .masks = masks.data(),
        .stored = stored.data(),
        .out = {out.weights.data(), out.places.data(), out.tokens.data(), out.of_entries.data()},
        .tokens = static_cast<std::int32_t>(tokens),
        .experts = static_cast<std::int32_t>(experts.count),
        .active = static_cast<std::int32_t>(experts.active),
        .entries = static_cast<std::int32_t>(load.entries),
        .columns = static_cast<std::int32_t>(load.columns),
        .scale = scale};
    run_thread_blocks(1, kWarps * 32, static_cast<std::size_t>(route_shared_bytes(call.tokens, call.active)),
                      order, [&](EmulatedBlock& block, int lane, int piece) {
                          const Machine machine(block, lane, piece);
                          route_body<kWarps>(machine, call);
                      });
    EXPECT_EQ(out.weights.back(), -1);
    EXPECT_EQ(out.places.back(), kUnwritten);
    EXPECT_EQ(out.tokens.back(), kUnwritten);
    EXPECT_EQ(out.of_entries.back(), kUnwritten);
    out.weights.pop_back();
    out.places.pop_back();
    out.tokens.pop_back();
    out.of_entries.pop_back();
    return out;
}

std::vector<std::uint32_t> all_allowed(std::size_t experts, std::size_t tokens) {
    return std::vector<std::uint32_t>(
        tokens * static_cast<std::size_t>(mask_words(static_cast<std::int32_t>(experts))), ~0U);
}

/// Returns the expert of each pair, which its place gives, or −1 without a place.
std::vector<std::int32_t> experts_of(const Routed& routed, std::size_t columns) {
    std::vector<std::int32_t> experts;
    for (const std::int32_t place : routed.places) {
        experts.push_back(
            place == kNoPlace ? -1 : routed.of_entries[static_cast<std::size_t>(place) / columns] - 1000);
    }
    return experts;
}

void expect_as_the_reference(const Routed& got, const LayerExperts& experts, const ExpertLoad& load,
                             const std::vector<std::uint32_t>& masks, const std::vector<float>& logits,
                             float scale) {
    const Routing wanted =
        routing_of(experts, load, masks, std::vector<double>(logits.begin(), logits.end()), double{scale});
    EXPECT_EQ(got.places, wanted.places);
    EXPECT_EQ(got.tokens, wanted.tokens);
    for (std::size_t i = 0; i < load.entries; ++i) {
        const bool used = i < wanted.touched.size();
        EXPECT_EQ(got.of_entries[i], used ? 1000 + wanted.touched[i] : 0);
        EXPECT_EQ(got.of_entries[load.entries + i], used ? 2000 + wanted.touched[i] : 0);
    }
    for (std::size_t i = 0; i < wanted.weights.size(); ++i)
        ASSERT_NEAR(static_cast<double>(got.weights[i]), wanted.weights[i], 1e-5) << i;
}

// ---- choice of the experts

TEST(GpuExperts, the_largest_logits_are_chosen_in_their_order_and_weighed_by_their_softmax) {
    //                                 0  1   2   3   4  5
    const std::vector<float> logits = {0, 3, -1, 2,  0,  0,  //
                                       7, 3, 8,  -5, -6, 8};
    const auto got = routed({6, 3, 64}, {6, 2}, all_allowed(6, 2), logits);
    EXPECT_EQ(experts_of(got, 2), (std::vector<std::int32_t>{1, 3, 0, 2, 5, 0}));
    // Experts 0, 1, 2, 3 and 5 are touched. The second token is the second one of expert 0.
    EXPECT_EQ(got.places, (std::vector<std::int32_t>{2, 6, 0, 4, 8, 1}));
    EXPECT_EQ(got.tokens, (std::vector<std::int32_t>{0, 1, 0, -1, 1, -1, 0, -1, 1, -1, -1, -1}));
    EXPECT_EQ(got.of_entries, (std::vector<std::int32_t>{1000, 1001, 1002, 1003, 1005, 0,  //
                                                         2000, 2001, 2002, 2003, 2005, 0}));
    const double sum = std::exp(3) + std::exp(2) + 1;
    EXPECT_NEAR(static_cast<double>(got.weights[0]), std::exp(3) / sum, 1e-6);
    EXPECT_NEAR(static_cast<double>(got.weights[2]), 1 / sum, 1e-6);
    EXPECT_EQ(got.weights[3], got.weights[4]);
}

TEST(GpuExperts, of_equal_logits_the_lower_number_wins_wherever_lanes_hold_them) {
    std::vector<float> logits(100, 1.0F);
    logits[99] = logits[64] = logits[3] = logits[35] = 2;  // 3 and 35 are in the same lane
    const auto got = routed({100, 6, 64}, {6, 1}, all_allowed(100, 1), logits);
    EXPECT_EQ(experts_of(got, 1), (std::vector<std::int32_t>{3, 35, 64, 99, 0, 1}));
    const auto zeros = routed({100, 3, 64}, {3, 1}, all_allowed(100, 1), std::vector<float>(100, -0.0F));
    EXPECT_EQ(experts_of(zeros, 1), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(GpuExperts, a_mask_decides_who_is_in_the_running) {
    std::vector<float> logits(40, 5.0F);
    logits[39] = -100;
    logits[33] = -200;
    const auto got = routed({40, 2, 64}, {2, 1}, {0, 1U << 1 | 1U << 7}, logits);
    EXPECT_EQ(experts_of(got, 1), (std::vector<std::int32_t>{39, 33}));
    EXPECT_NEAR(got.weights[0], 1, 1e-6);
}

TEST(GpuExperts, logits_far_apart_and_infinite_ones_give_weights_that_sum_to_one) {
    const auto got = routed({4, 3, 64}, {4, 1}, all_allowed(4, 1), {-1e30F, 80, 1e4F, -kInfinity});
    EXPECT_EQ(experts_of(got, 1), (std::vector<std::int32_t>{2, 1, 0}));
    EXPECT_EQ(got.weights, (std::vector<float>{1, 0, 0}));
}

TEST(GpuExperts, a_logit_that_is_no_number_is_chosen_last_and_shows_in_the_weights) {
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    const auto avoided = routed({3, 2, 64}, {3, 1}, all_allowed(3, 1), {kNaN, 1, 2});
    EXPECT_EQ(experts_of(avoided, 1), (std::vector<std::int32_t>{2, 1}));
    const auto needed = routed({2, 2, 64}, {2, 1}, all_allowed(2, 1), {kNaN, 1});
    EXPECT_TRUE(std::isnan(needed.weights[0]));
}

TEST(GpuExperts, pairs_beyond_the_list_get_no_place_and_are_not_written_anywhere) {
    // Three tokens choose expert 1, which has room for two. Four experts are touched, and the list has room
    // for three.
    const std::vector<float> logits = {0, 9, 8, 1,  //
                                       8, 9, 0, 1,  //
                                       0, 9, 1, 8};
    const auto got = routed({4, 2, 64}, {3, 2}, all_allowed(4, 3), logits);
    EXPECT_EQ(got.places, (std::vector<std::int32_t>{2, 4, 3, 0, kNoPlace, kNoPlace}));
    EXPECT_EQ(got.tokens, (std::vector<std::int32_t>{1, kNoToken, 0, 1, 0, kNoToken}));
    EXPECT_EQ(got.of_entries, (std::vector<std::int32_t>{1000, 1001, 1002, 2000, 2001, 2002}));
}

TEST(GpuExperts, random_logits_are_routed_as_fp64_does_it_for_any_numbers_of_experts_and_tokens) {
    Random random(3);
    struct Case {
        std::size_t experts, active, tokens;
    };
    for (const Case& c : {Case{1, 1, 1}, Case{5, 5, 3}, Case{32, 4, 7}, Case{33, 2, 32}, Case{128, 8, 9},
                          Case{256, 8, 32}, Case{512, 32, 2}, Case{60, 4, 31}}) {
        const LayerExperts experts{c.experts, c.active, 64};
        std::vector<float> logits(c.experts * c.tokens);
        for (float& x : logits)
            x = std::round(static_cast<float>(random.normal() * 8)) / 4;  // some are equal
        const ExpertLoad roomy{std::min(c.experts, c.active * c.tokens), c.tokens};
        const ExpertLoad tight{(roomy.entries + 1) / 2, (c.tokens + 1) / 2};
        for (const ExpertLoad& load : {roomy, tight}) {
            const auto masks = all_allowed(c.experts, c.tokens);
            const auto got = routed(experts, load, masks, logits, .5F);
            expect_as_the_reference(got, experts, load, masks, logits, .5F);
            if (load == roomy) {
                EXPECT_EQ(std::count(got.places.begin(), got.places.end(), kNoPlace), 0);
            }
        }
        const auto masks = all_allowed(c.experts, c.tokens);
        const auto one = routed<1>(experts, roomy, masks, logits, 2, 5);
        const auto four = routed<4>(experts, roomy, masks, logits, 2, 6);
        EXPECT_EQ(one.weights, four.weights);
        EXPECT_EQ(one.places, four.places);
    }
}

// ---- draws

TEST(GpuExperts, a_draw_touches_exactly_as_many_experts_as_expected_with_room_for_every_pair) {
    struct Case {
        std::size_t experts, active;
    };
    for (const Case& c : {Case{128, 8}, Case{128, 4}, Case{256, 8}, Case{9, 2}, Case{7, 7}, Case{300, 6}}) {
        for (const std::size_t tokens : {1, 2, 3, 8, 17, 32}) {
            const LayerExperts experts{c.experts, c.active, 64};
            const ExpertLoad load = expert_load(c.experts, c.active, tokens);
            EXPECT_EQ(static_cast<double>(load.entries),
                      std::round(cards::distinct_experts(static_cast<double>(c.experts),
                                                         static_cast<double>(c.active),
                                                         static_cast<double>(tokens))));
            EXPECT_GE(load.places(), tokens * c.active);
            const ExpertDraw draw = drawn_experts(experts, tokens, 7);
            EXPECT_EQ(draw.touched.size(), load.entries);
            EXPECT_TRUE(std::is_sorted(draw.touched.begin(), draw.touched.end()));
            std::vector<double> logits(tokens * c.experts);
            Random random(tokens);
            for (double& x : logits) x = random.normal();
            const Routing routing = routing_of(experts, load, draw.masks, logits, 1);
            EXPECT_EQ(routing.touched, draw.touched);
            EXPECT_EQ(std::count(routing.places.begin(), routing.places.end(), kNoPlace), 0);
            const std::set<std::int32_t> places(routing.places.begin(), routing.places.end());
            EXPECT_EQ(places.size(), tokens * c.active) << "two pairs have the same place";
            // The experts do not depend on the logits.
            const Routing other =
                routing_of(experts, load, draw.masks, std::vector<double>(logits.size()), 1);
            EXPECT_EQ(other.tokens, routing.tokens);
        }
    }
}

TEST(GpuExperts, draws_differ_by_their_seed_and_repeat_by_it) {
    const LayerExperts experts{128, 8, 64};
    const ExpertDraw one = drawn_experts(experts, 8, 1);
    EXPECT_EQ(drawn_experts(experts, 8, 1).masks, one.masks);
    EXPECT_NE(drawn_experts(experts, 8, 2).touched, one.touched);
}

// ---- gather and mix

TEST(GpuExperts, places_get_their_tokens_rows_and_zeros_where_they_are_nobodys) {
    constexpr std::int32_t kHidden = 1096;  // more than the block copies at once, and not a multiple of it
    const std::vector<std::int32_t> tokens = {2, kNoToken, 0, 2};
    std::vector<Words> rows(3 * kHidden / 8), out(4 * kHidden / 8 + 1, Words{{~0U, ~0U, ~0U, ~0U}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::uint32_t& word : rows[i].w) word = static_cast<std::uint32_t>(random_bits_at(9, i));
    }
    const GatherCall call{.rows = reinterpret_cast<const std::uint16_t*>(rows.data()),
                          .tokens = tokens.data(),
                          .out = reinterpret_cast<std::uint16_t*>(out.data()),
                          .hidden = kHidden};
    run_thread_blocks(4, kGatherThreads, 0, 1, [&](EmulatedBlock& block, int lane, int piece) {
        const Machine machine(block, lane, piece);
        gather_body(machine, call);
    });
    for (std::size_t i = 0; i < out.size() - 1; ++i) {
        const std::int32_t token = tokens[i / (kHidden / 8)];
        const Words wanted = token == kNoToken
                                 ? Words{}
                                 : rows[static_cast<std::size_t>(token) * (kHidden / 8) + i % (kHidden / 8)];
        ASSERT_EQ(out[i], wanted) << i;
    }
    EXPECT_EQ(out.back().w[0], ~0U);
}

TEST(GpuExperts, results_are_mixed_by_their_weights_and_a_pair_without_a_place_shows) {
    constexpr std::int32_t kHidden = 516;  // two blocks; only one lane of the second has columns
    const std::vector<float> weights = {.5F, .25F, 2, -1};
    const std::vector<std::int32_t> places = {4, 0, 1, kNoPlace};
    Random random(1);
    std::vector<Floats4> results(5 * kHidden / 4), shared(2 * kHidden / 4), out(2 * kHidden / 4 + 1);
    for (auto* numbers : {&results, &shared}) {
        for (Floats4& four : *numbers) {
            for (float& x : four.v) x = static_cast<float>(random.normal());
        }
    }
    out.back().v[0] = 77;
    const auto number = [](const std::vector<Floats4>& from, std::int32_t row, std::size_t i) {
        const std::size_t at = static_cast<std::size_t>(row) * kHidden + i;
        return static_cast<double>(from[at / 4].v[at % 4]);
    };
    for (const bool with_shared : {false, true}) {
        const MixCall call{.results = results.front().v,
                           .weights = weights.data(),
                           .places = places.data(),
                           .shared = with_shared ? shared.front().v : nullptr,
                           .out = out.front().v,
                           .hidden = kHidden,
                           .active = 2};
        run_thread_blocks(2 * static_cast<std::uint32_t>(gate_blocks_per_row(kHidden)), kGateThreads, 0, 1,
                          [&](EmulatedBlock& block, int lane, int piece) {
                              const Machine machine(block, lane, piece);
                              mix_body(machine, call);
                          });
        for (std::size_t i = 0; i < kHidden; ++i) {
            const double wanted = number(results, 4, i) / 2 + number(results, 0, i) / 4 +
                                  (with_shared ? number(shared, 0, i) : 0);
            ASSERT_NEAR(number(out, 0, i), wanted, 1e-6);
            ASSERT_TRUE(std::isnan(number(out, 1, i)));
        }
        EXPECT_EQ(out.back().v[0], 77);
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
