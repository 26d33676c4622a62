#include "core/evidence/evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The memory of requests one after the other, a second each, none in flight with another.
LoadMemory alone(std::size_t n) {
    return {.window_s = static_cast<double>(n), .residence_s = 1};
}

/// The memory of a load with `in_flight` requests at once, one per second.
LoadMemory together(std::size_t n, double in_flight) {
    return {.window_s = static_cast<double>(n), .residence_s = in_flight};
}

std::vector<double> noise(std::size_t n, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> values(n);
    for (double& value : values) value = random.exponential();
    return values;
}

/// Returns values that are nearly equal within each `size` successive requests.
std::vector<double> clumps(std::size_t n, std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> values(n);
    double common = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (i % size == 0) common = random.exponential();
        values[i] = common * (1 + 1e-6 * random.uniform());
    }
    return values;
}

std::vector<double> sorted(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values;
}

double effective_n(const std::vector<double>& values, double p, const LoadMemory& memory) {
    const double limit = percentile(sorted(values), p);
    std::vector<double> over;
    for (const double value : values) over.push_back(value > limit ? 1 : 0);
    return effective_sample(over, std::vector<double>(over.size(), 1), memory);
}

std::vector<double> one_to(int n) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    return values;
}

TEST(EffectiveSample, of_independent_requests_is_nearly_all_of_them) {
    for (const std::size_t n : {300U, 3000U}) {
        double sum = 0;
        for (std::uint64_t seed = 0; seed < 50; ++seed) sum += effective_n(noise(n, seed), 0.9, alone(n));
        EXPECT_GT(sum / 50, 0.8 * static_cast<double>(n));
        EXPECT_LT(sum / 50, static_cast<double>(n));
    }
}

TEST(EffectiveSample, of_requests_that_share_their_batch_counts_batches) {
    for (const double p : {0.5, 0.9}) {
        double sum = 0;
        for (std::uint64_t seed = 0; seed < 50; ++seed)
            sum += effective_n(clumps(3200, 16, seed), p, together(3200, 16));
        EXPECT_LT(sum / 50, 200) << p;
        EXPECT_GT(sum / 50, 100) << p;
    }
}

