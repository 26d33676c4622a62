#include "core/result/streaming.h"

#include <gtest/gtest.h>

#include <vector>

namespace paretoken {
namespace {

constexpr TimePoint at(double milliseconds) {
    return TimePoint(std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6)));
}

/// An answer of 64 tokens, sent at 0, in as many events.
RequestRecord answer(double first_ms, double last_ms, double longest_gap_ms) {
    RequestRecord record;
    record.sent = at(0);
    record.first_event = at(first_ms);
    record.last_event = at(last_ms);
    record.longest_gap = at(longest_gap_ms) - at(0);
    record.streamed_tokens = record.chunks = 64;
    record.first_group_tokens = 1;
    return record;
}

TEST(Streaming, an_answer_whose_tokens_come_at_their_pace_is_a_stream) {
    EXPECT_FALSE(is_bunched(answer(50, 680, 12)));
    EXPECT_FALSE(is_bunched(answer(10'000, 10'320, 6))) << "a long prompt, then 5 ms per token";
    EXPECT_FALSE(is_bunched(answer(100, 120, 1))) << "very fast hardware";
    EXPECT_FALSE(is_bunched(answer(50, 10'680, 10'000))) << "one long stall";
}

TEST(Streaming, an_answer_that_was_computed_before_it_was_sent_is_none) {
    EXPECT_TRUE(is_bunched(answer(640, 653, 0.3)));
    EXPECT_TRUE(is_bunched(answer(10, 653, 631))) << "a blank first, then silence, then everything";
    RequestRecord held_back = answer(500, 640, 5);
    held_back.first_group_tokens = 50;
    EXPECT_TRUE(is_bunched(held_back)) << "most tokens in the first arrival";
    RequestRecord at_once = answer(640, 640, 0);
    at_once.chunks = 1;
    at_once.first_group_tokens = 64;
    at_once.longest_gap.reset();
    EXPECT_TRUE(is_bunched(at_once)) << "all tokens in one event, such as a whole tool call";
    RequestRecord few = answer(640, 653, 0.3);
    few.streamed_tokens = few.chunks = 8;
    EXPECT_FALSE(is_bunched(few)) << "too few tokens to judge";
}

/// An answer whose events come after these gaps, the first one after the sending.
RequestRecord answer_with(const std::vector<double>& gaps_ms) {
    RequestRecord record;
    record.sent = at(0);
    double now = 0;
    for (const double gap : gaps_ms) {
        StreamEvent event;
        event.time = at(now += gap);
        record.events.push_back(event);
    }
    return record;
}

TEST(Streaming, an_event_long_before_the_others_is_not_the_first_token) {
    EXPECT_TRUE(begins_early(answer_with({5, 295, 10, 10, 11, 9, 10, 10, 10})));
    EXPECT_TRUE(begins_early(answer_with({40, 260, 10, 10, 11, 9, 10, 10, 10})))
        << "a blank as a sign of life";
    EXPECT_FALSE(begins_early(answer_with({300, 10, 10, 10, 11, 9, 10, 10, 10})));
    EXPECT_FALSE(begins_early(answer_with({300, 200, 10, 10, 11, 9, 10, 10, 10})))
        << "another prompt was computed between two steps";
    EXPECT_FALSE(begins_early(answer_with({5, 10, 10, 10, 295, 9, 10, 10, 10}))) << "a pause in the answer";
    EXPECT_FALSE(begins_early(answer_with({1, 20, 19, 21, 20, 20, 20, 20, 20}))) << "a short prompt";
    EXPECT_FALSE(begins_early(answer_with({5, 295, 10, 10}))) << "too few events";
}

}  // namespace
}  // namespace paretoken
