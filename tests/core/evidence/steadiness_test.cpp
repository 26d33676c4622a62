#include "core/evidence/steadiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/random.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPoints = 1000;

/// Returns an autoregressive series of mean 1: memory .8, marginal standard deviation 10 %.
std::vector<double> autoregressive(std::uint64_t seed, const std::function<double(double)>& level) {
    constexpr double kMemory = 0.8;
    constexpr double kDeviation = 0.1;
    Random random(seed);
    double noise = kDeviation * random.normal();
    std::vector<double> values;
    for (std::size_t i = 0; i < kPoints; ++i) {
        values.push_back(level(static_cast<double>(i) / kPoints) + noise);
        noise = kMemory * noise + kDeviation * std::sqrt(1 - kMemory * kMemory) * random.normal();
    }
    return values;
}

Course course_of(const std::string& series, const std::vector<double>& values) {
    Course course{series, "the " + series, {}, {}, 0};
    const std::size_t length = values.size() / Course::kMostParts;
    for (std::size_t i = 0; i < Course::kMostParts; ++i) {
        course.means.push_back(moments_of(std::span(values).subspan(i * length, length)).mean);
        course.begins.emplace_back(std::chrono::seconds(i));
    }
    return course;
}

/// Counts how many of 500 runs are judged unsteady, each by `series` independent series, of which the first
/// has the given level.
int unsteady(int series, const std::function<double(double)>& level) {
    constexpr std::uint64_t kRuns = 500;
    int found = 0;
    for (std::uint64_t run = 0; run < kRuns; ++run) {
        bool changed = false;
        for (int i = 0; i < series; ++i) {
            const auto values = autoregressive(
                run * 10 + static_cast<std::uint64_t>(i), i == 0 ? level : [](double) { return 1.0; });
            changed |= steadiness_of(course_of("ttft", values)).change.has_value();
        }
        found += changed ? 1 : 0;
    }
    return found;
}

TEST(Steadiness, of_stationary_runs_is_refused_in_at_most_5_percent_over_all_series) {
    EXPECT_LE(unsteady(4, [](double) { return 1.0; }), 25);
}

TEST(Steadiness, is_refused_for_a_drift_of_20_percent_in_95_percent_of_runs) {
    EXPECT_GE(unsteady(1, [](double share) { return 0.9 + 0.2 * share; }), 475);
}

TEST(Steadiness, is_refused_for_a_shift_of_10_percent_in_95_percent_of_runs) {
    EXPECT_GE(unsteady(1, [](double share) { return share < 0.5 ? 0.95 : 1.05; }), 475);
}

TEST(Steadiness, tells_a_shift_from_a_drift) {
    const auto shifted =
        steadiness_of(course_of("ttft", autoregressive(1, [](double share) { return share < 0.4 ? 1 : 2; })));
    ASSERT_TRUE(shifted.change);
    ASSERT_TRUE(shifted.change->shift);
    EXPECT_EQ(shifted.change->shift->begin, TimePoint(std::chrono::seconds(39)));
    EXPECT_EQ(shifted.change->shift->end, TimePoint(std::chrono::seconds(41)));
    EXPECT_THAT(shifted.change->text, HasSubstr("the ttft rose by 6"));
    ASSERT_EQ(shifted.tests.size(), 2U);
    EXPECT_EQ(shifted.tests[0].test, "trend");
    EXPECT_EQ(shifted.tests[1].test, "pettitt");

    const auto drifting =
        steadiness_of(course_of("ttft", autoregressive(1, [](double share) { return 2 - share; })));
    ASSERT_TRUE(drifting.change);
    EXPECT_FALSE(drifting.change->shift);
    EXPECT_THAT(drifting.change->text, HasSubstr("the ttft fell by 6"));
}

TEST(Steadiness, of_a_change_below_the_one_that_matters_holds_still) {
    auto course = course_of("ttft", autoregressive(1, [](double share) { return share < 0.4 ? 1 : 2; }));
    course.least_change = 1.5;
    EXPECT_FALSE(steadiness_of(course).change);
}

TEST(Steadiness, is_refused_for_smooth_courses_that_are_curved) {
    for (const double power : {.5, 1.0, 2.0, 4.0})
        for (const double change : {-.4, .2, 1.0}) {
            std::vector<double> values;
            for (std::size_t i = 0; i < kPoints; ++i)
                values.push_back(1 + change * std::pow(static_cast<double>(i) / kPoints, power));
            const auto judged = steadiness_of(course_of("ttft", values));
            ASSERT_TRUE(judged.change) << change << " to the power of " << power;
            EXPECT_LT(judged.change->p, .005);
        }
}

TEST(Steadiness, of_a_smooth_course_that_comes_back_is_no_drift) {
    std::vector<double> values;
    for (std::size_t i = 0; i < kPoints; ++i)
        values.push_back(1 + .2 * std::sin(12 * static_cast<double>(i) / kPoints));
    EXPECT_FALSE(steadiness_of(course_of("ttft", values)).change);
}

TEST(Steadiness, of_constant_or_few_values_holds_still) {
    EXPECT_FALSE(steadiness_of({"ttft", "the ttft", std::vector<double>(50, 1.0), {}, 0}).change);
    EXPECT_FALSE(steadiness_of({"ttft", "the ttft", {1, 9}, {}, 0}).change);
    EXPECT_FALSE(steadiness_of({"ttft", "the ttft", {}, {}, 0}).change);
}

}  // namespace
}  // namespace paretoken