TEST(EffectiveSample, of_a_long_series_is_that_of_its_parts_together) {
    const auto values = clumps(64'000, 16, 1);
    EXPECT_NEAR(effective_n(values, 0.5, together(values.size(), 16)), 4000, 900);
}

TEST(EffectiveSample, of_blocks_of_time_is_not_more_than_the_blocks_when_each_is_of_one_kind) {
    const auto state = noise(200, 3);
    std::vector<double> over;
    for (const double value : state) over.push_back(value > std::log(2.0) ? 100 : 0);
    const double n = effective_sample(over, std::vector<double>(200, 100), alone(200));
    EXPECT_LT(n, 200);
    EXPECT_GT(n, 120);
}

TEST(EffectiveSample, of_values_above_a_limit_is_that_of_one_or_zero_for_each) {
    for (const std::size_t n : {1U, 300U, 4096U, 4097U, 50'001U}) {
        std::vector<double> values = clumps(n, 16, n);
        for (std::size_t i = 0; i < n; i += 50) values[i] = kInfinity;
        for (const double limit : {0.0, 0.7, 3.0, kInfinity}) {
            std::vector<double> over(n);
            for (std::size_t i = 0; i < n; ++i) over[i] = values[i] > limit || values[i] == kInfinity ? 1 : 0;
            const auto memory = together(n, 16);
            EXPECT_EQ(effective_sample_above(values, limit, memory),
                      effective_sample(over, std::vector<double>(n, 1), memory))
                << n << " values, " << limit;
        }
    }
}

TEST(EffectiveSample, of_what_never_varies_is_nothing) {
    EXPECT_EQ(effective_sample({}, {}, alone(1)), 0);
    EXPECT_EQ(effective_sample_above({}, 1, alone(1)), 0);
    EXPECT_EQ(effective_sample(std::vector<double>(100, 0), std::vector<double>(100, 1), alone(100)), 0);
}

TEST(EffectiveInterval, of_independent_requests_is_at_most_a_tenth_wider_than_their_number_allows) {
    for (const std::size_t n : {300U, 1000U, 3000U}) {
        for (const double p : {0.5, 0.9}) {
            double wide = 0;
            double narrow = 0;
            for (std::uint64_t seed = 0; seed < 100; ++seed) {
                const auto values = noise(n, seed);
                const auto in_order = sorted(values);
                const auto interval = effective_interval(in_order, p, effective_n(values, p, alone(n)));
                const auto ideal = percentile_interval(in_order, p);
                ASSERT_TRUE(interval && ideal);
                wide += interval->high - interval->low;
                narrow += ideal->high - ideal->low;
            }
            EXPECT_LE(wide / narrow, 1.1) << n << " " << p;
        }
    }
}

TEST(EffectiveInterval, is_withheld_where_the_evidence_bounds_it_on_one_side_only) {
    EXPECT_FALSE(effective_interval(one_to(1000), 0.5, 5));
    EXPECT_TRUE(effective_interval(one_to(1000), 0.5, 6));
    EXPECT_FALSE(effective_interval(one_to(1000), 0.9, 35));
    EXPECT_TRUE(effective_interval(one_to(1000), 0.9, 36));
    EXPECT_FALSE(effective_interval(one_to(1000), 0.99, 367));
    EXPECT_TRUE(effective_interval(one_to(1000), 0.99, 368));
    EXPECT_FALSE(effective_interval({}, 0.5, 100));
}

TEST(EffectiveInterval, is_withheld_where_both_ends_lie_in_one_clump_of_equal_values) {
    auto values = one_to(441);
    values.insert(values.end(), 100, 500);
    EXPECT_TRUE(effective_interval(values, 0.5, 541));
    EXPECT_FALSE(effective_interval(values, 0.99, 541));
}

TEST(EffectiveInterval, is_wider_when_fewer_samples_count) {
    const auto values = one_to(1000);
    double before = 0;
    for (const double n : {1000.0, 300.0, 100.0, 40.0}) {
        const auto interval = effective_interval(values, 0.9, n);
        ASSERT_TRUE(interval);
        EXPECT_GT(interval->high - interval->low, before);
        before = interval->high - interval->low;
    }
}

TEST(DecidedLimits, allow_as_many_requests_over_a_limit_as_early_stopping_does) {
    // 34 of 500 may be over a limit on p90, so the limit is the 466th value or above.
    EXPECT_EQ(decided_limits(one_to(500), 0.9, 500).high, 466);
    EXPECT_EQ(decided_limits(one_to(44), 0.9, 44).high, 44);
    EXPECT_EQ(decided_limits(one_to(43), 0.9, 43).high, kInfinity);
}

TEST(DecidedLimits, refute_a_limit_that_too_many_requests_are_over) {
    const auto decided = decided_limits(one_to(500), 0.9, 500);
    const auto over = refuting_over(0.9, 500);
    ASSERT_TRUE(over);
    EXPECT_EQ(decided.low, 500 - static_cast<double>(*over) + 1);
    EXPECT_GT(*over, 50U);
    EXPECT_LT(*over, 75U);
}

TEST(DecidedLimits, move_apart_when_fewer_samples_count_and_decide_nothing_at_last) {
    const auto all = decided_limits(one_to(500), 0.9, 500);
    const auto few = decided_limits(one_to(500), 0.9, 100);
    EXPECT_LT(few.low, all.low);
    EXPECT_GT(few.high, all.high);
    EXPECT_EQ(decided_limits(one_to(500), 0.9, 0), (Interval{0, kInfinity}));
}

TEST(DecidedLimits, are_met_by_no_limit_when_too_many_failed) {
    auto values = one_to(80);
    values.insert(values.end(), 20, kInfinity);
    EXPECT_EQ(decided_limits(values, 0.9, 100).high, kInfinity);
    EXPECT_EQ(decided_limits(values, 0.9, 100).low, kInfinity);
}

TEST(ExactLimits, are_those_of_early_stopping_where_every_request_is_independent) {
    for (const double p : {0.5, 0.9, 0.95})
        EXPECT_EQ(exact_limits(one_to(500), p, 500), decided_limits(one_to(500), p, 500)) << p;
    EXPECT_EQ(exact_limits(one_to(90), 0.95, 90).high, 90) << "90 rounds without a miss certify p95";
    EXPECT_EQ(exact_limits(one_to(89), 0.95, 89).high, kInfinity);
    EXPECT_EQ(exact_limits(one_to(100), 0.9, 0), (Interval{0, kInfinity}));
}

TEST(ExactLimits, allow_a_few_requests_over_a_limit_before_they_are_a_whole_sample) {
    const auto values = one_to(2000);  // 20 of them are worth one independent sample
    EXPECT_EQ(exact_limits(values, 0.95, 89.5).high, kInfinity);
    EXPECT_LT(exact_limits(values, 0.95, 110).high, 2000);
    EXPECT_EQ(decided_limits(values, 0.95, 110).high, 2000);
}

TEST(ExactLimits, are_met_by_no_limit_when_too_many_failed) {
    auto values = one_to(80);
    values.insert(values.end(), 20, kInfinity);
    EXPECT_EQ(exact_limits(values, 0.9, 100).high, kInfinity);
    EXPECT_EQ(exact_limits(values, 0.9, 100).low, kInfinity);
}

/// Returns the values of `rounds` rounds of 16 requests that run in step: the requests of a round differ
/// little, and the rounds differ by an exponential time of mean 1.
std::vector<double> values_in_step(std::size_t rounds, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> values;
    for (std::size_t round = 0; round < rounds; ++round) {
        const double of_round = random.exponential();
        for (int i = 0; i < 16; ++i) values.push_back(of_round * (1 + 0.001 * random.uniform()));
    }
    return values;
}

TEST(SectionedIntervals, contain_the_true_percentile_of_rounds_in_step) {
    constexpr std::size_t kRounds = 60;
    const std::array<double, 2> levels{0.5, 0.75};
    std::array<int, 2> covered{};
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const auto intervals = sectioned_intervals(values_in_step(kRounds, seed), levels, kRounds);
        for (std::size_t i = 0; i < levels.size(); ++i) {
            const double truth = -std::log(1 - levels[i]);
            ASSERT_TRUE(intervals[i]);
            covered[i] += intervals[i]->low <= truth && truth <= intervals[i]->high ? 1 : 0;
        }
    }
    EXPECT_GE(covered[0], 184);
    EXPECT_GE(covered[1], 184);
}

TEST(SectionedIntervals, need_values_beyond_the_percentile_and_no_failures_at_it) {
    const std::array<double, 3> levels{0.5, 0.9, 0.99};
    const auto of = [&](std::vector<double> values) { return sectioned_intervals(values, levels, 20); };
    const auto few = of(values_in_step(6, 1));  // 96 values, 9 of them beyond p90
    EXPECT_TRUE(few[0]);
    EXPECT_FALSE(few[1]);
    const auto more = of(values_in_step(20, 1));  // 320 values, 3 of them beyond p99
    EXPECT_TRUE(more[1]);
    EXPECT_FALSE(more[2]);
    auto failing = values_in_step(20, 1);
    std::fill_n(failing.begin(), 12, kInfinity);  // most of the first block
    EXPECT_FALSE(of(failing)[0]);
    EXPECT_FALSE(of(std::vector<double>(320, 1.0))[0]) << "equal values have no spread";
}

std::vector<Stay> poisson_stays(std::size_t n, double rate, double stay_s, std::uint64_t seed) {
    Random random(seed);
    std::vector<Stay> stays;
    double at = 0;
    for (std::size_t i = 0; i < n; ++i) {
        at += random.exponential() / rate;
        stays.push_back({at, at + stay_s * random.exponential()});
    }
    return stays;
}

/// The stays at one server, first come, first served.
std::vector<Stay> queued_stays(std::size_t n, double load, std::uint64_t seed) {
    auto stays = poisson_stays(n, load, 1, seed);
    double free_at = 0;
    for (auto& stay : stays) {
        const double service = stay.end_s - stay.begin_s;
        free_at = std::max(free_at, stay.begin_s) + service;
        stay.end_s = free_at;
    }
    return stays;
}

Interval window_of(const std::vector<Stay>& stays) {
    return {stays.front().begin_s, stays.back().begin_s};
}

TEST(LoadMemory, of_a_closed_loop_is_that_of_its_requests) {
    const auto stays = poisson_stays(500, 10, 2, 1);
    const auto memory = memory_of(stays, window_of(stays), true);
    EXPECT_NEAR(memory.residence_s, 2, 0.3);
    EXPECT_EQ(memory.queue_s, 0);
    EXPECT_TRUE(memory.is_enough());
}

TEST(LoadMemory, of_an_open_loop_lasts_a_few_requests_while_nobody_waits) {
    const auto stays = poisson_stays(2000, 10, 1, 2);
    const auto memory = memory_of(stays, window_of(stays), false);
    EXPECT_GT(memory.queue_s, 0.5);
    EXPECT_LT(memory.queue_s, 8);
    EXPECT_TRUE(memory.is_enough());
}

/// The stays at a server with `slots` slots, first come, first served. Requests have output as soon as they
/// have a slot.
std::vector<Stay> slotted_stays(std::size_t n, std::size_t slots, double load, std::uint64_t seed) {
    auto stays = poisson_stays(n, load * static_cast<double>(slots), 1, seed);
    std::vector<double> free_at(slots, 0);
    for (auto& stay : stays) {
        const double service = stay.end_s - stay.begin_s;
        const auto slot = std::min_element(free_at.begin(), free_at.end());
        const double begun = std::max(*slot, stay.begin_s);
        stay.waited_s = begun - stay.begin_s;
        *slot = stay.end_s = begun + service;
    }
    return stays;
}

TEST(LoadMemory, of_slots_that_are_nearly_all_taken_bounds_the_samples_of_calm_runs_too) {
    // At 90 % of 16 slots the relaxation time is 1/16 ÷ (1 − √.9)² = 23.7 s: 2,000 requests last 139 s and
    // hold at most 3.9 independent samples. The estimate of the load takes its upper end, which may be
    // beyond 1.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto stays = slotted_stays(2000, 16, 0.9, seed);
        EXPECT_LT(memory_of(stays, window_of(stays), false).most_samples, 12) << seed;
    }
}

