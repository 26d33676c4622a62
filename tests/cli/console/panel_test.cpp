#include "cli/console/panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/document/table.h"

namespace paretoken::cli {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::ResultOf;

PanelState busy() {
    return {.load = "c=16",
            .place = "3/8",
            .phase = "measuring",
            .elapsed_s = 12,
            .share = .5,
            .left_s = 9,
            .all_left_s = 100,
            .in_flight = 16,
            .ended = "290/500 requests",
            .requests_per_s = 4.21,
            .tokens_per_s = 538,
            .history = {0, 1, 2, 3, 4, 5, 6, 7},
            .ttft = LatencySoFar{std::chrono::microseconds(41'200), std::chrono::milliseconds(60)},
            .itl = LatencySoFar{std::chrono::microseconds(7'900), std::chrono::microseconds(9'100)},
            .lag_p95 = std::chrono::microseconds(200)};
}

TEST(Panel, AtEightyColumnsItHasFourLinesWithEveryValue) {
    EXPECT_THAT(
        panel_lines(busy(), 80, false),
        ElementsAre("[3/8] c=16  measuring  ━━━━━━━━━━━━────────────  50 %  0:12, 0:09 left, all 1:40",
                    "  16 in flight  290/500 requests  4.21 req/s  538 tok/s  ▁▂▃▄▅▆▇█",
                    "  TTFT p50 41.2 p95 60.0 ms   ITL p50 7.90 p95 9.10 ms",
                    "  ● the client keeps up   no failures"));
}

TEST(Panel, AtMoreColumnsTheBarIsLonger) {
    EXPECT_EQ(
        panel_lines(busy(), 120, false).front(),
        "[3/8] c=16  measuring  ━━━━━━━━━━━━━━━━━━━━────────────────────  50 %  0:12, 0:09 left, all 1:40");
}

TEST(Panel, NoLineIsWiderThanTheTerminal) {
    PanelState state = busy();
    state.load = "a label that is much longer than any load has ever been";
    state.history = std::vector<double>(200, 1);
    state.failures = {{"http_error", 123456}, {"timed_out", 7}, {"stream_error", 99}, {"connect_failed", 3}};
    for (std::size_t columns = 1; columns <= 160; ++columns)
        for (const std::string& line : panel_lines(state, columns, false))
            EXPECT_LE(reports::display_width(line), columns) << line;
}

TEST(Panel, ColoursChangeNothingElse) {
    const auto plain = panel_lines(busy(), 80, false);
    auto coloured = panel_lines(busy(), 80, true);
    EXPECT_NE(coloured, plain);
    for (std::string& line : coloured)
        for (std::size_t at; (at = line.find("\033[")) != std::string::npos;)
            line.erase(at, line.find('m', at) - at + 1);
    EXPECT_EQ(coloured, plain);
}

TEST(Panel, FailuresAreListedByTheirClass) {
    PanelState state = busy();
    state.failures = {{"http_error", 1234}, {"timed_out", 7}};
    EXPECT_THAT(panel_lines(state, 80, false).back(), HasSubstr("failed: 1,234 http_error, 7 timed_out"));
}

TEST(Panel, ALateClientIsNamed) {
    PanelState state = busy();
    state.lag_p95 = std::chrono::milliseconds(4);
    EXPECT_THAT(panel_lines(state, 80, false).back(), HasSubstr("the client is late: p95 4.00 ms"));
    EXPECT_EQ(light_of(std::chrono::milliseconds(1)), Light::green);
    EXPECT_EQ(light_of(std::chrono::milliseconds(2)), Light::yellow);
    EXPECT_EQ(light_of(std::chrono::milliseconds(20)), Light::red);
}

TEST(Panel, WhatIsNotKnownYetIsNoNumber) {
    const PanelState begun{.load = "c=1", .phase = "warming up", .ended = "0 requests"};
    const auto lines = panel_lines(begun, 80, false);
    EXPECT_THAT(lines.front(), Not(HasSubstr("%")));
    EXPECT_THAT(lines[2], HasSubstr("TTFT p50 – p95 – ms"));
    EXPECT_THAT(lines.back(), HasSubstr("no request has ended yet"));
}

TEST(RecentRates, OnlyTheLastSecondsCount) {
    RecentRates rates;
    EXPECT_FALSE(rates.requests_per_s());
    // 10 requests and 100 tokens per second for 30 s, then twice as many.
    std::uint64_t requests = 0;
    std::uint64_t tokens = 0;
    for (int i = 0; i <= 300; ++i) rates.add({i * .1, requests += 1, tokens += 10});
    EXPECT_NEAR(*rates.requests_per_s(), 10, .01);
    for (int i = 301; i <= 420; ++i) rates.add({i * .1, requests += 2, tokens += 20});
    EXPECT_NEAR(*rates.requests_per_s(), 20, .01);
    EXPECT_NEAR(*rates.tokens_per_s(), 200, .1);
    const auto history = rates.history(5);
    EXPECT_EQ(history.size(), 5u);
    EXPECT_THAT(history, Each(::testing::DoubleNear(200, 1)));
}

TEST(Sparkline, TheLargestValueIsTheHighest) {
    EXPECT_EQ(sparkline({0, 5, 10}), "▁▅█");
    EXPECT_EQ(sparkline({0, 0}), "▁▁");
    EXPECT_EQ(sparkline({}), "");
}

}  // namespace
}  // namespace paretoken::cli
