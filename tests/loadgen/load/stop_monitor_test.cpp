#include "loadgen/load/stop_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "core/random.h"

namespace paretoken::loadgen {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const TimePoint kRunBegin{std::chrono::seconds(100)};

RequestRecord record_of(std::uint64_t index, Outcome outcome = Outcome::ok, std::int64_t tokens = 10) {
    RequestRecord record;
    record.index = index;
    record.outcome = outcome;
    record.scheduled = record.started = record.ready = kRunBegin + milliseconds(10 * index);
    record.sent = record.scheduled;
    record.first_event = record.scheduled + milliseconds(20);
    record.last_event = record.finished = record.scheduled + milliseconds(50);
    record.closed = *record.last_event;
    record.streamed_tokens = tokens;
    record.chunks = tokens;
    return record;
}

StopMonitor monitor_of(std::initializer_list<const char*> rules, bool open_loop = false) {
    StopMonitorOptions options{.open_loop = open_loop, .concurrency = 1};
    for (const char* rule : rules) options.rules.push_back(parse_stop_rule(rule));
    return StopMonitor(options);
}

TEST(StopMonitor, CountsOutputTokensOfMeasuredRequests) {
    StopMonitor monitor = monitor_of({"tokens=25"});
    RequestRecord warmup = record_of(0);
    warmup.warmup = true;
    monitor.ended(warmup);
    monitor.ended(record_of(0));
    monitor.ended(record_of(1));
    EXPECT_FALSE(monitor.is_met());
    monitor.ended(record_of(2));
    ASSERT_TRUE(monitor.is_met());
    EXPECT_EQ(monitor.stopped()->rule, "tokens");
    EXPECT_EQ(monitor.stopped()->at, record_of(2).closed);
}

TEST(StopMonitor, DoesNotJudgeErrorsByTheFirstFewRequests) {
    StopMonitor monitor = monitor_of({"errors=5%"});
    for (std::uint64_t i = 0; i < 19; ++i) monitor.ended(record_of(i, Outcome::http_error));
    EXPECT_FALSE(monitor.is_met());
    monitor.ended(record_of(19));
    ASSERT_TRUE(monitor.is_met());
    EXPECT_THAT(monitor.stopped()->text, HasSubstr("19 of 20"));

    StopMonitor few = monitor_of({"errors=5%"});
    for (std::uint64_t i = 0; i < 400; ++i)
        few.ended(record_of(i, i % 40 == 10 ? Outcome::http_error : Outcome::ok));
    EXPECT_FALSE(few.is_met()) << "one of 20 is not more than 5 %";
}

TEST(StopMonitor, KeepsTheFirstRuleThatWasMet) {
    StopMonitor monitor = monitor_of({"errors=5%", "tokens=300"});
    for (std::uint64_t i = 0; i < 60; ++i) monitor.ended(record_of(i, Outcome::http_error));
    EXPECT_EQ(monitor.stopped()->rule, "errors");
}

/// Runs requests one after the other, whose TTFT is uniform between 100 and 300 ms.
std::optional<Stopped> stopped_by(const char* rule, std::uint64_t requests, std::uint64_t* used = nullptr) {
    StopMonitor monitor = monitor_of({rule});
    TimePoint now = kRunBegin;
    for (std::uint64_t i = 0; i < requests && !monitor.is_met(); ++i) {
        Random random(derived_seed(5, "ttft", i));
        RequestRecord record = record_of(i);
        record.scheduled = record.started = record.ready = now;
        record.sent = now;
        record.first_event = now + from_seconds(0.1 + 0.2 * random.uniform());
        record.last_event = record.finished = *record.first_event + milliseconds(50);
        record.closed = now = *record.last_event;
        monitor.started(record);
        monitor.ended(record);
        monitor.look(now);
        if (used != nullptr) *used = i + 1;
    }
    return monitor.stopped();
}

TEST(StopMonitor, StopsWhenAPercentileIsKnownWellEnough) {
    std::uint64_t rough = 0;
    std::uint64_t fine = 0;
    ASSERT_TRUE(stopped_by("precision:ttft_p50=20%", 20'000, &rough));
    const auto stopped = stopped_by("precision:ttft_p50=3%", 20'000, &fine);
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->rule, "precision");
    EXPECT_THAT(stopped->text, HasSubstr("ttft p50"));
    EXPECT_GT(fine, 3 * rough);
}

TEST(StopMonitor, StopsWhenAnSloIsMissedBeyondDoubtAndOnlyThen) {
    const auto stopped = stopped_by("slo:ttft_p95>200ms", 2000);
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->rule, "slo");
    EXPECT_THAT(stopped->text, HasSubstr("certainly missed"));
    EXPECT_FALSE(stopped_by("slo:ttft_p95>320ms", 2000));
    EXPECT_FALSE(stopped_by("slo:ttft_p50>200ms", 2000)) << "the median is at the limit";
}

/// Returns the course of a queue, first in, first out: `servers` answer in a mean of 1 s each; the first
/// token comes after a tenth of that.
CourseOfLoad course_of(double rate, int servers, double length_s, std::uint64_t seed) {
    Random random(derived_seed(seed, "queue"));
    CourseOfLoad course;
    course.now_s = length_s;
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (int i = 0; i < servers; ++i) free.push(0);
    double due = 0;
    while (true) {
        due += random.exponential() / rate;
        if (due > length_s) break;
        course.due_s.push_back(due);
        const double begin = std::max(due, free.top());
        free.pop();
        const double end = begin + random.exponential();
        free.push(end);
        if (end <= length_s) course.ends.push_back({due, end, begin - due + 0.1});
    }
    return course;
}

TEST(Divergence, IsSeenWithinAMinuteWhereTwiceAsMuchArrivesAsIsServed) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        EXPECT_TRUE(divergence_of(course_of(20, 10, 60, seed))) << seed;
        EXPECT_TRUE(divergence_of(course_of(15, 10, 90, seed))) << seed;
    }
    EXPECT_THAT(*divergence_of(course_of(20, 10, 60, 1)), HasSubstr("offered"));
}