TEST(LoadMemory, of_slots_that_are_often_free_bounds_nothing) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto stays = slotted_stays(2000, 16, 0.4, seed);
        EXPECT_EQ(memory_of(stays, window_of(stays), false).most_samples, kInfinity) << seed;
    }
    // With many in flight and no slots, their number stays near its mean, which is no sign of saturation.
    const auto stays = poisson_stays(20'000, 400, 1, 3);
    EXPECT_EQ(memory_of(stays, window_of(stays), false).most_samples, kInfinity);
}

TEST(LoadMemory, of_requests_that_come_all_at_once_is_not_taken_for_congestion) {
    std::vector<Stay> stays(100);
    for (std::size_t i = 0; i < stays.size(); ++i) stays[i].end_s = 1 + static_cast<double>(i);
    // 0 to 99 are in flight: 50 arrivals in a row lie on one side of the mean, of 100 in 10 s.
    EXPECT_NEAR(memory_of(stays, {0, 10}, false).enough_s, 8 * 50 * 0.1, 1e-9);
}

TEST(EffectiveSample, is_never_more_than_the_load_remembers) {
    std::vector<double> over(1000);
    for (std::size_t i = 0; i < over.size(); i += 10) over[i] = 1;
    Random random(7);
    for (std::size_t i = over.size() - 1; i > 0; --i) std::swap(over[i], over[random.below(i + 1)]);
    const std::vector<double> weights(over.size(), 1);
    LoadMemory memory{.window_s = 1000, .residence_s = 1};
    EXPECT_GT(effective_sample(over, weights, memory), 500);
    memory.most_samples = 20;
    EXPECT_EQ(effective_sample(over, weights, memory), 20);
}

