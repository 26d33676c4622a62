#include "loadgen/laziness.h"

#include <gtest/gtest.h>

namespace paretoken::loadgen {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(NapFor, AWorkerWithFewReadsDoesNotNap) {
    EXPECT_EQ(nap_for(2000, 0, 10'000, 0.1), Duration{});  // 2 in the longest nap
    EXPECT_EQ(nap_for(50'000, 0, 40, 0.1), Duration{});    // 2 in 1/20 of a gap
    EXPECT_EQ(nap_for(0, 0, 0, 0), Duration{});
}

TEST(NapFor, AThousandStreamsOfTwentyMillisecondsAllowTheLongestNap) {
    EXPECT_EQ(nap_for(50'000, 0, 1000, 0.4), kLongestNap);
}

TEST(NapFor, ALightLoadOfManyStreamsIsReadWithFewWakeUps) {
    EXPECT_EQ(nap_for(6400, 0, 500, 0.1), kLongestNap);  // 3 reads
    EXPECT_EQ(nap_for(6400, 0, 64, 0.1), microseconds(500));
}

TEST(NapFor, FastStreamsAreNotLeftAloneLongEnoughForTwoOfTheirEventsToMeet) {
    EXPECT_EQ(nap_for(100'000, 0, 8, 0.6), Duration{});  // 80 µs between the reads of a stream
    for (const double streams : {100.0, 300.0, 1000.0, 10'000.0}) {
        EXPECT_LE(seconds(nap_for(60'000, 0, streams, 0.5)), streams / 60'000 / 20 + 1e-9);
    }
}

TEST(NapFor, AFreedSlotWaitsAtMostAHalfPercentOfTheTimeOfARequest) {
    for (const double finished : {100.0, 10'000.0, 60'000.0}) {
        EXPECT_LE(seconds(nap_for(60'000, finished, 1000, 0.5)), 1000 / finished / 200 + 1e-9);
    }
    EXPECT_EQ(nap_for(60'000, 60'000, 64, 0.5), Duration{});  // requests of 1 ms
}

TEST(NapFor, AWorkerWithoutTimeToSpareDoesNotNap) {
    EXPECT_GT(nap_for(150'000, 0, 1000, kBusy - 0.01), Duration{});
    EXPECT_EQ(nap_for(150'000, 0, 1000, kBusy + 0.01), Duration{});
}

TEST(SocketsBefore, AreFewerTheNearerTheNextStartIs) {
    EXPECT_EQ(sockets_before(milliseconds(100), 32), 32);
    EXPECT_EQ(sockets_before(microseconds(200), 32), 20);
    EXPECT_EQ(sockets_before(microseconds(79), 32), kFewestPerRound);
    EXPECT_EQ(sockets_before(-milliseconds(1), 32), kFewestPerRound);  // a start is late
}

TEST(Turns, ReadyAreReadForAsLongAsTheLastStartTook) {
    Turns turns;
    const auto at = [](int ms) { return TimePoint(milliseconds(ms)); };
    EXPECT_TRUE(turns.may_start(at(1), true));
    turns.started(at(10), at(18));
    EXPECT_FALSE(turns.may_start(at(25), true));
    EXPECT_TRUE(turns.may_start(at(25), false));  // none is ready
    EXPECT_TRUE(turns.may_start(at(26), true));
}

TEST(Laziness, StopsNappingWhenThereIsNoTimeToWait) {
    Laziness laziness;
    Traffic traffic{.now = TimePoint(milliseconds(1)), .streams = 1000};
    Duration nap{};
    const auto pass = [&](Duration idle_per_step) {
        for (int i = 0; i < 50; ++i) {
            traffic.now += milliseconds(10);
            traffic.reads += 1000;
            traffic.idle += idle_per_step;
            nap = laziness.nap(traffic);
        }
    };
    pass(milliseconds(5));
    EXPECT_GT(nap, Duration{});
    pass(milliseconds(1));
    EXPECT_EQ(nap, Duration{});
    pass(milliseconds(4));
    EXPECT_GT(nap, Duration{});
}

TEST(Laziness, NapsOnlyWhileTheRateIsHigh) {
    Laziness laziness;
    Traffic traffic{.now = TimePoint(milliseconds(1)), .reads = 0, .finished = 0, .streams = 1000};
    Duration nap{};
    const auto pass = [&](int steps, std::uint64_t reads_per_step) {
        for (int i = 0; i < steps; ++i) {
            traffic.now += milliseconds(10);
            traffic.reads += reads_per_step;
            traffic.idle += milliseconds(5);
            nap = laziness.nap(traffic);
        }
    };
    pass(50, 20);  // 2,000 per second
    EXPECT_EQ(nap, Duration{});
    pass(50, 500);  // 50,000 per second
    EXPECT_EQ(nap, kLongestNap);
    pass(50, 0);
    EXPECT_EQ(nap, Duration{});
}

}  // namespace
}  // namespace paretoken::loadgen
