#include "loadgen/load/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "datasets/catalog.h"
#include "tests/support/arrivals.h"

namespace paretoken::loadgen {
namespace {

using std::chrono::milliseconds;

const TimePoint kBegin{std::chrono::seconds(100)};

TimePoint at(int ms) {
    return kBegin + milliseconds(ms);
}

Dispatcher dispatcher(const std::string& arrivals, const Limits& limits, std::optional<std::uint64_t> cap,
                      const Pacing& pacing = {}, Share share = {}) {
    return {Schedule(parse_arrivals(arrivals), limits, 0, share), limits, cap, pacing, kBegin};
}

RequestKey measured(std::uint64_t index) {
    return {.index = index, .warmup = false};
}

/// Returns the requests that start at `now`, until the dispatcher waits or is done.
std::vector<Start> starts(Dispatcher& d, TimePoint now) {
    std::vector<Start> all;
    for (Step step = d.next(now); std::holds_alternative<Start>(step); step = d.next(now))
        all.push_back(std::get<Start>(step));
    return all;
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
    d.finished(measured(0), at(40), false);
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

TEST(Dispatcher, AnArrivalBeforeTheEndIsStartedEvenIfItIsLate) {
    Dispatcher d =
        dispatcher("constant:rate=100", {.requests = {}, .duration = milliseconds(25)}, std::nullopt);
    EXPECT_EQ(std::get<Start>(d.next(at(0))).scheduled, at(0));
    const std::vector<Start> late = starts(d, at(40));
    ASSERT_EQ(late.size(), 2U);
    EXPECT_EQ(late[0].scheduled, at(10));
    EXPECT_EQ(late[1].scheduled, at(20));
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
    d.finished(measured(0), at(35), false);
    const Start start = std::get<Start>(d.next(at(36)));
    EXPECT_EQ(start.scheduled, at(10));
    EXPECT_EQ(start.slot_wait, milliseconds(25));
}

TEST(Dispatcher, IsDoneWhenNothingIsLeftAndNothingIsInFlight) {
    Dispatcher d = dispatcher("at_once", {.requests = 1}, 1);
    d.next(at(0));
    EXPECT_TRUE(std::holds_alternative<Wait>(d.next(at(1))));
    EXPECT_EQ(d.ran_dry(), at(1));
    d.finished(measured(0), at(9), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(9))));
}

TEST(Dispatcher, StartsNothingAfterTheDurationWhichBeginsWithTheFirstMeasuredRequest) {
    const Limits limits{.warmups = 1, .duration = milliseconds(50)};
    Dispatcher d = dispatcher("at_once", limits, 1);
    EXPECT_TRUE(std::get<Start>(d.next(at(0))).planned.warmup);
    d.finished({.index = 0, .warmup = true}, at(30), false);
    EXPECT_FALSE(std::get<Start>(d.next(at(30))).planned.warmup);
    d.finished(measured(0), at(79), false);
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(79))));
    d.finished(measured(1), at(95), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(95))));
    EXPECT_EQ(d.ran_dry(), at(80));
}

TEST(Dispatcher, AFailedSlotRestsLongerWithEveryFailureInARow) {
    Dispatcher d = dispatcher("at_once", {}, 1);
    d.next(at(0));
    d.finished(measured(0), at(1), true);
    const TimePoint first = *std::get<Wait>(d.next(at(1))).until;
    EXPECT_EQ(first, at(11));
    d.next(first);
    d.finished(measured(1), at(12), true);
    EXPECT_EQ(*std::get<Wait>(d.next(at(12))).until, at(32));
    d.next(at(32));
    d.finished(measured(2), at(40), false);
    EXPECT_TRUE(std::holds_alternative<Start>(d.next(at(40)))) << "a success ends the row";
}

TEST(Dispatcher, StopsWhenToldTo) {
    Dispatcher d = dispatcher("at_once", {}, 2);
    d.next(at(0));
    d.stop();
    EXPECT_TRUE(std::holds_alternative<Wait>(d.next(at(1))));
    d.finished(measured(0), at(2), false);
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(2))));
}

TEST(Dispatcher, SaysWhichRequestItStarts) {
    Dispatcher d = dispatcher("at_once", {.warmups = 1, .requests = 2}, 3, {}, {.worker = 1, .workers = 2});
    const auto started = starts(d, at(0));
    ASSERT_EQ(started.size(), 1U) << "the second of three slots is the second worker's";
    EXPECT_EQ(started[0].planned, (Planned{.index = 0, .warmup = false}));
}

