#include "cli/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProgressText, SaysHowFarHowFastAndHowLongStill) {
    loadgen::Progress progress;
    progress.warming_up = false;
    progress.finished = 25;
    progress.in_flight = 8;
    progress.output_tokens = 3000;
    const std::string text = progress_text("c=8", progress, {.requests = 100}, std::chrono::seconds(30));
    EXPECT_THAT(text, HasSubstr("25/100 requests"));
    EXPECT_THAT(text, HasSubstr("8 in flight"));
    EXPECT_THAT(text, HasSubstr("100 tok/s"));
    EXPECT_THAT(text, HasSubstr("ETA 1:30"));
    EXPECT_THAT(text, Not(HasSubstr("failed")));
    EXPECT_LT(text.size(), 80U);
}

TEST(ProgressText, TakesTheNearerLimitForTheTimeLeft) {
    loadgen::Progress progress;
    progress.warming_up = false;
    progress.finished = 10;
    const loadgen::Limits limits{.requests = 1000, .duration = std::chrono::seconds(60)};
    EXPECT_THAT(progress_text("x", progress, limits, std::chrono::seconds(45)), HasSubstr("ETA 0:15"));
}

TEST(ProgressText, NamesFailuresAndWarmUp) {
    loadgen::Progress progress;
    EXPECT_THAT(progress_text("x", progress, {}, std::chrono::seconds(1)), HasSubstr("warming up"));
    progress.warming_up = false;
    progress.failed = 3;
    EXPECT_THAT(progress_text("x", progress, {}, std::chrono::seconds(1)), HasSubstr("3 failed"));
}

}  // namespace
}  // namespace paretoken::cli
