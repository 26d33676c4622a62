#include "core/result/streaming.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace paretoken
