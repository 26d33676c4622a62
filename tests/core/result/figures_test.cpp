#include "core/result/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/random.h"

namespace paretoken {
namespace {

TEST(FigureTable, has_keys_of_their_own_and_a_definition_for_each) {
    std::set<std::string_view> keys;
    for (const Figure& figure : figures()) {
        EXPECT_TRUE(keys.insert(figure.key).second) << figure.key;
        EXPECT_FALSE(figure.title.empty());
        EXPECT_TRUE(figure.definition.ends_with('.')) << figure.key;
        EXPECT_EQ(figure_named(figure.key), &figure);
    }
    EXPECT_EQ(figure_named("tokens"), nullptr);
}

TEST(FigureTable, holds_every_key_that_formulas_ask_for) {
    for (const auto key :
         {figure::kRequests, figure::kInputTokens, figure::kFreshInputTokens, figure::kCachedInputTokens,
          figure::kOutputTokens, figure::kTotalTokens, figure::kGoodOutputTokens, figure::kGoodput,
          figure::kGoodputRatio, figure::kMeanInFlight, figure::kCachedPromptRatio})
        EXPECT_NE(figure_named(key), nullptr) << key;
}

Totals random_totals(Random& random) {
    Totals totals;
    totals.seconds = 1;
    totals.requests = random.uniform() * 10;
    totals.time_in_system_s = random.uniform() * 10;
    totals.prompts = totals.known_prompts = totals.known_cached = 1 + std::floor(random.uniform() * 5);
    totals.fresh_input_tokens = random.uniform() * 500;
    totals.cached_input_tokens = random.uniform() * 500;
    totals.output_tokens = random.uniform() * 100;
    totals.judged = 4;
    totals.judged_good = std::floor(random.uniform() * 5);
    return totals;
}

TEST(FigureTable, gives_ratios_of_sums_that_are_linear_in_the_totals) {
    Random random(3);
    for (const Figure& figure : figures()) {
        const Totals a = random_totals(random);
        const Totals b = random_totals(random);
        Totals both = a;
        both += b;
        EXPECT_NEAR(figure.of(both).above, figure.of(a).above + figure.of(b).above, 1e-9) << figure.key;
        EXPECT_NEAR(figure.of(both).below, figure.of(a).below + figure.of(b).below, 1e-9) << figure.key;
    }
}

TEST(Figures, of_blocks_have_an_interval_that_holds_the_value) {
    Random random(5);
    std::vector<Totals> blocks;
    Totals totals;
    for (int i = 0; i < 50; ++i) {
        blocks.push_back(random_totals(random));
        totals += blocks.back();
    }
    for (const FigureValue& held : figures_of(totals, Blocks{blocks.size(), blocks}).values) {
        ASSERT_TRUE(held.ci95) << held.key;
        EXPECT_LE(held.ci95->low, held.value) << held.key;
        EXPECT_GE(held.ci95->high, held.value) << held.key;
    }
    EXPECT_FALSE(figures_of(totals, Blocks{9, std::span(blocks).first(9)}).interval(figure::kOutputTokens));
}

TEST(Figures, have_intervals_within_what_they_can_be) {
    std::vector<Totals> blocks(12);
    Totals totals;
    for (Totals& block : blocks) {
        block.seconds = 1;
        block.judged = block.judged_good = 10;
    }
    blocks[3].output_tokens = 1000;  // all of them in one block
    blocks[7].judged_good = 0;
    for (const Totals& block : blocks) totals += block;
    const Figures figures = figures_of(totals, Blocks{blocks.size(), blocks});
    ASSERT_TRUE(figures.interval(figure::kOutputTokens) && figures.interval(figure::kGoodputRatio));
    EXPECT_EQ(figures.interval(figure::kOutputTokens)->low, 0);
    EXPECT_EQ(figures.interval(figure::kGoodputRatio)->high, 1);
}

std::vector<Totals> judged_blocks(std::size_t count, double good) {
    std::vector<Totals> blocks(count);
    for (std::size_t i = 0; i < count; ++i) {
        Totals& block = blocks[i];
        block.seconds = 1;
        block.requests = block.judged = 10;
        block.good_requests = block.judged_good = good;
        block.output_tokens = 100 + static_cast<double>(i % 3);
        block.good_output_tokens = good * 10;
        block.prompts = block.known_prompts = block.known_cached = 10;
        block.cached_input_tokens = good * 50;
        block.fresh_input_tokens = 500 - good * 50;
    }
    return blocks;
}

Totals sum_of(const std::vector<Totals>& blocks) {
    Totals sum;
    for (const Totals& block : blocks) sum += block;
    return sum;
}

TEST(Figures, know_a_share_of_everything_or_nothing_only_as_well_as_the_number_of_blocks_allows) {
    const double least = std::pow(0.025, 1.0 / 40);  // .912: Clopper and Pearson
    const auto all_good = judged_blocks(40, 10);
    const Figures all = figures_of(sum_of(all_good), Blocks{40, all_good});
    ASSERT_TRUE(all.interval(figure::kGoodputRatio));
    EXPECT_NEAR(all.interval(figure::kGoodputRatio)->low, least, 1e-9);
    EXPECT_EQ(all.interval(figure::kGoodputRatio)->high, 1);
    EXPECT_NEAR(all.interval(figure::kGoodput)->low, 10 * least, 1e-9);
    const auto none_good = judged_blocks(40, 0);
    const Figures figures = figures_of(sum_of(none_good), Blocks{40, none_good});
    EXPECT_EQ(figures.interval(figure::kGoodputRatio)->low, 0);
    EXPECT_NEAR(figures.interval(figure::kGoodputRatio)->high, 1 - least, 1e-9);
    EXPECT_NEAR(figures.interval(figure::kGoodput)->high, 10 * (1 - least), 1e-9);
    EXPECT_NEAR(figures.interval(figure::kCachedPromptRatio)->high, 1 - least, 1e-9);
    EXPECT_NEAR(figures.interval(figure::kCachedInputTokens)->high, 500 * (1 - least), 1e-9);
    const auto some_good = judged_blocks(40, 5);
    const auto part = figures_of(sum_of(some_good), Blocks{40, some_good}).interval(figure::kGoodputRatio);
    EXPECT_NEAR(part->low, 0.5, 1e-9);
    EXPECT_NEAR(part->high, 0.5, 1e-9);
}

// 95 % intervals of a rate over 400 loops of 40 rounds, which take an exponential time each.
TEST(Figures, of_a_closed_loop_have_intervals_that_cover_the_rate_of_its_rounds) {
    int covered = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Random random(seed);
        std::vector<Totals> rounds(40);
        for (Totals& round : rounds) {
            round.seconds = 1 + random.exponential();
            round.output_tokens = 200;
        }
        const auto interval = figures_of(sum_of(rounds), Blocks{40, rounds}).interval(figure::kOutputTokens);
        ASSERT_TRUE(interval);
        covered += interval->low <= 100 && 100 <= interval->high ? 1 : 0;
    }
    EXPECT_GE(covered, 376);
    std::vector<Totals> few(9);
    for (Totals& round : few) round.seconds = 1;
    EXPECT_FALSE(figures_of(sum_of(few), Blocks{9, few}).interval(figure::kOutputTokens));
}

TEST(Figures, of_a_closed_loop_hold_the_value_of_the_whole_window) {
    auto rounds = judged_blocks(20, 10);
    Totals window = sum_of(rounds);
    window.output_tokens *= 1.1;  // a fast start
    const Figures figures = figures_of(window, Blocks{20, rounds});
    EXPECT_GE(figures.interval(figure::kOutputTokens)->high, *figures.at(figure::kOutputTokens));
    EXPECT_LT(figures.interval(figure::kOutputTokens)->low, 101.5);
}

// 95 % intervals of a ratio of two random sums, over 400 samples of 40 blocks: the truth is E[cached] /
// E[prompt] = .5.
TEST(Figures, have_intervals_that_cover_the_ratio_of_two_sums) {
    int covered = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Random random(seed + 1);
        std::vector<Totals> blocks;
        Totals totals;
        for (int i = 0; i < 40; ++i) {
            blocks.push_back(random_totals(random));
            totals += blocks.back();
        }
        const auto interval =
            figures_of(totals, Blocks{blocks.size(), blocks}).interval(figure::kCachedPromptRatio);
        ASSERT_TRUE(interval);
        covered += interval->low <= 0.5 && 0.5 <= interval->high ? 1 : 0;
    }
    EXPECT_GE(covered, 365);
    EXPECT_LE(covered, 396);
}

}  // namespace
}  // namespace paretoken