TEST(EffectiveSample, near_saturation_is_limited_as_far_as_the_number_in_flight_explains_the_values) {
    constexpr std::size_t kCount = 1000;
    Random random(11);
    LoadMemory memory{.window_s = kCount, .residence_s = 1, .queue_s = 1, .most_samples = 50};
    for (std::size_t i = 0; i < kCount; ++i) memory.held_by_order.push_back(random.uniform());
    memory.held_by_time = memory.held_by_order;
    const std::vector<double> weights(kCount, 1);
    const auto samples = [&](double explained) {
        std::vector<double> over(kCount);
        for (std::size_t i = 0; i < kCount; ++i)
            over[i] =
                (random.uniform() < explained ? memory.held_by_order[i] : random.uniform()) > 0.9 ? 1 : 0;
        EXPECT_EQ(effective_sample(over, weights, memory), effective_sample_above(over, 0.5, memory));
        return effective_sample(over, weights, memory);
    };
    EXPECT_NEAR(samples(1), 50, 5);
    const double half = samples(0.5);  // about a quarter of the variance is explained
    EXPECT_GT(half, 80);
    EXPECT_LT(half, 250);
    EXPECT_GT(samples(0), 300);
    memory.most_samples = 49;
    EXPECT_EQ(samples(0), 49) << "states of the queue may not have been seen";
    memory.most_samples = 0;
    EXPECT_EQ(samples(0), 0) << "the slots may be saturated";
}

TEST(LoadMemory, tells_the_number_in_flight_only_where_slots_limit_the_samples) {
    const auto calm = slotted_stays(2000, 16, 0.4, 1);
    EXPECT_TRUE(memory_of(calm, window_of(calm), false).held_by_order.empty());
    const auto stays = slotted_stays(2000, 16, 0.85, 1);
    const auto memory = memory_of(stays, window_of(stays), false);
    ASSERT_LT(memory.most_samples, kInfinity);
    EXPECT_EQ(memory.held_by_order.size(), memory.held_by_time.size());
    const auto [least, most] = std::minmax_element(memory.held_by_time.begin(), memory.held_by_time.end());
    EXPECT_GE(*least, 0);
    EXPECT_GT(*most, 16) << "more than the slots are in flight while a queue exists";
}

TEST(LoadMemory, of_a_server_near_its_capacity_asks_for_longer_runs) {
    int enough = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto stays = queued_stays(1000, 0.95, seed);
        enough += memory_of(stays, window_of(stays), false).is_enough() ? 1 : 0;
    }
    EXPECT_LE(enough, 2);
}

}  // namespace
}  // namespace paretoken
