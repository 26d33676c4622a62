#include "core/result/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/text/number_text.h"
#include "tests/core/load_script.h"
#include "tests/support/without_fact.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;
using ::testing::HasSubstr;
using ::testing::Not;

SummaryOptions closed_loop(std::uint64_t concurrency) {
    SummaryOptions options;
    options.concurrency = concurrency;
    return options;
}

SummaryOptions open() {
    SummaryOptions options;
    options.open_loop = true;
    return options;
}

std::vector<RequestRecord> rising(double rate, std::size_t count, double growth) {
    auto records = script::open_loop(rate, count, {});
    for (std::size_t i = 0; i < count; ++i) {
        const auto wait = from_seconds(growth * seconds(records[i].scheduled - kStart));
        records[i] =
            script::answered(records[i].scheduled, {.ttft = 100ms + wait, .gap = 10ms, .tokens = 11});
    }
    return records;
}

/// Returns requests one at a time, each 200 ms after the one before: a number of requests for each time to
/// first token.
std::vector<RequestRecord> one_after_another(const std::vector<std::pair<int, Duration>>& levels) {
    std::vector<RequestRecord> records;
    Random random(7);
    auto at = kStart;
    for (const auto& [requests, ttft] : levels) {
        for (int i = 0; i < requests; ++i, at += 200ms)
            records.push_back(script::answered(
                at, script::jittered({.ttft = ttft, .gap = 4ms, .tokens = 11}, 0.05, random)));
    }
    return records;
}

TEST(RunSpan, is_from_the_first_scheduled_start_to_just_past_the_last_byte_without_warm_up) {
    std::vector<RequestRecord> records{script::answered(kStart + 2s, {}), script::answered(kStart + 1s, {}),
                                       script::answered(kStart, {})};
    records[2].warmup = true;
    const auto run = run_of(records);
    EXPECT_EQ(run.begin, kStart + 1s);
    EXPECT_EQ(run.end, kStart + 2s + 200ms + 1ns);
    EXPECT_TRUE(run.contains(*records[0].last_event));
    EXPECT_EQ(run_of({}).length(), 0s);
}

TEST(SteadyWindow, refusals_at_a_steady_pace_are_no_steady_state) {
    auto records = script::closed_loop(8, 200, {});
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (i % 10 != 0) records[i] = script::failed(records[i].scheduled);
    }
    const auto window = steady_window_of(records, closed_loop(8));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("requests failed"));
}

/// Returns the number of requests that ended in the span.
std::size_t count_of_ends(const std::vector<RequestRecord>& records, TimeSpan span) {
    return static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(),
                      [&](const RequestRecord& record) { return span.contains(*record.last_event); }));
}

TEST(SteadyWindow, of_a_closed_loop_leaves_out_the_first_wave_and_the_drain) {
    const auto records = script::closed_loop(8, 200, {});
    const auto window = steady_window_of(records, closed_loop(8));
    ASSERT_TRUE(window.steady) << window.how;
    const auto ended = std::count_if(records.begin(), records.begin() + 8,
                                     [&](const auto& record) { return record.closed <= window.span.begin; });
    EXPECT_EQ(ended, 4);
    EXPECT_LE(window.span.end, records.back().started);
    EXPECT_GT(count_of_ends(records, window.span), 170U);
    EXPECT_EQ(count_of_ends(records, window.span) % 8, 0U);
    EXPECT_THAT(window.how, HasSubstr("half of the first 8 requests had ended"));
}

TEST(SteadyWindow, of_a_few_rounds_in_step_holds_whole_rounds_too) {
    std::vector<RequestRecord> records;  // 8 users start within 230 ms; each request takes 1.16 s
    for (int round = 0; round < 5; ++round)
        for (int user = 0; user < 8; ++user)
            records.push_back(script::answered(kStart + round * 1160ms + user * 33ms,
                                               {.ttft = 140ms, .gap = 10ms, .tokens = 103}));
    const auto window = steady_window_of(records, closed_loop(8));
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_THAT(window.how, HasSubstr("in whole rounds of 8"));
    EXPECT_EQ(count_of_ends(records, window.span) % 8, 0U);
    EXPECT_NEAR(static_cast<double>(count_of_ends(records, window.span)) / seconds(window.span.length()),
                8 / 1.16, 0.01 * 8 / 1.16);
}

