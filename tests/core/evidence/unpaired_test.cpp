#include "core/evidence/unpaired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace paretoken {
namespace {

TEST(UnpairedShift, is_welchs) {
    // Welch's degrees of freedom as in the NIST/SEMATECH e-Handbook, computed by hand for these values.
    const Shift shift = unpaired_shift(std::vector<double>{1, 2, 3}, std::vector<double>{2, 4, 6, 8});
    EXPECT_DOUBLE_EQ(shift.mean, 3);
    EXPECT_NEAR(shift.standard_error, std::sqrt(1.0 / 3 + 20.0 / 12), 1e-12);
    EXPECT_NEAR(shift.degrees_of_freedom, 4.0 / (1.0 / 18 + 25.0 / 27), 1e-9);
}

TEST(UnpairedShift, of_values_that_do_not_vary_has_no_error) {
    const Shift shift = unpaired_shift(std::vector<double>{1, 1}, std::vector<double>{2, 2});
    EXPECT_EQ(shift.standard_error, 0);
    EXPECT_EQ(p_above(shift, .5), 0);
    EXPECT_EQ(p_above(shift, 1), 1) << "exactly at the limit is not above it";
    EXPECT_EQ(p_below(shift, 2), 0);
}

TEST(VarianceBetween, is_that_of_the_means_without_the_part_of_the_noise_within) {
    const std::vector<Session> equal{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
    EXPECT_EQ(variance_between(equal)->value, 0);
    const std::vector<Session> apart{{1}, {2}, {3}};
    EXPECT_DOUBLE_EQ(variance_between(apart)->value, 1);
    EXPECT_DOUBLE_EQ(variance_between(apart)->degrees_of_freedom, 2);
    EXPECT_FALSE(variance_between(std::vector<Session>{{1}, {2}})) << "two sessions tell too little";
    // On average over many draws the estimate is the truth: .02 between, .01 within, 4 runs a session.
    Random random(1);
    double sum = 0;
    constexpr int kDraws = 2000;
    for (int draw = 0; draw < kDraws; ++draw) {
        std::vector<Session> sessions(6);
        for (Session& session : sessions) {
            const double level = .02 * random.normal();
            for (int i = 0; i < 4; ++i) session.push_back(level + .01 * random.normal());
        }
        sum += variance_between(sessions)->value;
    }
    EXPECT_NEAR(sum / kDraws, .0004, .00002);
}

TEST(WithAssumed, gives_way_to_what_is_measured) {
    EXPECT_DOUBLE_EQ(with_assumed(std::nullopt, .02).value, .0004);
    EXPECT_GT(with_assumed(std::nullopt, .02).degrees_of_freedom, 1e6) << "an assumption has no error";
    const Variance few = with_assumed(Variance{0, 2}, .02);
    const Variance many = with_assumed(Variance{0, 92}, .02);
    EXPECT_NEAR(few.value, .00032, 1e-12);
    EXPECT_NEAR(many.value, .000032, 1e-12);
    EXPECT_NEAR(with_assumed(Variance{.0004, 92}, .02).degrees_of_freedom, 100.0 * 100 / 92, 1e-3);
    EXPECT_NEAR(with_assumed(Variance{1, 9}, .02).degrees_of_freedom, 9, .1) << "the measured part is all";
}

TEST(SetDifference, counts_the_variance_between_sessions_by_how_the_baseline_is_spread_over_them) {
    const Session candidate{1, 2};
    const std::vector<Session> one{{1, 2, 3, 4}};
    const std::vector<Session> four{{1}, {2}, {3}, {4}};
    EXPECT_EQ(set_difference(one, candidate, true).sessions, 0);
    EXPECT_EQ(set_difference(one, candidate, false).sessions, 2);
    EXPECT_EQ(set_difference(four, candidate, false).sessions, 1.25);
    const Variance between{.5, 3};
    const SetDifference difference = set_difference(one, candidate, false);
    const double alone = shift_of(difference, std::nullopt, 2).standard_error;
    EXPECT_NEAR(shift_of(difference, between, 2).standard_error, std::sqrt(alone * alone + 1), 1e-12);
    EXPECT_LT(shift_of(difference, std::nullopt, 20).standard_error, alone);
}

TEST(SetDifference, of_sessions_that_differ_contains_the_truth_in_95_of_100_cases) {
    Random random(7);
    int held = 0;
    constexpr int kDraws = 2000;
    for (int draw = 0; draw < kDraws; ++draw) {
        std::vector<Session> sessions(8);
        for (Session& session : sessions) {
            const double level = .02 * random.normal();
            for (int i = 0; i < 3; ++i) session.push_back(level + .01 * random.normal());
        }
        const double level = .02 * random.normal();
        Session candidate;
        for (int i = 0; i < 4; ++i) candidate.push_back(level + .01 * random.normal());
        const Shift shift =
            shift_of(set_difference(sessions, candidate, false), variance_between(sessions), 4);
        const Interval interval = interval_of(shift);
        held += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
    }
    EXPECT_NEAR(held / static_cast<double>(kDraws), .95, .015);
}

TEST(SetDifference, of_runs_with_the_same_work_is_that_of_pairs) {
    const std::vector<double> before{1, 5, 3, 8};
    const std::vector<double> after{1.2, 5.1, 3.4, 8.1};
    Session baseline;
    Session candidate;
    std::vector<double> shifts;
    for (std::size_t work = 0; work < before.size(); ++work) {
        baseline.emplace_back(before[work], work);
        candidate.emplace_back(after[work], work);
        shifts.push_back(after[work] - before[work]);
    }
    const Shift pairs = paired_shift(shifts);
    const SetDifference difference = set_difference(std::span(&baseline, 1), candidate, true);
    const Shift shift = shift_of(difference, std::nullopt, 4);
    EXPECT_NEAR(shift.mean, pairs.mean, 1e-12);
    EXPECT_NEAR(shift.standard_error, pairs.standard_error, 1e-12);
    EXPECT_NEAR(shift.degrees_of_freedom, 3, 1e-9);
    candidate.pop_back();
    const SetDifference three = set_difference(std::span(&baseline, 1), candidate, true);
    EXPECT_NEAR(three.mean, .7 / 3, 1e-12) << "the fourth run of the baseline has no partner";
    EXPECT_EQ(three.works_left, 1U);
    EXPECT_LT(shift_of(three, std::nullopt, 4).standard_error,
              shift_of(three, std::nullopt, 3).standard_error);
}

TEST(SetDifference, of_equal_values_at_each_work_has_no_error_however_much_the_work_varies) {
    const std::vector<Session> baseline{{{1, 0}, {7, 1}, {4, 2}}, {{1, 0}, {7, 1}, {9, 3}}};
    const Session candidate{{1.5, 0}, {7.5, 1}, {4.5, 2}, {9.5, 3}, {1.5, 0}};
    const Shift shift = shift_of(set_difference(baseline, candidate, true), std::nullopt, 5);
    EXPECT_NEAR(shift.mean, .5, 1e-12);
    EXPECT_NEAR(shift.standard_error, 0, 1e-12);
    EXPECT_NEAR(
        variance_between(std::vector<Session>{{{1, 0}, {7, 1}}, {{7, 1}, {4, 2}}, {{4, 2}, {1, 0}}})->value,
        0, 1e-12);
}

TEST(SetDifference, does_not_consider_the_work_if_it_cannot_be_told_from_the_session_or_the_side) {
    const std::vector<Session> days{{{1, 0}}, {{3, 1}}, {{5, 2}}};
    const Session candidate{{1.5, 0}, {3.5, 1}, {5.5, 2}};
    const SetDifference each_day = set_difference(days, candidate, false);
    EXPECT_NEAR(each_day.mean, .5, 1e-12);
    EXPECT_NEAR(each_day.candidate.value, 4, 1e-12) << "a noise of 0 would be certain of anything";
    EXPECT_EQ(each_day.works_left, 0U);
    const Session others{{2, 3}, {4, 4}, {6, 5}};
    EXPECT_NEAR(set_difference(days, others, false).mean, 1, 1e-12);
}

TEST(SetDifference, of_works_in_turn_contains_the_truth_in_about_95_of_100_cases) {
    struct Case {
        std::size_t sessions;
        std::size_t works;
        std::size_t runs;  // of each session, and of the candidate
        double before;     // noise of the baseline's runs
        double after;      // noise of the candidate's runs
    };
    for (const Case& of : {Case{1, 5, 5, .01, .01}, Case{1, 5, 12, .01, .01}, Case{1, 5, 12, .01, .03},
                           Case{1, 5, 12, .03, .01}, Case{6, 3, 3, .01, .01}, Case{8, 5, 4, .01, .01},
                           Case{8, 5, 4, .01, .03}}) {
        Random random(11);
        int held = 0;
        constexpr int kDraws = 2000;
        for (int draw = 0; draw < kDraws; ++draw) {
            std::vector<double> works(of.works);
            for (double& work : works) work = .2 * random.normal();
            const double effect = of.sessions > 1 ? .02 : 0;
            const auto session = [&](std::size_t runs, double noise) {
                Session values;
                const double level = effect * random.normal();
                for (std::size_t i = 0; i < runs; ++i)
                    values.emplace_back(works[i % of.works] + level + noise * random.normal(), i % of.works);
                return values;
            };
            std::vector<Session> baseline(of.sessions);
            for (Session& one : baseline) one = session(std::min(of.runs, of.works), of.before);
            const Session candidate = session(of.runs, of.after);
            const SetDifference difference = set_difference(baseline, candidate, of.sessions == 1);
            const Interval interval = interval_of(shift_of(difference, variance_between(baseline), of.runs));
            held += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
        }
        EXPECT_GT(held / static_cast<double>(kDraws), .93)
            << of.sessions << " sessions of " << of.works << " works, " << of.runs << " runs of noise "
            << of.after;
    }
}

}  // namespace
}  // namespace paretoken
