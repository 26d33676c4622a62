#include "reports/analysis/gate/decision/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/analysis/gate/gate_runs.h"

namespace paretoken::reports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

GateReport against_itself(std::size_t pairs, double noise, const sample::Factors& candidate = {}) {
    const GatePolicy policy = default_policy();
    return decided(policy, {.baseline = sample::gate_runs(pairs, {}, noise, 1, "b"),
                            .candidate = sample::gate_runs(pairs, candidate, noise, 2, "c"),
                            .design = GateDesign::pairs,
                            .looks = one_look(policy, pairs)});
}

const SelfTestRow& row(const SelfTest& test, const std::string& metric) {
    return *std::find_if(test.rows.begin(), test.rows.end(),
                         [&](const SelfTestRow& one) { return one.metric == metric; });
}

TEST(SelfTest, measures_the_noise_of_a_pair_and_says_what_more_pairs_would_show) {
    const SelfTest test = self_test_of(default_policy(), against_itself(200, .01), std::nullopt);
    const SelfTestRow& ttft = row(test, "ttft_p50");
    EXPECT_NEAR(ttft.noise, .01 * std::sqrt(2), .002);
    EXPECT_GT(ttft.shown[0], ttft.shown[1]);
    EXPECT_GT(ttft.shown[1], ttft.shown[2]);
    EXPECT_GT(ttft.shown[2], ttft.limit) << "nothing within the tolerance is ever a fail";
    EXPECT_LT(ttft.shown[2], .12);
    ASSERT_TRUE(ttft.pairs_to_pass);
    EXPECT_GE(*ttft.pairs_to_pass, 3U);
    EXPECT_FALSE(ttft.shown_by_store);
    EXPECT_EQ(test.stored_runs, 0U);
}

TEST(SelfTest, more_noise_shows_less_and_needs_more_pairs) {
    const SelfTest quiet = self_test_of(default_policy(), against_itself(6, .003), std::nullopt);
    const SelfTest noisy = self_test_of(default_policy(), against_itself(6, .1), std::nullopt);
    EXPECT_GT(row(noisy, "itl_p50").shown[2], 2 * row(quiet, "itl_p50").shown[2]);
    EXPECT_GT(row(noisy, "itl_p50").pairs_to_pass.value_or(1001), *row(quiet, "itl_p50").pairs_to_pass);
    EXPECT_THAT(answer_of(quiet),
                AllOf(StartsWith("A gate of 16 pairs shows"), HasSubstr("Equal builds pass")));
    EXPECT_THAT(answer_of(noisy), HasSubstr("too much for their tolerance"));
}

TEST(SelfTest, a_gate_with_the_pairs_that_it_names_passes_equal_builds) {
    const SelfTest test = self_test_of(default_policy(), against_itself(16, .01), std::nullopt);
    std::uint64_t enough = 0;
    for (const SelfTestRow& one : test.rows) enough = std::max(enough, one.pairs_to_pass.value_or(1000));
    ASSERT_LE(enough, 16U);
    GatePolicy policy = default_policy();
    policy.max_pairs = 16;
    int passes = 0;
    constexpr int kGates = 20;
    for (std::uint64_t seed = 10; seed < 10 + kGates; ++seed) {
        const GateReport report =
            decided(policy, {.baseline = sample::gate_runs(16, {}, .01, seed, "b"),
                             .candidate = sample::gate_runs(16, {}, .01, seed + 100, "c"),
                             .design = GateDesign::pairs,
                             .looks = looks_of(policy)});
        passes += report.verdict == GateVerdict::pass ? 1 : 0;
    }
    EXPECT_GE(passes, kGates * 9 / 10);
}

TEST(SelfTest, says_how_long_a_gate_takes_if_the_time_of_a_pair_is_known) {
    GateReport report = against_itself(6, .003);
    report.pair_s = 30;
    EXPECT_THAT(answer_of(self_test_of(default_policy(), report, std::nullopt)),
                HasSubstr("A gate of 16 pairs (8 minutes)"));
}

TEST(SelfTest, of_a_server_that_differs_from_itself_says_that_first) {
    const SelfTest test =
        self_test_of(default_policy(), against_itself(6, .002, {{"ttft", 1.5}}), std::nullopt);
    EXPECT_THAT(answer_of(test), StartsWith("The server differs from itself in Time to first token"));
}

}  // namespace
}  // namespace paretoken::reports