TEST(SteadyWindow, ends_when_the_schedule_ran_dry) {
    const auto records = script::closed_loop(4, 200, {});
    auto options = closed_loop(4);
    options.last_dispatch = kStart + 5s;
    const auto ends_near = [&](TimePoint last) {
        const TimePoint end = steady_window_of(records, options).span.end;
        EXPECT_LE(end, last);
        EXPECT_GT(end, last - 2 * script::length_of({})) << "less than a round is cut off";
    };
    ends_near(kStart + 5s);
    options.last_dispatch = kStart + 5h;
    ends_near(run_of(records).end);
}

TEST(SteadyWindow, begins_with_the_full_load_when_waiting_longer_would_leave_too_few) {
    const auto records =
        script::closed_loop(8, 33, {});  // three waves are needed; after the first one two are left
    const auto window = steady_window_of(records, closed_loop(8));
    EXPECT_TRUE(window.steady) << window.how;
    EXPECT_EQ(window.span.begin, kStart);
    EXPECT_THAT(window.how, HasSubstr("from when 8 requests were in flight"));
}

TEST(SteadyWindow, of_too_few_requests_is_the_whole_run_and_says_so) {
    const auto records = script::closed_loop(2, 9, {});
    const auto window = steady_window_of(records, closed_loop(2));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("8 requests were scheduled"));
    EXPECT_THAT(window.how, HasSubstr("and 10 are needed"));
    EXPECT_EQ(window.span, run_of(records));
}

TEST(SteadyWindow, is_not_found_when_in_flight_never_reaches_the_cap) {
    const auto window = steady_window_of(script::closed_loop(4, 200, {}), closed_loop(64));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("never reached its cap of 64"));
}

TEST(SteadyWindow, forgives_a_fast_server_that_answers_before_the_last_of_many_slots_is_filled) {
    const auto records = script::closed_loop(62, 640, {});
    EXPECT_TRUE(steady_window_of(records, closed_loop(64)).steady);
    EXPECT_FALSE(steady_window_of(records, closed_loop(70)).steady);
}

TEST(SteadyWindow, after_warm_up_slots_begins_with_the_first_request_that_counts) {
    auto records = script::closed_loop(4, 200, {});
    for (std::size_t i = 0; i < 40; ++i) records[i].warmup = true;
    const auto window = steady_window_of(records, closed_loop(4));
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_EQ(window.span.begin, records[40].scheduled);
}

/// Returns requests whose rate rises from 1 to 8 per second, each of which takes `wait` and 1 s.
std::vector<RequestRecord> faster_and_faster(double wait_per_s) {
    std::vector<RequestRecord> records;
    TimePoint at = kStart;
    while (at < kStart + 60s) {
        const double since = seconds(at - kStart);
        const auto ttft = 500ms + from_seconds(wait_per_s * since);
        records.push_back(script::answered(at, {.ttft = ttft, .gap = 50ms, .tokens = 11}));
        at += from_seconds(1 / (1 + 7 * since / 60));
    }
    return records;
}

TEST(SteadyWindow, of_rising_arrivals_is_not_overloaded_while_requests_take_the_same_time) {
    SummaryOptions rising = open();
    rising.stationary = false;
    EXPECT_FALSE(steady_window_of(faster_and_faster(0), rising).overloaded);
    EXPECT_FALSE(steady_window_of(faster_and_faster(0), open()).overloaded);
    EXPECT_TRUE(steady_window_of(faster_and_faster(0.5), rising).overloaded);
}

/// Returns Poisson arrivals at a server of any capacity, which takes 3.2 s for each request.
std::vector<RequestRecord> unlimited(double per_second, int count, std::uint64_t seed) {
    Random random(seed);
    std::vector<RequestRecord> records;
    TimePoint at = kStart;
    for (int i = 0; i < count; ++i) {
        records.push_back(script::answered(at, {.ttft = 50ms, .gap = 100ms, .tokens = 32}));
        at += from_seconds(random.exponential() / per_second);
    }
    return records;
}

