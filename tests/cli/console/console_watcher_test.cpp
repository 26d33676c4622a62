#include "cli/console/console_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result/result.h"
#include "reports/analysis/sweep/sweep.h"

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

TEST(PointText, has_the_figures_and_beside_a_warning_its_reason_and_the_directory) {
    reports::SweepPoint point{.load_label = "c=4", .state = reports::PointState::done};
    point.output_tokens_per_s = 1230;
    point.ttft_p50_s = 0.0412;
    point.ttft_p99_s = 0.0601;
    point.itl_p50_s = 0.00832;
    point.requests = 100;
    point.slo = SloVerdict::within;
    EXPECT_EQ(point_text(point, "runs/c0004"),
              "c=4: 1,230 tok/s, TTFT 41.2 (p99 60.1) ms, ITL 8.32 (p99 –) ms, SLO within");
    point.failed = 3;
    point.slo = SloVerdict::insufficient;
    point.verdict = Verdict::warn;
    point.note = "the loop was late";
    EXPECT_THAT(point_text(point, "d"), AllOf(HasSubstr("3 of 100 failed"), HasSubstr("SLO insufficient"),
                                              HasSubstr("warn: the loop was late; d")));
}

TEST(PointText, of_a_failed_point_has_its_error) {
    const reports::SweepPoint point{
        .load_label = "c=4", .state = reports::PointState::failed, .error = "no memory left"};
    EXPECT_THAT(point_text(point, "d"), AllOf(HasSubstr("c=4: failed: no memory left"), HasSubstr("d")));
}

}  // namespace
}  // namespace paretoken::cli