TEST(Dispatcher, ACapOnPrefillsIsFreeAgainWhenTheFirstTokenIsThere) {
    Dispatcher d = dispatcher("at_once", {.requests = 4}, 4, {.prefills = 2});
    EXPECT_EQ(starts(d, at(0)).size(), 2U);
    d.on_first_token(measured(1), at(7));
    const auto third = starts(d, at(8));
    ASSERT_EQ(third.size(), 1U);
    EXPECT_EQ(third[0].planned.index, 2U);
    EXPECT_EQ(third[0].scheduled, at(7)) << "it could not have been sent before";
    d.finished(measured(1), at(9), false);
    EXPECT_TRUE(starts(d, at(9)).empty()) << "its first token was counted already";
    d.finished(measured(0), at(12), true);
    EXPECT_EQ(starts(d, at(12)).size(), 1U) << "it ended without a token";
}

TEST(Dispatcher, ACapOnPrefillsOfAnOpenLoopIsCountedAsSlotWait) {
    Dispatcher d = dispatcher("constant:rate=100", {.requests = 2}, std::nullopt, {.prefills = 1});
    EXPECT_EQ(starts(d, at(15)).size(), 1U);
    d.on_first_token(measured(0), at(35));
    const auto second = starts(d, at(36));
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].scheduled, at(10));
    EXPECT_EQ(second[0].slot_wait, milliseconds(25));
}

TEST(Dispatcher, ARampOpensTheSlotsOfAllWorkersEvenly) {
    const Pacing ramp{.ramp_up = milliseconds(4000)};
    std::vector<TimePoint> opened;
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
        Dispatcher d = dispatcher("at_once", {.requests = 60}, 20, ramp, {worker, 3});
        for (TimePoint now = at(0);;) {
            for (const Start& start : starts(d, now)) opened.push_back(start.scheduled);
            const Step step = d.next(now);
            if (!std::get<Wait>(step).until) break;
            now = *std::get<Wait>(step).until;
        }
    }
    std::sort(opened.begin(), opened.end());
    ASSERT_EQ(opened.size(), 20U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(opened[static_cast<std::size_t>(i)], at(200 * i));
}

TEST(Dispatcher, OpensEachSlotAtTheFirstTokenOfTheSlotBefore) {
    Dispatcher d = dispatcher("at_once", {.requests = 20}, 4, {.ramp_up = std::nullopt});
    EXPECT_EQ(starts(d, at(0)).size(), 1U);
    EXPECT_EQ(std::get<Wait>(d.next(at(1))).until, at(1000)) << "at the latest after a second";
    d.on_first_token(measured(0), at(20));
    const auto second = starts(d, at(21));
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].scheduled, at(20));
    EXPECT_EQ(starts(d, at(1021)).size(), 1U) << "the second has no first token after a second";
    d.on_first_token(measured(1), at(1030));
    EXPECT_TRUE(starts(d, at(1030)).empty()) << "it has no slot to open any more";
}

TEST(Dispatcher, OpensTheSlotsThatAreLeftWithinTheTimeOfTheFirstRequest) {
    Dispatcher d = dispatcher("at_once", {.requests = 20}, 5, {.ramp_up = std::nullopt});
    ASSERT_EQ(starts(d, at(0)).size(), 1U);
    d.finished(measured(0), at(100), false);
    std::vector<TimePoint> opened;
    for (TimePoint now = at(100); now <= at(200); now += milliseconds(1))
        for (const Start& start : starts(d, now)) opened.push_back(start.scheduled);
    EXPECT_THAT(opened, ::testing::ElementsAre(at(100), at(100), at(125), at(150), at(175)))
        << "the slot that came free and the one that its first token opens, and then the others";
}

TEST(Dispatcher, TheFirstSlotsOfShardsOpenAtDifferentTimes) {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
        const Share share{.worker = shard, .workers = 4, .shards = 4};
        Dispatcher d = dispatcher("at_once", {.requests = 40}, 20, {.ramp_up = std::nullopt}, share);
        const TimePoint first = at(250 * static_cast<int>(shard));
        if (shard > 0) {
            EXPECT_EQ(std::get<Wait>(d.next(at(0))).until, first);
        }
        const auto opened = starts(d, first);
        ASSERT_EQ(opened.size(), 1U);
        EXPECT_EQ(opened[0].scheduled, first);
        d.finished({.index = opened[0].planned.index}, first + milliseconds(80), false);
        EXPECT_EQ(starts(d, first + milliseconds(80)).size(), 2U) << "the free slot, and the second one";
        EXPECT_EQ(std::get<Wait>(d.next(first + milliseconds(80))).until, first + milliseconds(100))
            << "four slots were left to open within the 80 ms of the first request";
    }
}