TEST(SteadyWindow, of_a_short_open_loop_is_not_overloaded_because_the_first_requests_have_not_ended) {
    for (std::uint64_t seed = 0; seed < 40; ++seed)
        for (const int count : {100, 300})
            EXPECT_FALSE(steady_window_of(unlimited(25, count, seed), open()).overloaded) << seed;
}

TEST(SteadyWindow, of_an_open_loop_begins_at_the_plateau_of_in_flight) {
    // 50 per second, each 2 s in the system: 100 in flight, reached after about 2 s.
    const auto records = script::open_loop(50, 2000, {.ttft = 1s, .gap = 100ms, .tokens = 11});
    const auto window = steady_window_of(records, open());
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_GT(window.span.begin, kStart + 1s);
    EXPECT_LT(window.span.begin, kStart + 6s);
    EXPECT_EQ(window.span.end, records.back().started);
}

TEST(SteadyWindow, is_refused_while_latency_keeps_rising) {
    auto records = one_after_another({{1000, 100ms}});
    for (std::size_t i = 0; i < records.size(); ++i)
        records[i] =
            script::answered(records[i].scheduled, {.ttft = 100ms + i * 50us, .gap = 5ms, .tokens = 11});
    const auto window = steady_window_of(records, closed_loop(1));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("the time to first token rose by 40 % of its mean over the run"));
    // Whoever does not know when requests were sent, or when the first token came, sees it all the same.
    for (const auto& [fact, title] : {std::pair(Fact::sent, "the time to first token rose"),
                                      {Fact::first_event, "the end-to-end latency rose"}}) {
        auto less = records;
        for (RequestRecord& record : less)
            record =
                testing::without_fact(testing::without_fact(std::move(record), Fact::output_tokens), fact);
        const auto of_less = steady_window_of(less, closed_loop(1));
        EXPECT_FALSE(of_less.steady);
        EXPECT_THAT(of_less.how, HasSubstr(title));
    }
}

TEST(SteadyWindow, tolerates_a_drift_too_small_to_matter) {
    EXPECT_TRUE(steady_window_of(rising(50, 1000, 0.0004), open()).steady);
}

TEST(SteadyWindow, is_refused_while_a_queue_grows) {
    // One server ends 10 requests per second, and 12 arrive.
    std::vector<RequestRecord> records;
    auto free_at = kStart;
    for (int i = 0; i < 600; ++i) {
        const auto arrival = kStart + i * 83ms;
        free_at = std::max(free_at, arrival) + 100ms;
        records.push_back(script::answered(arrival, {.ttft = free_at - arrival, .gap = 0ms, .tokens = 2}));
    }
    const auto window = steady_window_of(records, open());
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("the number of requests that were due and not over grew"));
    EXPECT_THAT(window.how, HasSubstr("the server does not keep up with them; figures"));
}

TEST(SteadyWindow, sees_a_queue_at_several_times_the_capacity_although_even_the_first_requests_wait) {
    for (const int times : {3, 8}) {
        std::vector<RequestRecord> records;
        auto free_at = kStart;
        for (int i = 0; i < 60 * times; ++i) {  // one server ends 10 requests per second, for 6 s of arrivals
            const auto arrival = kStart + i * 100ms / times;
            free_at = std::max(free_at, arrival) + 100ms;
            records.push_back(
                script::answered(arrival, {.ttft = free_at - arrival, .gap = 0ms, .tokens = 2}));
        }
        EXPECT_TRUE(steady_window_of(records, open()).overloaded) << times;
    }
}

/// Returns 15 s of arrivals at an engine whose batch holds 64 requests, each for 2 s. Its capacity is 32 per
/// second.
std::vector<RequestRecord> at_a_batch(double per_second, double variation, std::uint64_t seed) {
    Random random(seed);
    std::vector<RequestRecord> records;
    std::array<TimePoint, 64> free_at{};
    free_at.fill(kStart);
    for (TimePoint at = kStart; at < kStart + 15s;) {
        TimePoint& slot = *std::ranges::min_element(free_at);
        const TimePoint begin = std::max(at, slot);
        records.push_back(script::answered(at, {.ttft = begin + 50ms - at, .gap = 50ms, .tokens = 40}));
        slot = records.back().closed;
        at += from_seconds(random.gamma(1 / (variation * variation)) * variation * variation / per_second);
    }
    return records;
}

