#include "core/result/pooled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "core/statistics.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

constexpr TimeSpan kWindow{kStart, kStart + 100s};

PooledOptions steady_options() {
    return {.window = kWindow,
            .blocks = 200,
            .steady = true,
            .memory = {.window_s = 100, .residence_s = 0.5, .queue_s = 0, .enough_s = 0}};
}

std::optional<MetricSummary> summary_of_values(const std::vector<PooledValue>& values,
                                               const PooledOptions& options) {
    PooledFold fold(options);
    int passes = 0;
    do {
        ++passes;
        for (std::size_t begin = 0; begin < values.size(); begin += 37)
            fold.add(std::span(values).subspan(begin, std::min<std::size_t>(37, values.size() - begin)));
    } while (fold.another_pass());
    EXPECT_LE(passes, 4);
    return fold.summary();
}

/// Returns values of any size, with many equal ones, spread over the window.
std::vector<PooledValue> random_values(std::uint64_t seed, std::size_t count) {
    Random random(seed);
    std::vector<PooledValue> values;
    for (std::size_t i = 0; i < count; ++i) {
        const double gap = random.uniform() < 0.3 ? 0.01 : std::exp(20 * random.uniform() - 15);
        values.push_back({kStart + from_seconds(100 * static_cast<double>(i) / static_cast<double>(count)),
                          gap, static_cast<std::uint32_t>(1 + random.below(5))});
    }
    return values;
}

std::vector<double> written_out(const std::vector<PooledValue>& values) {
    std::vector<double> all;
    for (const auto& item : values) all.insert(all.end(), item.weight, item.value);
    std::sort(all.begin(), all.end());
    return all;
}

TEST(PooledFold, has_the_percentiles_of_all_values_written_out) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const auto values = random_values(seed, 1 + seed * seed * 3);
        const auto summary = summary_of_values(values, steady_options());
        const auto sorted = written_out(values);
        ASSERT_TRUE(summary);
        EXPECT_EQ(summary->n, sorted.size());
        EXPECT_EQ(summary->min, sorted.front());
        EXPECT_EQ(summary->max, sorted.back());
        EXPECT_NEAR(*summary->mean, moments_of(sorted).mean, 1e-9 * sorted.back());
        for (const auto& held : summary->percentiles)
            EXPECT_NEAR(*held.value, percentile(sorted, held.p), 1e-12 * sorted.back()) << held.p;
    }
}

