#include "reports/analysis/gate/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One run per day, with the given factors on TTFT.
std::vector<GateRun> days_of(const std::vector<double>& ttft) {
    std::vector<GateRun> runs;
    for (std::size_t i = 0; i < ttft.size(); ++i) {
        runs.push_back(sample::gate_run({{"ttft", ttft[i]}}));
        runs.back().result.provenance.started_at = fmt::format("2026-11-{:02}T09:00:00Z", i + 1);
    }
    return runs;
}

TEST(GateHistory, holds_the_spread_between_days) {
    const GateHistory history = history_of(default_policy(), days_of({1, 1.1, .9, 1.05, .95}));
    const DaySpread spread = history.day_spread.at("ttft_p50");
    EXPECT_EQ(spread.days, 5U);
    EXPECT_NEAR(spread.deviation, .079, .005);
    EXPECT_EQ(history.day_spread.at("itl_p50").deviation, 0);
    EXPECT_THAT(history.trends, IsEmpty());
    EXPECT_TRUE(history_of(default_policy(), days_of({1, 2})).day_spread.empty()) << "too few days";
}

TEST(GateHistory, names_what_creeps_and_nothing_that_improves_or_jumps_about) {
    const auto trends = [](const std::vector<double>& ttft) {
        return history_of(default_policy(), days_of(ttft)).trends;
    };
    EXPECT_THAT(trends({1, 1.05, 1.1, 1.2, 1.25, 1.3, 1.4, 1.5}),
                Contains(HasSubstr("Time to first token, p95")));
    EXPECT_THAT(trends({1.5, 1.4, 1.3, 1.25, 1.2, 1.1, 1.05, 1}), IsEmpty());
    EXPECT_THAT(trends({1, 1.2, .9, 1.1, .95, 1.15, 1, 1.05}), IsEmpty());
}

TEST(GateHistory, widens_the_intervals_of_runs_of_two_days) {
    const GatePolicy policy = default_policy();
    GateInput input{.baseline = sample::gate_runs(5, {}, .003, 1, "b"),
                    .candidate = sample::gate_runs(5, {{"ttft", 1.15}}, .003, 1, "c"),
                    .design = GateDesign::two_sets,
                    .looks = one_look(policy, 5)};
    const auto ttft = [&] { return decided(policy, input).rows.at(1); };
    EXPECT_EQ(ttft().verdict, GateVerdict::fail);
    input.day_spread = history_of(policy, days_of({1, 1.1, .9, 1.05, .95})).day_spread;
    EXPECT_EQ(ttft().verdict, GateVerdict::inconclusive) << "days differ as much";
    EXPECT_THAT(decided(policy, input).notes, Contains(HasSubstr("5 days")));
}

}  // namespace
}  // namespace paretoken::reports
