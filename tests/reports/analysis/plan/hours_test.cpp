#include "reports/analysis/plan/hours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

namespace paretoken::reports {
namespace {

/// A week whose days have a quiet night and a busy afternoon.
std::vector<double> week(double least, double most) {
    std::vector<double> hours(168);
    for (std::size_t hour = 0; hour < hours.size(); ++hour) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(hour) / 24;
        hours[hour] = least + (most - least) * (1 - std::cos(angle)) / 2;
    }
    return hours;
}

/// The rule for servers of which each has 50 requests in flight with `used` of them per second.
ScalingRule rule_with(double used, double cold_start_s, std::uint64_t most = 100) {
    return {.in_flight_target = 50,
            .seconds_in_flight = 50 / used,
            .least = 1,
            .most = most,
            .cold_start_s = cold_start_s};
}

TEST(Hours, EveryHourHasTheFewestServersThatCarryIt) {
    const std::vector<double> hours = week(3, 90);
    const Staircase stairs = staircase_of(hours, 10, .7, {});
    ASSERT_EQ(stairs.servers.size(), hours.size());
    for (std::size_t hour = 0; hour < hours.size(); ++hour) {
        const auto servers = static_cast<double>(stairs.servers[hour]);
        EXPECT_GE(servers * 7, hours[hour] * (1 - 1e-9));
        EXPECT_LT((servers - 1) * 7, hours[hour]);
    }
    EXPECT_EQ(staircase_of({0, 5}, 10, 1, {}).servers.front(), 1U) << "a service needs a server";
}

TEST(Hours, AllServersOfAnHourAreReservedOnDemandOrSpot) {
    std::vector<double> hours = week(3, 90);
    hours.front() = 500;  // one hour that no rule of percentiles covers
    const Staircase stairs = staircase_of(hours, 10, 1, {});
    const double most = *std::max_element(stairs.servers.begin(), stairs.servers.end());
    EXPECT_EQ(stairs.reserved + stairs.on_demand + stairs.spot, most);
    EXPECT_GT(stairs.spot, 30U);
    std::vector<std::uint64_t> sorted = stairs.servers;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_LE(sorted[84], stairs.reserved + 1) << "the median is reserved";
    EXPECT_LE(sorted[158], stairs.reserved + stairs.on_demand) << "and 95 % are reserved or on demand";
}

TEST(Hours, TheBillIsThatOfEveryKindOfRentForItsHours) {
    // 20 hours with 2 servers, 18 with 4, and 2 with 7: of 40 the median is 3 and the 95th percentile 4.15.
    std::vector<double> hours(20, 20);
    hours.insert(hours.end(), 18, 40);
    hours.insert(hours.end(), 2, 70);
    const Staircase stairs = staircase_of(hours, 10, 1, {.reserved = 1, .on_demand = 2, .spot = .5});
    EXPECT_EQ(stairs.reserved, 3U);
    EXPECT_EQ(stairs.on_demand, 2U);
    EXPECT_EQ(stairs.spot, 2U);
    EXPECT_NEAR(stairs.on_demand_per_hour, (18 * 1 + 2 * 2) / 40., 1e-12);
    EXPECT_NEAR(stairs.spot_per_hour, 2 * 2 / 40., 1e-12);
    EXPECT_NEAR(*stairs.usd_per_month, 720 * (3 * 1 + .55 * 2 + .1 * .5), 1e-9);
    EXPECT_NEAR(*stairs.usd_of_peak_per_month, 720 * 7 * 2., 1e-9);
    EXPECT_FALSE(staircase_of(hours, 10, 1, {.reserved = 1, .on_demand = 2}).usd_per_month)
        << "no other basis takes the place of a missing one";
    EXPECT_TRUE(staircase_of({20, 20}, 10, 1, {.reserved = 1}).usd_per_month);
}

TEST(Hours, AnAutoscalerFollowsADemandThatChangesSlowly) {
    const ScaledServers scaled = scaled_servers(week(10, 90), 10, .7, rule_with(7, 60));
    EXPECT_EQ(scaled.missed, 0);
    EXPECT_LE(scaled.most_servers, 15U) << "90 ÷ 7, and a tenth more before it acts";
    EXPECT_GT(scaled.idle, .2) << "a reserve of 30 % is idle";
    EXPECT_LT(scaled.idle, .45);
    EXPECT_NEAR(scaled.servers_per_hour, 50 / 7., 1.5);
}

TEST(Hours, SlowerStartsMissMoreAndNeverLess) {
    std::vector<double> jump(6, 10);
    for (std::size_t hour = 3; hour < 6; ++hour) jump[hour] = 400;
    double before = -1;
    double waited = -1;
    for (const double cold_start_s : {0., 300., 1200.}) {
        const ScaledServers scaled = scaled_servers(jump, 10, .9, rule_with(9, cold_start_s));
        EXPECT_GE(scaled.missed, before);
        EXPECT_GE(scaled.longest_wait_s, waited);
        before = scaled.missed;
        waited = scaled.longest_wait_s;
    }
    EXPECT_GT(before, .02);
    EXPECT_GT(waited, 10);
}

TEST(Hours, TheNumberOfServersFollowsFromTheTimeInFlightAlsoIfTheTargetIsSmall) {
    for (const double load : {3., 10., 40.})
        for (const double share : {.5, .8})
            for (const double seconds : {.004, .03, .09}) {
                const ScalingRule exact{.in_flight_target = load * share * seconds,
                                        .seconds_in_flight = seconds,
                                        .least = 1,
                                        .most = 1000};
                const double rate = 50 * load * share;
                EXPECT_NEAR(scaled_servers({rate, rate}, load, share, exact).servers_per_hour, 50, 1e-9);
                ScalingRule rounded = exact;
                rounded.in_flight_target = exact.in_flight_target / 2;
                EXPECT_NEAR(scaled_servers({rate, rate}, load, share, rounded).servers_per_hour, 100, 1)
                    << "a target that is rounded down has more servers";
            }
}

TEST(Hours, ADecisionAtMostDoublesTheServersOrAddsFour) {
    // 10 requests per second for 100 s each are 1000 servers, which are reached after 5, 10, 20, … and 640.
    const ScaledServers scaled =
        scaled_servers({10}, 10, 1, {.in_flight_target = 1, .seconds_in_flight = 100, .most = 1000});
    EXPECT_EQ(scaled.most_servers, 1000U);
    EXPECT_NEAR(scaled.servers_per_hour, (1 + 15 * 1275 + 3479 * 1000.) / 3600, 1e-9);
}

TEST(Hours, TooFewServersMissMostAndAreNeverIdle) {
    const ScaledServers scaled = scaled_servers({100, 100, 100}, 10, 1, rule_with(10, 0, 5));
    EXPECT_GT(scaled.missed, .99);
    EXPECT_EQ(scaled.most_servers, 5U);
    EXPECT_NEAR(scaled.idle, 0, 1e-9);
    const ScaledServers fixed = scaled_servers(
        {1, 1}, 10, 1, {.in_flight_target = 50, .seconds_in_flight = 5, .least = 4, .most = 4});
    EXPECT_NEAR(fixed.idle, 1 - 1 / 40., 1e-9);
    EXPECT_DOUBLE_EQ(fixed.servers_per_hour, 4);
}

}  // namespace
}  // namespace paretoken::reports
