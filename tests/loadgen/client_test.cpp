#include "loadgen/client.h"

#include <gtest/gtest.h>

namespace paretoken::loadgen {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::vector<StreamEvent> events_every(Duration gap, int count) {
    std::vector<StreamEvent> events(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) events[static_cast<std::size_t>(i)].time = TimePoint(i * gap);
    return events;
}

TEST(LongestFairDelay, is_the_mean_time_per_event_and_at_least_a_nap) {
    EXPECT_EQ(longest_fair_delay(events_every(milliseconds(10), 24)), milliseconds(10));
    EXPECT_EQ(longest_fair_delay(events_every(microseconds(100), 24)), microseconds(300));
    EXPECT_EQ(longest_fair_delay(events_every(milliseconds(10), 1)), microseconds(300));
}

// A client that is late by less than a server needs to make the tokens has not merged them.
TEST(LongestFairDelay, is_longer_for_events_that_the_server_wrote_together) {
    EXPECT_EQ(longest_fair_delay(events_every(Duration{}, 24)), milliseconds(23));
    std::vector<StreamEvent> events = events_every(milliseconds(6), 33);  // in writes of eight
    for (std::size_t i = 0; i < events.size(); ++i) events[i].time = events[i / 8 * 8].time;
    EXPECT_EQ(longest_fair_delay(events), milliseconds(12)) << "of 48 between two writes";
}

}  // namespace
}  // namespace paretoken::loadgen
