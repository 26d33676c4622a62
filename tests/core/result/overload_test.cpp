#include "core/result/overload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result/figures.h"

namespace paretoken {
namespace {

using ::testing::HasSubstr;

TEST(Overload, is_not_told_of_a_short_window_in_which_few_requests_arrived_by_chance) {
    RunResult run;
    run.request_rate = 27.1;
    run.throughput.set(figure::kRequests, 24.5);
    EXPECT_EQ(served_text(run), "served 24.5 of 27.1 req/s");
    run.window.begin_s = 2;
    run.window.end_s = 12;
    run.window.steady = true;
    run.counts.in_window = 246;
    EXPECT_EQ(served_text(run), "served 24.5 of the 24.6 req/s that arrived");
    EXPECT_EQ(overload_text(run), "");
    run.throughput.set(figure::kRequests, 24.7);
    EXPECT_EQ(served_text(run), "") << "no server answers more than arrive";
    run.throughput.set(figure::kRequests, 24.5);
    run.window.overloaded = true;
    EXPECT_THAT(overload_text(run), HasSubstr("(served 24.5 of 27.1 req/s)"));
}

}  // namespace
}  // namespace paretoken
