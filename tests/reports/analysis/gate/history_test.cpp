#include "reports/analysis/gate/decision/history.h"

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
    EXPECT_NEAR(history.day_spread.at("itl_p50").deviation, 0, 1e-12);
    EXPECT_THAT(history.trends, IsEmpty());
    EXPECT_TRUE(history_of(default_policy(), days_of({1, 2})).day_spread.empty()) << "too few days";
}

TEST(GateHistory, of_the_spread_between_days_leaves_out_the_effect_of_the_requests) {
    std::vector<GateRun> runs = days_of({1, 1, 1.3, 1.3, 1, 1.3});
    const std::vector<std::uint64_t> seeds{0, 0, 1, 1, 0, 1};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].result.workload.seed = seeds[i];
        runs[i].result.provenance.started_at = fmt::format("2026-11-{:02}T09:{:02}:00Z", i / 2 + 1, i);
    }
    EXPECT_NEAR(history_of(default_policy(), runs).day_spread.at("ttft_p50").deviation, 0, 1e-9);
    for (GateRun& run : runs) run.result.provenance.measured_by = "another program";
    EXPECT_GT(history_of(default_policy(), runs).day_spread.at("ttft_p50").deviation, .05);
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
    EXPECT_EQ(ttft().verdict, GateVerdict::fail) << "all runs are of one day";
    for (GateRun& run : input.candidate) run.result.provenance.started_at = "2026-11-09T09:00:00Z";
    EXPECT_EQ(ttft().verdict, GateVerdict::inconclusive) << "days differ as much";
    EXPECT_THAT(decided(policy, input).notes, Contains(HasSubstr("5 days")));
}

/// Five runs of each side on days of their own, of which the candidate's are `worse` times as slow.
GateInput two_days(double worse) {
    GateInput input{.baseline = sample::gate_runs(5, {}, .001, 1, "b"),
                    .candidate = sample::gate_runs(5, {{"itl", worse}}, .001, 1, "c"),
                    .design = GateDesign::stored,
                    .looks = looks_of(default_policy())};
    for (GateRun& run : input.baseline) run.result.provenance.started_at = "2026-11-01T09:00:00Z";
    for (GateRun& run : input.candidate) run.result.provenance.started_at = "2026-11-02T09:00:00Z";
    return input;
}

GateVerdict verdict_of_itl(const GatePolicy& policy, const GateInput& input) {
    return decided(policy, input).rows.at(2).verdict;
}

TEST(StoredGate, of_an_unknown_day_fails_only_what_a_day_of_the_assumed_spread_does_not_explain) {
    GatePolicy policy = default_policy();
    EXPECT_EQ(verdict_of_itl(policy, two_days(1.08)), GateVerdict::inconclusive);
    EXPECT_EQ(verdict_of_itl(policy, two_days(1.5)), GateVerdict::fail);
    EXPECT_EQ(verdict_of_itl(policy, two_days(1)), GateVerdict::pass) << "an assumption does not undo a pass";
    EXPECT_THAT(decided(policy, two_days(1)).notes, Contains(HasSubstr("A spread of 2 % is assumed")));
    policy.day_spread = 0;
    EXPECT_EQ(verdict_of_itl(policy, two_days(1.08)), GateVerdict::fail);
}

TEST(StoredGate, judges_at_numbers_of_runs_of_the_candidate_whatever_the_baseline_holds) {
    GateInput input = two_days(1);
    input.baseline.resize(3);
    input.looks = {{.pairs = 5, .alpha = .01, .beta = .05}};
    EXPECT_EQ(decided(default_policy(), input).pairs, 5U);
    input.candidate.resize(4);
    EXPECT_EQ(decided(default_policy(), input).pairs, 0U) << "the look is not due yet";
}

TEST(StoredGate, takes_the_spread_between_days_from_the_baseline_itself) {
    GateInput input = two_days(1.05);
    input.baseline = days_of({1, 1.1, .9, 1.05, .95});
    const GateReport report = decided_with_history(default_policy(), input, {}, {});
    EXPECT_THAT(report.notes, Contains(HasSubstr("spread between 5 days")));
}

TEST(StoredGate, ends_if_more_runs_of_the_candidate_would_not_decide) {
    GateInput input = two_days(1.04);
    input.baseline = sample::gate_runs(3, {}, .2, 2, "b");
    input.candidate = sample::gate_runs(8, {}, .001, 3, "c");
    const GateReport report = decided(default_policy(), input);
    EXPECT_EQ(report.verdict, GateVerdict::inconclusive);
    EXPECT_TRUE(more_runs_do_not_decide(report));
    EXPECT_THAT(report.headline, HasSubstr("the stored runs are too few"));
}

}  // namespace
}  // namespace paretoken::reports