TEST(Divergence, IsNotSeenInAQueueInEquilibriumHoweverOftenOneLooks) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        for (const double rate : {3.0, 8.0, 9.0}) {
            for (double length = 10; length < 400; length *= 1.5)
                EXPECT_FALSE(divergence_of(course_of(rate, 10, length, seed)))
                    << "seed " << seed << ", " << length << " s at " << rate << " per second";
        }
    }
}

TEST(Divergence, IsNotSeenWhileAnEmptyServerFills) {
    // Answers take half a minute and their first token a tenth of a second: the number in flight grows all
    // the time.
    CourseOfLoad course;
    course.now_s = 45;
    for (double due = 0; due < course.now_s; due += 0.05) {
        course.due_s.push_back(due);
        if (due + 30 <= course.now_s) course.ends.push_back({due, due + 30, 0.1});
    }
    EXPECT_FALSE(divergence_of(course));
}

TEST(StopMonitor, WatchesForDivergenceWhereTheRateIsConstantUnlessToldOtherwise) {
    const auto diverges = [](bool stationary, std::initializer_list<const char*> rules) {
        StopMonitorOptions options{.open_loop = true, .stationary = stationary, .concurrency = {}};
        for (const char* rule : rules) options.rules.push_back(parse_stop_rule(rule));
        StopMonitor monitor(options);
        const CourseOfLoad course = course_of(20, 10, 60, 2);
        const auto at = [](double s) { return kRunBegin + from_seconds(s); };
        for (const double due : course.due_s) {
            RequestRecord record;
            record.scheduled = at(due);
            monitor.started(record);
        }
        for (const auto& end : course.ends) {
            RequestRecord record;
            record.scheduled = at(end.due_s);
            record.first_event = at(end.due_s + end.waited_s);
            record.closed = at(end.at_s);
            monitor.ended(record);
        }
        monitor.look(at(60));
        return monitor.stopped().value_or(Stopped{}).rule;
    };
    EXPECT_EQ(diverges(true, {}), "diverging");
    EXPECT_EQ(diverges(true, {"diverging=off"}), "");
    EXPECT_EQ(diverges(false, {}), "");
    EXPECT_EQ(diverges(false, {"diverging"}), "diverging");
}

/// Returns whether a load diverges whose requests wait in the client for one of 10 slots, each of which
/// serves about 1 request per second.
bool diverges_behind_a_cap(double rate, double length_s) {
    StopMonitor monitor({.open_loop = true, .stationary = true, .concurrency = 10});
    Random random(derived_seed(3, "queue"));
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (int i = 0; i < 10; ++i) free.push(0);
    const auto at = [](double s) { return kRunBegin + from_seconds(s); };
    for (double due = 0; due < length_s;) {
        due += random.exponential() / rate;
        const double begin = std::max(due, free.top());
        if (begin > length_s) break;
        free.pop();
        free.push(begin + random.exponential());
        RequestRecord record;
        record.scheduled = at(due);
        record.started = at(begin);
        record.slot_wait = record.started - record.scheduled;
        record.first_event = at(begin + 0.1);
        record.closed = at(begin + 1);
        monitor.started(record);
        if (record.closed <= at(length_s)) monitor.ended(record);
    }
    monitor.look(at(length_s));
    return monitor.stopped().value_or(Stopped{}).rule == "diverging";
}

TEST(StopMonitor, SeesAQueueThatWaitsInTheClient) {
    EXPECT_TRUE(diverges_behind_a_cap(20, 120));
    EXPECT_TRUE(diverges_behind_a_cap(15, 180));
    EXPECT_FALSE(diverges_behind_a_cap(5, 180));
}

}  // namespace
}  // namespace paretoken::loadgen
