#include "cli/console/live_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProgressText, SaysHowFarHowFastAndHowLongStill) {
    loadgen::Progress progress;
    progress.warming_up = false;
    progress.finished = progress.conversations = 25;
    progress.in_flight = 8;
    progress.output_tokens = 3000;
    const std::string text =
        progress_text("c=8", progress, {.requests = 100}, std::chrono::seconds(30), std::chrono::seconds(30));
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
    progress.finished = progress.conversations = 10;
    const loadgen::Limits limits{.requests = 1000, .duration = std::chrono::seconds(60)};
    EXPECT_THAT(progress_text("x", progress, limits, std::chrono::seconds(45), std::chrono::seconds(45)),
                HasSubstr("ETA 0:15"));
    const std::string text =
        progress_text("x", progress, limits, std::chrono::seconds(75), std::chrono::seconds(45));
    EXPECT_THAT(text, HasSubstr("1:15")) << "the time since the load began";
    EXPECT_THAT(text, HasSubstr("ETA 0:15")) << "a warm-up of 30 s is no part of the time that is limited";
    EXPECT_THAT(progress_text("x", progress, limits, std::chrono::seconds(70), std::chrono::seconds(70)),
                Not(HasSubstr("ETA")))
        << "requests may still wait for a slot";
}

TEST(ProgressText, CountsConversationsOfSeveralTurnsBesideTheirRequests) {
    loadgen::Progress progress;
    RequestRecord record;
    for (std::uint32_t turn = 0; turn < 5; ++turn) {
        for (std::uint64_t conversation = 0; conversation < (turn == 0 ? 20 : 15); ++conversation) {
            record.turn = Turn{.conversation = conversation, .number = turn};
            progress.count_start(false);
            progress.count_end(record);
        }
    }
    const std::string text =
        progress_text("c=4", progress, {.requests = 60}, std::chrono::seconds(30), std::chrono::seconds(30));
    EXPECT_THAT(text, HasSubstr("80 requests  20/60 conversations"));
    EXPECT_THAT(text, HasSubstr("ETA 1:00"));
    EXPECT_LT(text.size(), 80U);
}

TEST(ProgressText, NamesFailuresAndWarmUp) {
    loadgen::Progress progress;
    EXPECT_THAT(progress_text("x", progress, {}, std::chrono::seconds(1), std::chrono::seconds(1)),
                HasSubstr("warming up"));
    progress.warming_up = false;
    progress.failed = 3;
    EXPECT_THAT(progress_text("x", progress, {}, std::chrono::seconds(1), std::chrono::seconds(1)),
                HasSubstr("3 failed"));
}

TEST(PanelStateOfALoad, FollowsFromItsCounters) {
    loadgen::Progress progress;
    const TimePoint sent{std::chrono::seconds(1)};
    RequestRecord record;
    record.scheduled = record.started = record.ready = sent;
    record.sent = sent;
    record.first_event = sent + std::chrono::milliseconds(100);
    for (int i = 0; i < 20; ++i)
        record.events.push_back({.time = sent + std::chrono::milliseconds(100 + 10 * i)});
    for (int i = 0; i < 9; ++i) {
        progress.count_start(false);
        progress.count_end(record);
    }
    record.outcome = Outcome::http_error;
    progress.count_start(false);
    progress.count_end(record);
    const PanelState state =
        panel_state("c=1", progress, {.requests = 40}, std::chrono::seconds(10), std::chrono::seconds(10));
    EXPECT_EQ(state.phase, "measuring");
    EXPECT_DOUBLE_EQ(*state.share, .25);
    EXPECT_DOUBLE_EQ(*state.left_s, 30);
    EXPECT_NEAR(seconds(state.ttft->p50), .1, .007);
    EXPECT_NEAR(seconds(state.itl->p95), .01, .0007);
    EXPECT_EQ(state.lag_p95, Duration{});
    EXPECT_THAT(state.failures,
                ::testing::ElementsAre(std::pair<std::string, std::uint64_t>("http_error", 1)));
}

TEST(PanelStateOfALoad, SaysWhenOnlyTheLastAnswersAreMissing) {
    loadgen::Progress progress;
    for (int i = 0; i < 4; ++i) progress.count_start(false);
    const loadgen::Limits limits{.requests = 4};
    EXPECT_EQ(panel_state("x", progress, limits, {}, {}).phase, "last answers");
    progress.count_start(true);
    EXPECT_EQ(panel_state("x", {}, limits, {}, {}).phase, "warming up");
}

}  // namespace
}  // namespace paretoken::cli