TEST(SteadyWindow, sees_in_a_short_run_that_more_and_more_requests_wait_for_their_first_token) {
    int calm = 0;
    int bursts = 0;
    int overloaded = 0;
    int by_waits = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        calm += steady_window_of(at_a_batch(29, 1, seed), open()).overloaded ? 1 : 0;
        bursts += steady_window_of(at_a_batch(26, 3, seed), open()).overloaded ? 1 : 0;
        overloaded += steady_window_of(at_a_batch(64, 1, seed), open()).overloaded ? 1 : 0;
        const std::string how = steady_window_of(at_a_batch(48, 1, seed), open()).how;
        by_waits += how.find("requests that wait for their first token grew by") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(calm, 0);
    EXPECT_LE(bursts, 1);
    EXPECT_EQ(overloaded, 20);
    EXPECT_GT(by_waits, 0) << "the number in flight alone does not show it";
}

/// Returns 320 requests at 85 % of the capacity of 16 slots, in which requests stay for exponential times.
std::vector<RequestRecord> near_capacity(std::uint64_t seed) {
    constexpr double kMeanStay = 1.2;
    Random random(seed);
    std::vector<RequestRecord> records;
    std::array<TimePoint, 16> free_at{};
    free_at.fill(kStart);
    TimePoint at = kStart;
    for (int i = 0; i < 320; ++i) {
        TimePoint& slot = *std::ranges::min_element(free_at);
        const TimePoint begin = std::max(at, slot);
        const Duration stay = from_seconds(random.gamma(1) * kMeanStay);
        records.push_back(
            script::answered(at, {.ttft = begin + stay / 2 - at, .gap = stay / 2, .tokens = 2}));
        slot = records.back().closed;
        at += from_seconds(random.gamma(1) * kMeanStay / (0.85 * free_at.size()));
    }
    return records;
}

TEST(SteadyWindow, seldom_calls_a_load_just_below_the_capacity_overloaded) {
    int overloaded = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        overloaded += steady_window_of(near_capacity(seed), open()).overloaded ? 1 : 0;
    EXPECT_LE(overloaded, 3);
}

/// Returns requests that arrive `gap` apart at a client that keeps at most 2 in flight. Each takes 200 ms.
std::vector<RequestRecord> behind_a_cap_of_two(int count, Duration gap) {
    std::vector<RequestRecord> records;
    std::array<TimePoint, 2> free_at{kStart, kStart};
    for (int i = 0; i < count; ++i) {
        TimePoint& slot = *std::min_element(free_at.begin(), free_at.end());
        const TimePoint due = kStart + i * gap;
        RequestRecord record = script::answered(std::max(due, slot), {});
        slot = record.closed;
        record.slot_wait = record.started - due;
        record.scheduled = due;
        records.push_back(std::move(record));
    }
    return records;
}

TEST(SteadyWindow, is_refused_while_a_queue_grows_behind_a_cap) {
    SummaryOptions capped = open();
    capped.concurrency = 2;
    const auto window = steady_window_of(behind_a_cap_of_two(600, 83ms), capped);
    EXPECT_TRUE(window.overloaded) << window.how;
    EXPECT_THAT(window.how, HasSubstr("does not keep up with them, with at most 2 in flight"));
    EXPECT_FALSE(steady_window_of(behind_a_cap_of_two(600, 125ms), capped).overloaded);
}

TEST(SteadyWindow, sees_a_queue_behind_a_cap_also_in_a_run_that_was_stopped) {
    SummaryOptions capped = open();
    capped.concurrency = 2;
    capped.last_dispatch = kStart + 30s;
    auto records = behind_a_cap_of_two(600, 70ms);
    std::erase_if(records, [](const RequestRecord& record) { return record.started > kStart + 30s; });
    const auto window = steady_window_of(records, capped);
    EXPECT_TRUE(window.overloaded) << window.how;
}

