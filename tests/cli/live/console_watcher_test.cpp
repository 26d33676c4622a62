#include "cli/live/console_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TimeLeft, follows_from_what_the_points_took) {
    EXPECT_EQ(time_left(0, 0, 4), std::nullopt);
    EXPECT_EQ(time_left(60, 2, 4), 120);
    EXPECT_EQ(time_left(3600, 1, 2), 7200);
}

TEST(PointText, has_the_figures_the_reason_of_a_warning_and_the_directory) {
    reports::SweepPoint point{.load_label = "c=4", .state = reports::PointState::done};
    point.requests_per_s = 12.5;
    point.ttft_p50_s = 0.25;
    point.requests = 100;
    EXPECT_THAT(point_text(point, "runs/c0004"),
                AllOf(HasSubstr("c=4: 12.5 req/s"), HasSubstr("TTFT p50 250 p99 – ms"),
                      HasSubstr("runs/c0004"), Not(HasSubstr("failed"))));
    point.failed = 3;
    point.slo = SloVerdict::insufficient;
    point.verdict = Verdict::warn;
    point.note = "the loop was late";
    EXPECT_THAT(point_text(point, "d"), AllOf(HasSubstr("3 of 100 failed"), HasSubstr("SLO insufficient"),
                                              HasSubstr("warn: the loop was late")));
}

TEST(PointText, of_a_failed_point_has_its_error) {
    const reports::SweepPoint point{
        .load_label = "c=4", .state = reports::PointState::failed, .error = "no memory left"};
    EXPECT_THAT(point_text(point, "d"), AllOf(HasSubstr("c=4: failed: no memory left"), HasSubstr("d")));
}

}  // namespace
}  // namespace paretoken::cli