TEST(PooledFold, has_the_percentiles_of_very_even_values_too) {
    // A million values within a thousandth of each other: most buckets are empty, and one is crowded.
    Random random(3);
    std::vector<PooledValue> values;
    for (int i = 0; i < 20'000; ++i) values.push_back({kStart + i * 5ms, 1.0 + 1e-4 * random.uniform(), 50});
    values.push_back({kStart, 0, 1});
    values.push_back({kStart, 5, 1});
    const auto summary = summary_of_values(values, steady_options());
    const auto sorted = written_out(values);
    ASSERT_TRUE(summary);
    for (const auto& held : summary->percentiles)
        EXPECT_NEAR(*held.value, percentile(sorted, held.p), 1e-12) << held.p;
    EXPECT_TRUE(summary->percentiles.front().ci95);
}

TEST(PooledBuckets, keep_the_order_of_values_when_they_are_refined) {
    PooledBuckets buckets;
    std::vector<std::uint64_t> counts(buckets.size(), 0);
    counts[buckets.of(1.0001)] = 100;
    counts[buckets.of(0)] = 100;
    ASSERT_FALSE(buckets.refine(counts, 100));
    ASSERT_TRUE(buckets.refine(counts, 99));
    EXPECT_LT(buckets.of(0.9999), buckets.of(1.0));
    EXPECT_LT(buckets.of(1.0001), buckets.of(1.00011));
    EXPECT_EQ(buckets.of(1.0001), buckets.of(1.0001000001));
    EXPECT_LT(buckets.of(1.0009), buckets.of(1.001));
    EXPECT_LT(buckets.of(1.001), buckets.of(1e9));
    EXPECT_LT(buckets.of(1e9), buckets.size());
}

TEST(PooledFold, has_intervals_whose_ends_are_order_statistics_at_the_levels_of_the_effective_sample) {
    const auto values = random_values(3, 20'000);
    const auto summary = summary_of_values(values, steady_options());
    const auto sorted = written_out(values);
    int given = 0;
    for (const auto& held : summary->percentiles) {
        ASSERT_TRUE(held.effective_n);
        const auto levels = percentile_levels(held.p, *held.effective_n);
        if (!held.ci95) continue;
        ++given;
        EXPECT_NEAR(held.ci95->low, percentile(sorted, levels->low), 1e-12);
        EXPECT_NEAR(held.ci95->high, percentile(sorted, levels->high), 1e-12);
    }
    EXPECT_GE(given, 4);
}

TEST(PooledFold, counts_the_evidence_as_the_values_in_each_block_of_time_above_the_percentile) {
    const auto values = random_values(5, 5'000);
    const auto options = steady_options();
    const auto summary = summary_of_values(values, options);
    const double limit = *summary->at(0.5)->value;
    std::vector<double> over(options.blocks);
    std::vector<double> weights(options.blocks);
    for (const auto& item : values) {
        const auto block = static_cast<std::size_t>(seconds(item.at - kStart) / 0.5);
        weights[block] += item.weight;
        over[block] += item.value > limit ? item.weight : 0;
    }
    EXPECT_DOUBLE_EQ(*summary->at(0.5)->effective_n, effective_sample(over, weights, options.memory));
}

TEST(PooledFold, does_not_depend_on_the_order_of_the_values) {
    auto values = random_values(9, 3'000);
    const auto before = summary_of_values(values, steady_options());
    std::reverse(values.begin(), values.end());
    const auto after = summary_of_values(values, steady_options());
    EXPECT_NEAR(*before->mean, *after->mean, 1e-9);
    EXPECT_EQ(before->percentiles, after->percentiles);
}

TEST(PooledFold, says_how_much_lower_percentiles_could_be_if_some_values_are_unknown) {
    const auto values = random_values(8, 2000);
    const auto all = written_out(values);
    PooledOptions options = steady_options();
    EXPECT_FALSE(summary_of_values(values, options)->at(0.5)->instrument);
    options.late = {.share = 0.04, .delay_s = 1e-4};
    const auto summary = summary_of_values(values, options);
    for (const double p : {0.5, 0.95, 0.99}) {
        const double least = std::max(0.0, percentile(all, p - 0.04) - 1e-4);
        EXPECT_NEAR(summary->at(p)->instrument.value_or(0), percentile(all, p) - least, 1e-12) << p;
    }
    options.steady = false;
    EXPECT_EQ(summary_of_values(values, options)->at(0.95)->instrument, summary->at(0.95)->instrument);
}

TEST(PooledFold, of_equal_values_has_no_interval) {
    std::vector<PooledValue> values;
    values.reserve(1000);
    for (int i = 0; i < 1000; ++i) values.push_back({kStart + i * 100ms, 0.01, 1});
    const auto summary = summary_of_values(values, steady_options());
    EXPECT_EQ(summary->at(0.99)->value, 0.01);
    EXPECT_FALSE(summary->at(0.99)->ci95);
    EXPECT_FALSE(summary->at(0.5)->certified);
}

TEST(PooledFold, takes_zeros_negative_values_and_very_large_ones) {
    std::vector<PooledValue> values;
    for (const double value : {0.0, -1e-6, 1e-12, 3e9, 1.0, 0.0}) values.push_back({kStart, value, 1});
    const auto summary = summary_of_values(values, steady_options());
    EXPECT_EQ(summary->min, -1e-6);
    EXPECT_EQ(summary->max, 3e9);
    EXPECT_NEAR(*summary->at(0.5)->value, 0.5e-12, 1e-24);
}

TEST(PooledFold, leaves_out_what_lies_outside_of_the_window) {
    EXPECT_FALSE(summary_of_values({{kStart - 1ns, 1, 1}, {kStart + 100s, 1, 1}}, steady_options()));
    EXPECT_EQ(summary_of_values({{kStart - 1ns, 1, 1}, {kStart, 2, 3}}, steady_options())->n, 3U);
}

}  // namespace
}  // namespace paretoken
