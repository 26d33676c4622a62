#include "reports/analysis/cost/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace paretoken::reports {
namespace {

constexpr double kHour = 3600;

TEST(Cost, DividesTheWholeDeploymentByItsOutput) {
    EXPECT_NEAR(usd_per_m_output(3.50 / kHour, 1000).value(), 0.9722, 5e-5);
    EXPECT_NEAR(usd_per_m_output(3.50 / kHour, 833).value(), 1.1671, 5e-5);
    EXPECT_NEAR(break_even_output_per_s(3.50 / kHour, 1.00), 972.2, 0.05);
}

TEST(Cost, IsNotThereWithoutOutput) {
    EXPECT_FALSE(usd_per_m_output(1, 0));
    EXPECT_FALSE(usd_per_m_output(1, -1));
    EXPECT_FALSE(usd_per_m_total(1, {}));
    EXPECT_FALSE(split_by_ratio(1, {}, 4, 0.1));
    EXPECT_FALSE(split_by_prefill_share(1, {100, 0, 0}, 0.5, 0.1));
    EXPECT_FALSE(usd_per_m_interval(1, {0, 5}));
}

/// The rates of a deployment for $2.808/h: 4834 tokens/s in total, with eight input tokens for each output
/// token.
TokenRates eight_to_one(double hit) {
    const double input = 4834 * 8.0 / 9;
    return {input * (1 - hit), input * hit, 4834 / 9.0};
}

TEST(Cost, TakesTheCoresOfTheClientsMachineOnlyIfItServed) {
    Provenance from;
    from.hardware = "Intel(R) Xeon(R) Platinum 8481C";
    from.host_cpu = "AMD EPYC 7B13";
    from.host_cores = 8;
    EXPECT_FALSE(priced_hardware(from).cores);
    from.host_cpu = "intel xeon platinum 8481c";  // other signs, and other words in brackets
    EXPECT_FALSE(priced_hardware(from).cores);
    from.host_cpu = "intel(r) xeon(r) platinum 8481C";
    EXPECT_EQ(priced_hardware(from).cores, 8U);
    from.host_cores = 0;
    EXPECT_FALSE(priced_hardware(from).cores);
}

TEST(Cost, SplitsByTheRatioOfPrices) {
    const double usd_per_s = 2.808 / kHour;
    const auto even = split_by_ratio(usd_per_s, eight_to_one(0), 1, 0.1).value();
    EXPECT_NEAR(even.fresh, 0.1614, 5e-5);
    EXPECT_NEAR(even.output, 0.1614, 5e-5);
    EXPECT_NEAR(usd_per_m_total(usd_per_s, eight_to_one(0)).value(), 0.1614, 5e-5);
    const auto four = split_by_ratio(usd_per_s, eight_to_one(0), 4, 0.1).value();
    EXPECT_NEAR(four.fresh, 0.1210, 5e-5);
    EXPECT_NEAR(four.output, 0.4841, 5e-5);
    const auto eight = split_by_ratio(usd_per_s, eight_to_one(0), 8, 0.1).value();
    EXPECT_NEAR(eight.fresh, 0.0908, 5e-5);
    EXPECT_NEAR(eight.output, 0.7261, 5e-5);
    const auto cached = split_by_ratio(usd_per_s, eight_to_one(0.9), 4, 0.1).value();
    EXPECT_NEAR(cached.fresh, 0.2631, 5e-5);
    EXPECT_NEAR(cached.cached, 0.0263, 5e-5);
    EXPECT_NEAR(cached.output, 1.0523, 5e-5);
}

double paid(const SplitPrices& prices, const TokenRates& rates) {
    return (prices.fresh * rates.fresh_input + prices.cached * rates.cached_input +
            prices.output * rates.output) /
           1e6;
}

TEST(Cost, EverySplitAddsUpToTheCost) {
    Random random(3);
    for (int i = 0; i < 500; ++i) {
        const TokenRates rates{1 + 5000 * random.uniform(), 5000 * random.uniform(),
                               1 + 2000 * random.uniform()};
        const double usd_per_s = 0.01 * random.uniform() + 1e-6;
        const double cached = random.uniform();
        EXPECT_NEAR(
            paid(split_by_ratio(usd_per_s, rates, 10 * random.uniform(), cached).value(), rates) / usd_per_s,
            1, 1e-9);
        EXPECT_NEAR(paid(split_by_prefill_share(usd_per_s, rates, random.uniform(), cached).value(), rates) /
                        usd_per_s,
                    1, 1e-9);
    }
}

TEST(Cost, FindsThePricesThatExplainSeveralMixes) {
    const SplitPrices truth{0.2, 0.02, 0.9};
    std::vector<PricedMix> mixes;
    for (const TokenRates& rates :
         {TokenRates{4000, 0, 500}, {1000, 3000, 800}, {500, 100, 2000}, {3000, 2000, 300}})
        mixes.push_back({paid(truth, rates), rates});
    const auto found = split_by_mixes(mixes).value();
    EXPECT_NEAR(found.fresh, truth.fresh, 1e-9);
    EXPECT_NEAR(found.cached, truth.cached, 1e-9);
    EXPECT_NEAR(found.output, truth.output, 1e-9);
}

TEST(Cost, NeverFindsANegativePrice) {
    Random random(5);
    for (int i = 0; i < 200; ++i) {
        std::vector<PricedMix> mixes;
        for (int k = 0; k < 4; ++k)
            mixes.push_back({random.uniform(),
                             {1000 * random.uniform(), 1000 * random.uniform(), 1000 * random.uniform()}});
        const auto prices = split_by_mixes(mixes);
        ASSERT_TRUE(prices);
        EXPECT_GE(prices->fresh, 0);
        EXPECT_GE(prices->cached, 0);
        EXPECT_GE(prices->output, 0);
    }
    EXPECT_FALSE(split_by_mixes(std::vector<PricedMix>(2, {1, {1, 1, 1}})));
}

TEST(Cost, PricesMixesThatNeverHitACache) {
    const std::vector<PricedMix> mixes{
        {0.001, {4000, 0, 500}}, {0.001, {1000, 0, 800}}, {0.001, {500, 0, 900}}};
    const auto prices = split_by_mixes(mixes);
    ASSERT_TRUE(prices);
    EXPECT_EQ(prices->cached, 0);
    EXPECT_GT(prices->output, 0);
}

TEST(Cost, InvertsTheIntervalOfTheRate) {
    const Interval interval = usd_per_m_interval(3.50 / kHour, {833, 1000}).value();
    EXPECT_NEAR(interval.low, 0.9722, 5e-5);
    EXPECT_NEAR(interval.high, 1.1671, 5e-5);
}

TEST(Cost, OfSelfHostingNeverBreaksEvenBeyondCapacity) {
    const auto tokens = self_host_break_even_tokens(2520, 0.90, 1200);
    ASSERT_TRUE(tokens);
    EXPECT_NEAR(*tokens / 1e9, 2.8, 1e-9);
    EXPECT_NEAR(*tokens / (720 * kHour), 1080, 0.5);
    EXPECT_FALSE(self_host_break_even_tokens(2520, 0.90, 1000));
}

TEST(Split, IsReadFromARatioAnApiAShareOrTheMixes) {
    EXPECT_EQ(parse_split("8", {}).output_ratio, 8);
    EXPECT_DOUBLE_EQ(parse_split("api:claude-sonnet-4.6", {}).output_ratio, 5);
    EXPECT_DOUBLE_EQ(parse_split("api:claude-sonnet-4.6", {}).cached_ratio, 0.1);
    EXPECT_NE(parse_split("api:claude-sonnet-4.6", {}).source.find("claude-sonnet-4.6"), std::string::npos);
    EXPECT_EQ(parse_split("mixes", {}).kind, SplitRule::Kind::mixes);
    EXPECT_EQ(parse_split("prefill-share", {}).kind, SplitRule::Kind::prefill_share);
    EXPECT_EQ(parse_split("prefill-share:0.3", {}).prefill_share, 0.3);
    for (const char* bad : {"", "0", "-1", "four", "4x", "inf", "nan", "api:", "api:nonesuch",
                            "prefill-share:1", "prefill-share:", "prefill-share:x", "mix"})
        EXPECT_THROW(parse_split(bad, {}), UsageError) << bad;
}

}  // namespace
}  // namespace paretoken::reports