TEST(Dispatcher, ASlotPausesForTheThinkTimeAndThenTheNextRequestIsDue) {
    Dispatcher d =
        dispatcher("at_once", {.requests = 3}, 1, {.think_time = RandomDuration("exponential:mean=2s")});
    starts(d, at(0));
    d.finished(measured(0), at(10), false);
    const TimePoint due = std::get<Wait>(d.next(at(11))).until.value();
    EXPECT_GT(due, at(10));
    const auto second = starts(d, due);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].scheduled, due);
    d.finished(measured(1), due, false);
    EXPECT_NE(std::get<Wait>(d.next(due)).until.value() - due, due - at(10)) << "each is drawn";
}

// ---- conversations

/// Returns a dispatcher of conversations with `turns` turns each.
Dispatcher conversations(const std::string& arrivals, const Limits& limits, std::optional<std::uint64_t> cap,
                         int turns, const Pacing& pacing = {}, std::uint64_t seed = 0) {
    static std::vector<std::unique_ptr<datasets::Dataset>> kept;
    kept.push_back(datasets::make_dataset({.spec = {"multi_turn", {{"turns", std::to_string(turns)}}}}));
    return {Schedule(parse_arrivals(arrivals), limits, seed, {}, kept.back().get()), limits, cap, pacing,
            kBegin};
}

Ended turn_after(const Start& start) {
    Planned next = start.planned;
    if (next.turn + 1 == next.turns) return {};
    ++next.index;
    ++next.turn;
    return {.follow_ups = {{.planned = next}}, .job_is_over = false};
}

void finish(Dispatcher& d, const Start& start, TimePoint when) {
    d.finished({start.planned.index, start.planned.warmup}, when, false, turn_after(start));
}

TEST(Dispatcher, AConversationKeepsItsSlotOfAClosedLoopUntilItsLastTurn) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 1, 3);
    for (std::uint64_t conversation = 0; conversation < 2; ++conversation) {
        for (std::uint32_t turn = 0; turn < 3; ++turn) {
            const int ms = static_cast<int>(100 * (3 * conversation + turn));
            const auto started = starts(d, at(ms + 2));  // seen late
            ASSERT_EQ(started.size(), 1U);
            EXPECT_EQ(started[0].planned.place, conversation);
            EXPECT_EQ(started[0].planned.turn, turn);
            EXPECT_EQ(started[0].planned.index, 3 * conversation + turn);
            EXPECT_EQ(started[0].scheduled, at(ms));
            finish(d, started[0], at(ms + 100));
        }
    }
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(700))));
    EXPECT_EQ(d.ended_by(), StopKind::requests);
}

TEST(Dispatcher, AFollowUpIsDueAfterTheThinkTime) {
    const Pacing pacing{.think_time = RandomDuration("50ms")};
    for (const std::string arrivals : {"at_once", "constant:rate=10"}) {
        Dispatcher d = conversations(arrivals, {.requests = 1}, 1, 2, pacing);
        const auto first = starts(d, at(0));
        ASSERT_EQ(first.size(), 1U);
        finish(d, first[0], at(10));
        const Step waiting = d.next(at(20));
        ASSERT_TRUE(std::holds_alternative<Wait>(waiting)) << arrivals;
        EXPECT_EQ(std::get<Wait>(waiting).until, at(60));
        ASSERT_TRUE(d.next_planned());
        EXPECT_EQ(d.next_planned()->turn, 1U);
        const auto second = starts(d, at(61));
        ASSERT_EQ(second.size(), 1U);
        EXPECT_EQ(second[0].scheduled, at(60));
        EXPECT_EQ(second[0].planned.turn, 1U);
        finish(d, second[0], at(70));
        EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(130))));
    }
}

/// Finishes a job's first turn, which is followed by two turns with pauses.
void fan_out(Dispatcher& d, const Start& first, TimePoint when) {
    Ended ended{.job_is_over = false, .idle_job = first.planned.opening};
    for (std::uint32_t turn = 1; turn < 3; ++turn) {
        Planned next = first.planned;
        next.index += turn;
        next.turn = turn;
        ended.follow_ups.push_back({next, milliseconds(10), milliseconds(100 * turn)});
    }
    d.finished({first.planned.index, first.planned.warmup}, when, false, ended);
}

