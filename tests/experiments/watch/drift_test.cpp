#include "experiments/watch/drift.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace paretoken::experiments {
namespace {

/// Returns values around `typical`, up to a third of it up or down.
std::vector<double> around(double typical, std::size_t n, Random& random) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(typical * std::exp(.6 * (random.uniform() - .5)));
    return values;
}

TEST(Drift, the_ratio_of_geometric_means_lies_in_its_interval) {
    Random random(1);
    int held = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
        const Moments reference = DriftTracker::logarithmic(around(.010, 60, random));
        const Moments now = DriftTracker::logarithmic(around(.013, 10, random));
        const auto drift = drift_between(reference, now);
        ASSERT_TRUE(drift);
        EXPECT_LE(drift->ci95.low, drift->ratio);
        EXPECT_GE(drift->ci95.high, drift->ratio);
        held += drift->ci95.low <= 1.3 && 1.3 <= drift->ci95.high ? 1 : 0;
    }
    EXPECT_NEAR(held / static_cast<double>(kTrials), .95, .03);
}

TEST(Drift, is_named_only_when_the_whole_interval_is_beyond_a_tenth) {
    const auto of = [](double mean, double deviation) {
        return drift_between({.n = 100, .mean = 0, .standard_deviation = .1},
                             {.n = 10, .mean = std::log(mean), .standard_deviation = deviation})
            ->drifted;
    };
    EXPECT_TRUE(of(1.5, .1));
    EXPECT_TRUE(of(.6, .1));
    EXPECT_FALSE(of(1.05, .001)) << "certain, and too small to matter";
    EXPECT_FALSE(of(1.5, 1)) << "large, and not certain";
}

TEST(Drift, needs_two_values_on_each_side) {
    EXPECT_FALSE(drift_between({.n = 1, .mean = 0}, {.n = 5, .mean = 0}));
    EXPECT_FALSE(drift_between({.n = 5, .mean = 0}, {.n = 1, .mean = 0}));
    const auto exact = drift_between({.n = 5, .mean = 0}, {.n = 5, .mean = std::log(2)});
    EXPECT_NEAR(exact->ci95.low, 2, 1e-12) << "values that do not vary leave no doubt";
    EXPECT_TRUE(exact->drifted);
}

TEST(DriftTracker, the_first_intervals_are_the_reference_where_none_is_given) {
    Random random(3);
    DriftTracker tracker(std::nullopt);
    int interval = 0;
    for (; interval < 4; ++interval) EXPECT_FALSE(tracker.add(around(.01, 6, random))) << interval;
    for (; interval < 12; ++interval) {
        const auto drift = tracker.add(around(.01, 6, random));
        ASSERT_TRUE(drift) << interval;
        EXPECT_FALSE(drift->drifted) << interval;
    }
    bool named = false;
    for (int after = 0; after < 3; ++after) {
        const auto drift = tracker.add(around(.02, 6, random));
        named = named || (drift && drift->drifted);
    }
    EXPECT_TRUE(named) << "twice as slow is named within three intervals";
}

TEST(DriftTracker, compares_with_the_reference_that_is_given_from_the_first_interval_on) {
    Random random(4);
    DriftTracker tracker(DriftTracker::logarithmic(around(.01, 100, random)));
    EXPECT_FALSE(tracker.add(around(.01, 10, random))->drifted);
    EXPECT_FALSE(tracker.add({})->drifted) << "an interval without requests leaves the one before";
    for (int i = 0; i < 20; ++i) (void)tracker.add({});
    EXPECT_FALSE(tracker.add({})) << "and not for ever";
}

TEST(DriftTracker, values_that_have_no_logarithm_are_left_out) {
    const std::vector<double> values{0, -1, std::nan(""), INFINITY, 1, 1};
    EXPECT_EQ(DriftTracker::logarithmic(values).n, 2U);
}

}  // namespace
}  // namespace paretoken::experiments
