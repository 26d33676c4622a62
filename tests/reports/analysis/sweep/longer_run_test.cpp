#include "reports/analysis/sweep/longer_run.h"

#include <gtest/gtest.h>

#include "core/result/slo.h"

namespace paretoken::reports {
namespace {

/// A limit of 800 ms that a run is within, without showing it.
SloResult open_limit(double worst_s, double times_enough) {
    return {.key = "ttft_p95",
            .p = .95,
            .limit = .8,
            .worst = worst_s,
            .verdict = SloVerdict::within,
            .times_enough = times_enough};
}

TEST(LongerRun, is_offered_with_more_requests_than_half_of_all_runs_need) {
    EXPECT_DOUBLE_EQ(*times_to_offer(open_limit(.9, 10)), 24);
    EXPECT_DOUBLE_EQ(*times_to_offer(open_limit(.9, 1.1)), 4) << "a small factor is a lucky one";
    EXPECT_DOUBLE_EQ(*times_to_offer(open_limit(.7, 10)), 12) << "no request is over the limit";
    SloResult shown = open_limit(.9, 10);
    shown.shown = true;
    EXPECT_EQ(times_to_offer(shown), std::nullopt);
    SloResult unknown = open_limit(.9, 10);
    unknown.times_enough.reset();
    EXPECT_EQ(times_to_offer(unknown), std::nullopt);
}

TEST(LongerRun, is_as_long_as_the_limit_that_needs_most_and_is_none_without_a_steady_state) {
    RunResult run;
    run.window.steady = true;
    SloResult shown = open_limit(.1, 1);
    shown.shown = true;
    SloResult unknown = open_limit(.9, 1);
    unknown.times_enough.reset();
    EXPECT_EQ(times_to_offer(run, {shown}), 1);
    EXPECT_EQ(times_to_offer(run, {shown, unknown}), 2);
    EXPECT_DOUBLE_EQ(*times_to_offer(run, {shown, open_limit(.9, 3), open_limit(.9, 10)}), 24);
    run.window.steady = false;
    EXPECT_EQ(times_to_offer(run, {shown}), 1);
    EXPECT_EQ(times_to_offer(run, {shown, unknown}), std::nullopt);
}

TEST(LongerRun, has_a_time_in_a_unit_that_can_be_read) {
    EXPECT_EQ(span_text(40), "40 seconds");
    EXPECT_EQ(span_text(210), "3.5 minutes");
    EXPECT_EQ(span_text(118800), "33 hours");
}

}  // namespace
}  // namespace paretoken::reports