TEST(Dispatcher, TheTurnsOfAJobShareItsSlotWhichIsFreeWhenAllHaveEnded) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 1, 3);
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 1U);
    fan_out(d, first[0], at(20));
    EXPECT_TRUE(starts(d, at(129)).empty());
    const auto second = starts(d, at(130));
    ASSERT_EQ(second.size(), 1U);
    const auto third = starts(d, at(230));
    ASSERT_EQ(third.size(), 1U);
    EXPECT_EQ(third[0].scheduled, at(230)) << "both turns are in flight on one slot";
    d.finished(measured(2), at(300), false, {.job_is_over = false});
    EXPECT_TRUE(starts(d, at(300)).empty());
    d.finished(measured(1), at(400), false);
    const auto next = starts(d, at(400));
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].planned.place, 1U);
    EXPECT_EQ(next[0].scheduled, at(400));
}

TEST(Dispatcher, TheRequestsOfLiveJobsAreCapped) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 2, 3, {.requests = 1});
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 1U) << "a slot is free for the second job, but not a request";
    fan_out(d, first[0], at(20));
    const auto second = starts(d, at(20));
    ASSERT_EQ(second.size(), 1U) << "the second job begins during the pauses of the first";
    EXPECT_EQ(second[0].planned.place, 1U);
    EXPECT_EQ(second[0].scheduled, at(20));
    EXPECT_TRUE(starts(d, at(130)).empty());
    d.finished(measured(second[0].planned.index), at(150), false);
    const auto third = starts(d, at(150));
    ASSERT_EQ(third.size(), 1U);
    EXPECT_EQ(third[0].scheduled, at(130));
    EXPECT_EQ(third[0].slot_wait, milliseconds(20));
}

TEST(Dispatcher, PausesOfToolsAreScaledAndThenCut) {
    const Pacing pacing{.tool_scale = .5, .idle_cap = milliseconds(80)};
    Dispatcher d = conversations("at_once", {.requests = 1}, 1, 3, pacing);
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 1U);
    fan_out(d, first[0], at(20));
    EXPECT_TRUE(starts(d, at(79)).empty());
    const auto second = starts(d, at(80));  // 20 + 10 + 100 / 2
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].planned.turn, 1U);
    EXPECT_TRUE(starts(d, at(99)).empty());
    EXPECT_EQ(starts(d, at(100)).size(), 1U);  // 20 + min(10 + 200 / 2, 80)
}

TEST(Dispatcher, TimesOfToolsAreDrawnForEachTurnThatHasOneAndThenScaled) {
    const Pacing pacing{.tool_scale = .5, .tool_time = RandomDuration("uniform:min=40ms;max=80ms")};
    std::set<TimePoint> due;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Dispatcher d = conversations("at_once", {.requests = 1}, 1, 3, pacing, seed);
        const auto first = starts(d, at(0));
        ASSERT_EQ(first.size(), 1U);
        Planned next = first[0].planned;
        ++next.index;
        ++next.turn;
        Planned last = next;
        ++last.index;
        ++last.turn;
        d.finished({first[0].planned.index, false}, at(0), false,
                   {.follow_ups = {{next, milliseconds(10), milliseconds(500)}, {last, milliseconds(5)}},
                    .job_is_over = false});
        EXPECT_EQ(starts(d, at(5)).size(), 1U) << "a turn without a time of tools gets none";
        due.insert(*std::get<Wait>(d.next(at(5))).until);
    }
    EXPECT_GT(due.size(), 15U);
    EXPECT_GE(*due.begin(), at(30));
    EXPECT_LE(*due.rbegin(), at(50));
}

TEST(Dispatcher, AJobWithNothingInFlightPausesNoLongerThanItsCap) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 2, 3, {.idle_job_cap = milliseconds(50)});
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 2U);
    fan_out(d, first[0], at(20));  // its turns are due 110 ms and 210 ms later
    EXPECT_TRUE(starts(d, at(69)).empty());
    const auto second = starts(d, at(70));
    ASSERT_EQ(second.size(), 1U) << "although another job has a request in flight";
    EXPECT_EQ(second[0].scheduled, at(70));
    const auto third = starts(d, at(170));
    ASSERT_EQ(third.size(), 1U) << "all pauses of the job are shortened alike";
    EXPECT_EQ(third[0].scheduled, at(170));
    // The other job has a request in flight when its turns become possible, so that they keep their pauses.
    Ended ended{.job_is_over = false};
    Planned next = first[1].planned;
    ++next.index;
    ++next.turn;
    ended.follow_ups.push_back({next, milliseconds(300)});
    d.finished({first[1].planned.index, false}, at(200), false, ended);
    EXPECT_TRUE(starts(d, at(499)).empty());
    EXPECT_EQ(starts(d, at(500)).size(), 1U);
}

