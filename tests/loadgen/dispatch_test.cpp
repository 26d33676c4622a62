#include "loadgen/dispatch.h"

#include <gtest/gtest.h>

namespace paretoken::loadgen {
namespace {

using std::chrono::milliseconds;

const TimePoint kBegin{std::chrono::seconds(100)};

TimePoint at(int ms) {
    return kBegin + milliseconds(ms);
}

Dispatcher dispatcher(const std::string& arrivals, const Limits& limits, std::optional<std::uint64_t> cap) {
    return {Schedule(parse_arrivals(arrivals), limits, 0, {}), limits, cap, kBegin};
}

TEST(Dispatcher, AClosedLoopFillsItsSlotsAtOnceAndThenWaitsForOne) {
    Dispatcher d = dispatcher("at_once", {.requests = 3}, 2);
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(0))));
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(0))));
    const Step third = d.next(at(0));
    ASSERT_TRUE(std::holds_alternative<Wait>(third));
    EXPECT_FALSE(std::get<Wait>(third).until);
}

TEST(Dispatcher, AClosedLoopSchedulesTheNextRequestForTheMomentItsSlotCameFree) {
    Dispatcher d = dispatcher("at_once", {.requests = 2}, 1);
    d.next(at(0));
    d.finished(at(40), false);
    const Step step = d.next(at(47));  // seen late
    ASSERT_TRUE(std::holds_alternative<Start>(step));
    EXPECT_EQ(std::get<Start>(step).scheduled, at(40));
    EXPECT_EQ(std::get<Start>(step).slot_wait, Duration{});
}

TEST(Dispatcher, AnOpenLoopKeepsTheArrivalHoweverLateItIsStarted) {
    Dispatcher d = dispatcher("constant:rate=100", {.requests = 3}, std::nullopt);
    EXPECT_EQ(std::get<Start>(d.next(at(25))).scheduled, at(0));
    EXPECT_EQ(std::get<Start>(d.next(at(25))).scheduled, at(10));
    EXPECT_EQ(std::get<Start>(d.next(at(25))).scheduled, at(20));
}

TEST(Dispatcher, AnOpenLoopWaitsForTheNextArrival) {
    Dispatcher d = dispatcher("constant:rate=100", {.requests = 3}, std::nullopt);
    d.next(at(0));
    EXPECT_EQ(std::get<Wait>(d.next(at(5))).until, at(10));
}

TEST(Dispatcher, ACapOnAnOpenLoopIsCountedAsSlotWaitAndNotAsLateness) {
    Dispatcher d = dispatcher("constant:rate=100", {.requests = 2}, 1);
    d.next(at(0));
    EXPECT_FALSE(std::get<Wait>(d.next(at(15))).until);
    d.finished(at(35), false);
    const Start start = std::get<Start>(d.next(at(36)));
    EXPECT_EQ(start.scheduled, at(10));
    EXPECT_EQ(start.slot_wait, milliseconds(25));
}

TEST(Dispatcher, IsDoneWhenNothingIsLeftAndNothingIsInFlight) {
    Dispatcher d = dispatcher("at_once", {.requests = 1}, 1);
    d.next(at(0));
    EXPECT_TRUE(std::holds_alternative<Wait>(d.next(at(1))));
    EXPECT_EQ(d.ran_dry(), at(1));
    d.finished(at(9), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(9))));
}

TEST(Dispatcher, StartsNothingAfterTheDurationWhichBeginsWithTheFirstMeasuredRequest) {
    const Limits limits{.warmups = 1, .duration = milliseconds(50)};
    Dispatcher d = dispatcher("at_once", limits, 1);
    EXPECT_TRUE(std::get<Start>(d.next(at(0))).warmup);
    d.finished(at(30), false);
    EXPECT_FALSE(std::get<Start>(d.next(at(30))).warmup);
    d.finished(at(79), false);
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(79))));
    d.finished(at(95), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(95))));
    EXPECT_EQ(d.ran_dry(), at(80));
}

TEST(Dispatcher, AFailedSlotRestsLongerWithEveryFailureInARow) {
    Dispatcher d = dispatcher("at_once", {}, 1);
    d.next(at(0));
    d.finished(at(1), true);
    const TimePoint first = *std::get<Wait>(d.next(at(1))).until;
    EXPECT_EQ(first, at(11));
    d.next(first);
    d.finished(at(12), true);
    EXPECT_EQ(*std::get<Wait>(d.next(at(12))).until, at(32));
    d.next(at(32));
    d.finished(at(40), false);
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(40)))) << "a success ends the row";
}

TEST(Dispatcher, StopsWhenToldTo) {
    Dispatcher d = dispatcher("at_once", {}, 2);
    d.next(at(0));
    d.stop();
    EXPECT_TRUE(std::holds_alternative<Wait>(d.next(at(1))));
    d.finished(at(2), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(2))));
}

}  // namespace
}  // namespace paretoken::loadgen