/// Returns Poisson arrivals of 20 per second for `first`, and of 40 per second for `second`.
std::vector<RequestRecord> two_rates(Duration first, Duration second) {
    std::vector<RequestRecord> records;
    Random random(3);
    TimePoint at = kStart;
    while (at < kStart + first + second) {
        records.push_back(script::answered(at, script::jittered({}, 0.3, random)));
        at += from_seconds(random.exponential() / (at < kStart + first ? 20 : 40));
    }
    return records;
}

TEST(SteadyWindow, lies_in_the_part_with_the_most_requests_where_the_planned_rate_changes) {
    SummaryOptions steps = open();
    steps.stationary = false;
    steps.constant_rate = {{kStart, kStart + 60s}, {kStart + 60s, TimePoint::max()}};
    const auto last = steady_window_of(two_rates(60s, 60s), steps);
    ASSERT_TRUE(last.steady) << last.how;
    EXPECT_GE(last.span.begin, kStart + 60s);
    EXPECT_THAT(last.how, HasSubstr("to the last dispatch"));
    const auto first = steady_window_of(two_rates(60s, 10s), steps);
    ASSERT_TRUE(first.steady) << first.how;
    EXPECT_EQ(first.span.end, kStart + 60s);
    EXPECT_THAT(first.how, HasSubstr("to the next change of the planned rate"));
}

TEST(SteadyWindow, is_not_found_if_all_requests_were_sent_at_once) {
    std::vector<RequestRecord> records;
    for (std::uint32_t i = 0; i < 200; ++i) records.push_back(script::answered(kStart, {.tokens = 10 + i}));
    SummaryOptions at_once;  // without a cap
    at_once.constant_rate = {{kStart, TimePoint::max()}};
    EXPECT_THAT(steady_window_of(records, at_once).how, HasSubstr("all requests were sent at once"));
    at_once.last_dispatch = kStart;
    for (RequestRecord& record : records) record.turn = Turn{.conversation = 0, .number = 1};
    EXPECT_THAT(steady_window_of(records, at_once).how, HasSubstr("all conversations or jobs began at once"))
        << "their later turns did not";
}

TEST(SteadyWindow, is_never_found_while_the_planned_rate_changes) {
    const auto records = script::open_loop(20, 1200, {});
    ASSERT_TRUE(steady_window_of(records, open()).steady);
    SummaryOptions ramp = open();
    ramp.stationary = false;
    ramp.constant_rate = {{kStart + 1h, TimePoint::max()}};
    const auto window = steady_window_of(records, ramp);
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("the planned rate of arrivals changes, and no part"));
    ramp.constant_rate = {{kStart + 50s, TimePoint::max()}};
    EXPECT_FALSE(steady_window_of(records, ramp).steady) << "the part has too few requests";
    ramp.constant_rate = {{kStart + 30s, TimePoint::max()}};
    EXPECT_TRUE(steady_window_of(records, ramp).steady);
}

TEST(SteadyWindow, of_recorded_arrivals_shows_where_their_rate_changes) {
    // The server answers at once, so that neither a latency nor the number in flight shows the change.
    auto records = two_rates(60s, 60s);
    for (RequestRecord& record : records)
        record = script::answered(record.scheduled, {.ttft = 1ms, .gap = 1ms, .tokens = 2});
    SummaryOptions recorded = open();
    recorded.stationary = false;
    const auto window = steady_window_of(records, recorded);
    EXPECT_TRUE(!window.steady || window.span.end <= kStart + 62s || window.span.begin >= kStart + 58s);
    EXPECT_THAT(window.how, HasSubstr("the rate of arrivals rose"));
}

TEST(SteadyWindow, leaves_out_a_start_that_takes_long_to_fill) {
    // 20 requests per second take longer and longer, until each takes 2 s after 20 s.
    std::vector<RequestRecord> records;
    Random random(4);
    for (int i = 0; i < 2000; ++i) {
        const double share = std::min(1.0, (i + 1) / 400.0);
        records.push_back(script::answered(
            kStart + i * 50ms, script::jittered({.ttft = from_seconds(2 * share), .gap = 0ms}, 0.2, random)));
    }
    const auto window = steady_window_of(records, open());
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_GE(window.span.begin, kStart + 15s);
    EXPECT_LE(window.span.begin, kStart + 40s);
}

