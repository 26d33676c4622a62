#include "experiments/watch/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "core/random.h"

namespace paretoken::experiments {
namespace {

/// Returns values around `typical`, up to a third of it up or down.
std::vector<double> around(double typical, std::size_t n, Random& random) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(typical * std::exp(.6 * (random.uniform() - .5)));
    return values;
}

/// Intervals of a minute of an even server with four slots: times from arrival to start plus 20 ms. Arrivals
/// are Poisson, and a request takes a second on average.
std::vector<std::vector<double>> minutes_of(double utilization, std::size_t minutes, std::uint64_t seed) {
    constexpr double kSlots = 4;
    Random random(seed);
    std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
    for (int slot = 0; slot < kSlots; ++slot) free_at.push(0);
    std::vector<std::vector<double>> intervals(minutes);
    for (double at = 0;;) {
        at += random.exponential() / (utilization * kSlots);
        const auto minute = static_cast<std::size_t>(at / 60);
        if (minute >= minutes) return intervals;
        const double start = std::max(at, free_at.top());
        free_at.pop();
        free_at.push(start + .5 + random.uniform());
        intervals[minute].push_back(start - at + .02);
    }
}

TEST(DriftTracker, an_even_server_drifts_in_at_most_one_interval_of_a_hundred) {
    for (const double utilization : {.5, .8, .9}) {
        std::size_t judged = 0;
        std::size_t drifted = 0;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            DriftTracker tracker(std::nullopt);
            for (const auto& values : minutes_of(utilization, 120, seed)) {
                const auto drift = tracker.add(values);
                judged += drift ? 1 : 0;
                drifted += drift && drift->drifted ? 1 : 0;
            }
        }
        EXPECT_GT(judged, 2000U);
        EXPECT_LE(static_cast<double>(drifted), .01 * static_cast<double>(judged)) << utilization;
    }
}

TEST(DriftTracker, the_first_intervals_are_the_reference_where_none_is_given) {
    Random random(3);
    DriftTracker tracker(std::nullopt);
    int interval = 0;
    for (; interval < 10; ++interval) EXPECT_FALSE(tracker.add(around(.01, 6, random))) << interval;
    for (; interval < 20; ++interval) {
        const auto drift = tracker.add(around(.01, 6, random));
        ASSERT_TRUE(drift) << interval;
        EXPECT_FALSE(drift->drifted) << interval;
        EXPECT_LE(drift->ci95.low, drift->ratio);
        EXPECT_GE(drift->ci95.high, drift->ratio);
    }
    EXPECT_FALSE(tracker.add(around(.02, 6, random))->drifted) << "one interval alone decides nothing";
    EXPECT_TRUE(tracker.add(around(.02, 6, random))->drifted)
        << "twice as slow is named in the second interval";
    EXPECT_FALSE(tracker.add(around(.01, 6, random))->drifted);
}

TEST(DriftTracker, a_change_that_is_certain_and_too_small_to_matter_is_no_drift) {
    DriftTracker tracker(DriftReference{.means = {.n = 10, .mean = 0, .standard_deviation = .001}});
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(tracker.add(std::vector<double>(50, 1.05))->drifted);
    EXPECT_FALSE(tracker.add(std::vector<double>(50, .5))->drifted);
    EXPECT_TRUE(tracker.add(std::vector<double>(50, .5))->drifted) << "faster is a drift too";
}

TEST(DriftTracker, compares_with_the_reference_that_is_given_from_the_first_interval_on) {
    Random random(4);
    DriftTracker tracker(drift_reference(around(.01, 100, random)));
    EXPECT_FALSE(tracker.add(around(.01, 10, random))->drifted);
    EXPECT_FALSE(tracker.add({})) << "an interval without requests says nothing";
    EXPECT_FALSE(tracker.add(around(.03, 10, random))->drifted);
    EXPECT_TRUE(tracker.add(around(.03, 10, random))->drifted);
}

TEST(DriftReference, needs_four_values_that_have_a_logarithm) {
    EXPECT_FALSE(drift_reference(std::vector<double>{0, -1, std::nan(""), INFINITY, 1, 1, 1}));
    const auto reference = drift_reference(std::vector<double>{0, -1, std::nan(""), INFINITY, 1, 1, 1, 1});
    ASSERT_TRUE(reference);
    EXPECT_EQ(reference->means.n, 2U);
    EXPECT_EQ(reference->variance_within, 0);
}

}  // namespace
}  // namespace paretoken::experiments
