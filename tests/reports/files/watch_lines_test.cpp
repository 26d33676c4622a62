#include "reports/files/watch_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace paretoken::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

WatchLine sample_line() {
    return {.interval = 3,
            .at = "2026-11-22T12:00:00Z",
            .begin_s = 120.5,
            .end_s = 181,
            .requests = 6,
            .failed = 1,
            .figures = {{"ttft_p50_s", .0412}, {"kv_usage", .05}},
            .firing = {"ttft_high"},
            .drift = {{.metric = "tpot", .ratio = 1.9, .ci95 = {1.7, 2.2}, .n = 6, .drifted = true}},
            .error = "HTTP 503: \"busy\"\n\x01"};
}

TEST(WatchLine, is_a_json_object_on_one_line) {
    const std::string text = watch_line(sample_line());
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["interval"], 3);
    EXPECT_EQ(json["ttft_p50_s"], .0412);
    EXPECT_EQ(json["alerts"], nlohmann::json::array({"ttft_high"}));
    EXPECT_EQ(json["drift"]["tpot"]["ratio"], 1.9);
    EXPECT_EQ(json["drift"]["tpot"]["ci95"], nlohmann::json::array({1.7, 2.2}));
    EXPECT_EQ(json["drift"]["tpot"]["drifted"], true);
    EXPECT_THAT(json["error"].get<std::string>(), HasSubstr("\"busy\""));
}

TEST(WatchLine, escapes_the_names_of_series_that_a_server_chose) {
    WatchLine line = sample_line();
    line.figures[R"(node_load1{host="a\b"})"] = 2;
    EXPECT_EQ(nlohmann::json::parse(watch_line(line))[R"(node_load1{host="a\b"})"], 2);
}

TEST(WatchLine, leaves_out_what_is_no_number) {
    WatchLine line = sample_line();
    line.figures["ttft_p95_s"] = std::numeric_limits<double>::infinity();
    line.drift.front().ci95.high = std::numeric_limits<double>::infinity();
    line.error.clear();
    const auto json = nlohmann::json::parse(watch_line(line));
    EXPECT_FALSE(json.contains("ttft_p95_s"));
    EXPECT_FALSE(json.contains("error"));
    EXPECT_TRUE(json["drift"].empty());
}

TEST(WatchLine, tells_a_terminal_what_drifted_and_what_fires) {
    const std::string text = watch_text(sample_line());
    for (const char* expected :
         {"2026-11-22T12:00:00Z  interval 3, to 181 s: 6 requests, 1 failed", "TTFT p50 41.2 ms", "KV 5",
          "tpot drifted to 1.90 times", "1.70 to 2.20", "ALERT ttft_high", "HTTP 503"})
        EXPECT_THAT(text, HasSubstr(expected));
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    WatchLine quiet = sample_line();
    quiet.firing.clear();
    quiet.drift.front().drifted = false;
    EXPECT_THAT(watch_text(quiet), Not(HasSubstr("drifted")));
    EXPECT_THAT(watch_text(quiet), Not(HasSubstr("ALERT")));
}

}  // namespace
}  // namespace paretoken::reports