TEST(SteadyWindow, is_seldom_refused_for_steady_load) {
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        refused +=
            steady_window_of(script::closed_loop(8, 150, {}, 0.5, seed), closed_loop(8)).steady ? 0 : 1;
        refused += steady_window_of(script::open_loop(40, 150, {}, 0.5, seed), open()).steady ? 0 : 1;
    }
    EXPECT_LE(refused, 6);
}

TEST(SteadyWindow, of_lockstep_requests_is_steady_too) {
    const auto window = steady_window_of(script::closed_loop(32, 320, {}, 0), closed_loop(32));
    EXPECT_TRUE(window.steady) << window.how;
}

TEST(SteadyWindow, is_the_first_plateau_and_names_the_later_one) {
    const auto window = steady_window_of(one_after_another({{500, 100ms}, {700, 150ms}}), closed_loop(1));
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_NEAR(seconds(window.span.end - kStart), 100, 2.5);
    EXPECT_LT(window.span.end, kStart + 500 * 200ms);
    EXPECT_THAT(window.how, HasSubstr(" s, when the time to first token rose by 3"));
    EXPECT_THAT(window.how, HasSubstr("% of its mean to another level"));
    ASSERT_FALSE(window.tests.empty());
    for (const auto& test : window.tests) EXPECT_GT(test.p, 0.001) << test.series << " " << test.test;
}

TEST(SteadyWindow, leaves_out_a_short_start_on_another_level) {
    const auto window = steady_window_of(one_after_another({{150, 150ms}, {1000, 100ms}}), closed_loop(1));
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_NEAR(seconds(window.span.begin - kStart), 30, 2.5);
    EXPECT_EQ(window.span.end, kStart + 1149 * 200ms);
    EXPECT_THAT(window.how, HasSubstr("from " + number_text(seconds(window.span.begin - kStart)) +
                                      " s, when the time to first token fell by"));
}

TEST(SteadyWindow, is_refused_where_the_level_rises_step_by_step) {
    const auto window = steady_window_of(
        one_after_another({{200, 60ms}, {200, 80ms}, {200, 100ms}, {200, 120ms}, {200, 140ms}}),
        closed_loop(1));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("the time to first token"));
    EXPECT_FALSE(window.tests.empty());
}

TEST(SteadyWindow, is_refused_with_the_probable_cause_where_answers_have_one_length) {
    auto records = script::closed_loop(4, 400, {.ttft = 50ms}, 0.1);
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].wanted_output_tokens = 8;
        *records[i].first_event += from_seconds(.1 * static_cast<double>(i) / 400);
    }
    const auto window = steady_window_of(records, closed_loop(4));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("the time to first token rose by "));
    EXPECT_THAT(window.how, HasSubstr("lengths that vary, as with --range-ratio 0.1, avoid it"));
    records[200].wanted_output_tokens = 9;
    EXPECT_THAT(steady_window_of(records, closed_loop(4)).how, Not(HasSubstr("--range-ratio")));
}

TEST(SteadyWindow, sees_a_cache_that_grows_warm) {
    auto records = one_after_another({{1000, 100ms}});
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].usage.prompt = 100;
        records[i].usage.cached_prompt = i < 400 ? 10 : 80;
    }
    const auto window = steady_window_of(records, closed_loop(1));
    ASSERT_TRUE(window.steady) << window.how;
    EXPECT_LE(window.span.end, kStart + 82s);
    EXPECT_THAT(window.how, HasSubstr("the share of cached prompt tokens rose"));
}

TEST(SteadyWindow, is_at_least_three_median_requests_long) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 40; ++i)
        records.push_back(script::answered(kStart + i * 10ms, {.ttft = 2s, .gap = 10ms, .tokens = 11}));
    const auto window = steady_window_of(records, closed_loop(4));
    EXPECT_FALSE(window.steady);
    EXPECT_THAT(window.how, HasSubstr("three times the median time of a request"));
}

TEST(SteadyWindow, of_nothing_is_nothing) {
    const auto window = steady_window_of({}, closed_loop(1));
    EXPECT_FALSE(window.steady);
    EXPECT_EQ(window.span.length(), 0s);
}

}  // namespace
}  // namespace paretoken
