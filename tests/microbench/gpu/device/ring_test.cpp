#include "microbench/gpu/device/ring.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr RingLimits kH200{.l2_bytes = 60 * kMiB, .free_bytes = 139ULL << 30};

TEST(Ring, holds_five_times_the_l2_and_a_gibibyte) {
    for (const std::uint64_t copy : {3 * kMiB, 9 * kMiB, 33 * kMiB, 117 * kMiB, 1000 * kMiB, 5000 * kMiB}) {
        const auto plan = ring_plan(copy, kH200);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->bytes, plan->copies * copy);
        EXPECT_GE(plan->bytes, 1024 * kMiB);
        EXPECT_LT(plan->bytes, 1024 * kMiB + copy);
    }
    const auto large_l2 = ring_plan(10 * kMiB, {.l2_bytes = 512 * kMiB, .free_bytes = 64ULL << 30});
    EXPECT_GE(large_l2->bytes, 5 * 512 * kMiB);
}

TEST(Ring, is_larger_where_there_is_memory_but_not_by_copies_without_end) {
    EXPECT_EQ(least_ring_bytes(kH200.free_bytes), 4096 * kMiB);
    EXPECT_EQ(least_ring_bytes(24'000'000'000), 1024 * kMiB);
    RingLimits limits = kH200;
    limits.least_bytes = 4096 * kMiB;
    for (const std::uint64_t copy : {5 * kMiB, 33 * kMiB, 537 * kMiB, 5000 * kMiB}) {
        EXPECT_GE(ring_plan(copy, limits)->bytes, 4096 * kMiB);
        EXPECT_LT(ring_plan(copy, limits)->bytes, 4096 * kMiB + copy);
    }
    EXPECT_EQ(ring_plan(kMiB, limits)->copies, limits.most_copies_for_least);
    const auto small = ring_plan(kMiB / 10, limits);
    EXPECT_GE(small->bytes, 5 * limits.l2_bytes)
        << "the ring holds five times the L2, regardless of the number of copies";
    limits.scale = 2;
    EXPECT_EQ(ring_plan(kMiB, limits)->copies, 2 * limits.most_copies_for_least);
    EXPECT_EQ(ring_plan(kMiB / 10, limits)->copies, std::min(2 * small->copies, limits.most_copies));
}

TEST(Ring, takes_no_more_than_the_device_has_and_nothing_when_not_one_copy_fits) {
    EXPECT_EQ(ring_plan(100 * kMiB, {.l2_bytes = 50 * kMiB, .free_bytes = 500 * kMiB})->copies, 4u);
    EXPECT_FALSE(ring_plan(100 * kMiB, {.l2_bytes = 50 * kMiB, .free_bytes = 100 * kMiB}));
    EXPECT_EQ(ring_plan(16, kH200)->copies, kH200.most_copies);
}

TEST(Ring, a_graph_is_long_enough_and_made_of_whole_rounds) {
    for (const double launch_s : {2e-6, 10e-6, 250e-6, 1e-3, 20e-3}) {
        for (const std::size_t copies : {1U, 2U, 9U, 100U}) {
            const std::size_t launches = launches_per_graph(launch_s, copies);
            EXPECT_TRUE(launches % copies == 0 || launches == ReplayTimes{}.most_launches);
            EXPECT_TRUE(static_cast<double>(launches) * launch_s >= 5e-3 * .999 ||
                        launches == ReplayTimes{}.most_launches);
            EXPECT_LT(static_cast<double>(launches) * launch_s,
                      5e-3 + launch_s * static_cast<double>(copies + 1));
        }
    }
    EXPECT_EQ(launches_per_graph(0, 3), ReplayTimes{}.most_launches);
}

TEST(Ring, a_graph_that_was_planned_at_low_clocks_is_made_as_long_as_it_should_be) {
    constexpr double kReal = 4e-6;
    for (const double slower : {1.0, 1.3, 3.0, 5.0}) {
        for (const std::size_t copies : {1U, 9U, 100U}) {
            const std::size_t planned = launches_per_graph(slower * kReal, copies);
            const std::size_t launches =
                corrected_launches(planned, static_cast<double>(planned) * kReal, copies);
            EXPECT_GE(static_cast<double>(launches) * kReal, .7 * ReplayTimes{}.replay_s);
            EXPECT_GE(launches, planned);
            EXPECT_EQ(launches % copies, 0u);
            if (slower < 1.4) {
                EXPECT_EQ(launches, planned) << "the graph is long enough and is not captured again";
            }
        }
    }
    EXPECT_EQ(corrected_launches(100, 1, 10), 100u) << "the number of launches never falls";
}

/// Points with time = launch_s + bytes / speed, which is how long copies took on an H200.
std::vector<CeilingPoint> line(double launch_s, double speed) {
    std::vector<CeilingPoint> points;
    for (const double mib : {1, 4, 16, 64, 256, 1024})
        points.push_back({mib * 1048576, launch_s + mib * 1048576 / speed});
    return points;
}

TEST(CeilingCurve, gives_back_the_line_it_was_measured_on) {
    const auto points = line(3.6e-6, 4.14e12);
    EXPECT_NEAR(asymptotic_speed(points), 4.14e12, 1e6);
    for (const double mib : {2.0, 9.0, 33.0, 117.0, 900.0, 3000.0}) {
        EXPECT_NEAR(ceiling_seconds(points, mib * 1048576), 3.6e-6 + mib * 1048576 / 4.14e12, 1e-9) << mib;
    }
}

TEST(CeilingCurve, never_promises_more_than_full_speed) {
    auto points = line(3.6e-6, 4.14e12);
    points[0].seconds = 5e-6;  // noise: the smaller size takes longer than the next one
    points[1].seconds = 4.2e-6;
    for (const double mib : {0.01, 0.5, 1.0, 3.0, 50.0}) {
        EXPECT_GE(ceiling_seconds(points, mib * 1048576), mib * 1048576 / asymptotic_speed(points));
    }
}

TEST(CeilingCurve, survives_a_largest_size_that_was_no_slower) {
    std::vector<CeilingPoint> points{{1e6, 1e-6}, {2e6, 1e-6}};
    EXPECT_EQ(asymptotic_speed(points), 2e12);
    EXPECT_TRUE(std::isfinite(ceiling_seconds(points, 4e6)));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