TEST(Dispatcher, PausesOfAnOpenLoopInWhichNothingIsInFlightEndWithTheNextArrivalOrTheCap) {
    for (const std::optional<std::uint64_t> cap : {std::optional<std::uint64_t>(), {8}}) {
        Dispatcher d =
            conversations("constant:rate=1", {.requests = 2}, cap, 3, {.idle_system_cap = milliseconds(50)});
        const auto first = starts(d, at(0));
        ASSERT_EQ(first.size(), 1U);
        fan_out(d, first[0], at(20));  // its turns are due 110 ms and 210 ms later
        EXPECT_TRUE(starts(d, at(20)).empty());
        EXPECT_TRUE(starts(d, at(69)).empty());
        const auto second = starts(d, at(70));
        ASSERT_EQ(second.size(), 1U) << "50 ms after the end, although a job arrives at 1,000 ms";
        EXPECT_EQ(second[0].scheduled, at(70));
    }
}

TEST(Dispatcher, AFollowUpOfAnOpenLoopWaitsForTheCapAsArrivalsDo) {
    Dispatcher d = conversations("constant:rate=100", {.requests = 2}, 1, 2);
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 1U);
    EXPECT_TRUE(starts(d, at(10)).empty());  // the second arrival is due, but the cap is reached
    finish(d, first[0], at(20));
    const auto next = starts(d, at(20));
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].planned.turn, 1U) << "a conversation goes on before another begins";
    finish(d, next[0], at(30));
    const auto last = starts(d, at(30));
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].scheduled, at(10));
    EXPECT_EQ(last[0].slot_wait, milliseconds(20));
}

TEST(Dispatcher, AFailureEndsAConversationAndFreesItsSlot) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 1, 3);
    const auto first = starts(d, at(0));
    d.finished(measured(first[0].planned.index), at(5), true);
    const auto next = starts(d, at(1000));
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].planned.place, 1U);
    EXPECT_EQ(next[0].planned.index, 3U) << "the turns that never came keep their numbers";
}

TEST(Dispatcher, NoFollowUpStartsAfterTheRunWasStoppedOrItsTimeWasUp) {
    for (const bool stopped : {true, false}) {
        Dispatcher d = conversations("at_once", {.duration = milliseconds(100)}, 1, 3);
        const auto first = starts(d, at(0));
        ASSERT_EQ(first.size(), 1U);
        finish(d, first[0], at(stopped ? 50 : 100));
        if (stopped) d.stop();
        EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(stopped ? 50 : 100))));
        EXPECT_EQ(d.ended_by(), stopped ? std::nullopt : std::optional(StopKind::duration));
    }
}

TEST(Dispatcher, ALoadWhoseUsersThinkUntilAfterTheEndWaitsForTheEnd) {
    const Pacing pacing{.think_time = RandomDuration("80ms")};
    Dispatcher d = conversations("at_once", {.duration = milliseconds(100)}, 1, 3, pacing);
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 1U);
    finish(d, first[0], at(30));
    const Step waiting = d.next(at(30));  // the next turn would be due at 110 ms
    ASSERT_TRUE(std::holds_alternative<Wait>(waiting));
    EXPECT_EQ(std::get<Wait>(waiting).until, at(100));
    EXPECT_TRUE(std::holds_alternative<Done>(d.next(at(100))));
    EXPECT_EQ(d.ended_by(), StopKind::duration);
    EXPECT_EQ(d.ran_dry(), at(100));
}

TEST(Dispatcher, ALoadOfConversationsIsFilledUntilOneEndsWithNoneToFollow) {
    Dispatcher d = conversations("at_once", {.requests = 2}, 2, 2);
    const auto first = starts(d, at(0));
    ASSERT_EQ(first.size(), 2U);
    EXPECT_FALSE(d.ran_dry());
    finish(d, first[0], at(10));
    const auto follow_up = starts(d, at(10));
    ASSERT_EQ(follow_up.size(), 1U);
    EXPECT_FALSE(d.ran_dry());
    finish(d, follow_up[0], at(20));
    EXPECT_EQ(d.ran_dry(), at(20));
}

}  // namespace
}  // namespace paretoken::loadgen
