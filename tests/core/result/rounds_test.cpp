#include "core/result/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

/// Returns the rounds of `count` requests that start one second apart.
Rounds of_requests(std::size_t count, std::uint64_t in_flight) {
    std::vector<RequestRecord> records;
    for (std::size_t i = 0; i < count; ++i)
        records.push_back(script::answered(kStart + std::chrono::seconds(i), {}));
    const RequestTable table(records);
    return rounds_of(RequestRows(table), {kStart, kStart + std::chrono::seconds(count)}, in_flight);
}

TEST(Rounds, leave_out_the_start_of_the_window_and_a_remainder_there) {
    const Rounds rounds = of_requests(103, 5);  // 20 whole rounds: 2 and the remainder of 3 are left out
    EXPECT_EQ(rounds.count, 18U);
    EXPECT_DOUBLE_EQ(rounds.share, 90.0 / 103);
    ASSERT_EQ(rounds.edges.size(), 19U);
    EXPECT_EQ(rounds.edges.front(), kStart + 13s);
    EXPECT_EQ(rounds.edges[1], kStart + 18s);
    EXPECT_EQ(rounds.edges.back(), kStart + 103s) << "the end of the window";
    EXPECT_EQ(of_requests(500, 5).count, 90U) << "a tenth is more than 2";
}

TEST(Rounds, are_none_where_fewer_than_ten_would_be_left) {
    EXPECT_EQ(of_requests(59, 5).count, 0U);
    EXPECT_TRUE(of_requests(59, 5).edges.empty());
    EXPECT_EQ(of_requests(60, 5).count, 10U);
    EXPECT_EQ(of_requests(0, 5), Rounds{.requests = 5});
}

TEST(Rounds, are_never_fewer_in_a_longer_window) {
    std::uint64_t before = 0;
    for (std::size_t count = 0; count < 400; count += 3) {
        const std::uint64_t now = of_requests(count, 3).count;
        EXPECT_GE(now, before) << count;
        before = now;
    }
}

TEST(Rounds, form_at_most_sixty_groups_of_whole_rounds) {
    const Rounds rounds = of_requests(1000, 4);  // 225 rounds from request 100 on
    EXPECT_EQ(rounds.count, 225U);
    ASSERT_EQ(rounds.edges.size(), 61U);
    EXPECT_EQ(rounds.edges.front(), kStart + 100s);
    for (std::size_t i = 0; i + 1 < rounds.edges.size(); ++i) {
        const auto length = rounds.edges[i + 1] - rounds.edges[i];
        EXPECT_TRUE(length == 12s || length == 16s) << "three or four rounds";
    }
}

TEST(Rounds, count_as_a_sample_from_four_requests_on) {
    EXPECT_EQ(samples_of(Rounds{.requests = 64, .count = 50}), 50);
    EXPECT_EQ(samples_of(Rounds{.requests = 4, .count = 50}), 50);
    EXPECT_EQ(samples_of(Rounds{.requests = 2, .count = 50}), 25);
    EXPECT_EQ(samples_of(Rounds{.requests = 1, .count = 50}), 12);
}

TEST(Rounds, last_half_as_long_as_a_request_that_is_in_flight_at_any_moment) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 400; ++i) {  // 9 of 10 take 100 ms, and the tenth 3.1 s: 400 ms on average
        const Duration time = i % 10 == 9 ? 3100ms : 100ms;
        records.push_back(script::answered(kStart + i * 100ms, {.ttft = time, .gap = 0ms}));
    }
    const RequestTable table(records);
    const TimeSpan window{kStart, kStart + 40s};
    // A request that is in flight takes (.9 · .1² + .1 · 3.1²) ÷ .4 = 2.425 s, 6.06 times the average.
    const Rounds rounds = rounds_of(RequestRows(table), window, 4);
    EXPECT_EQ(rounds.requests, 12U);
    EXPECT_EQ(rounds.count, 30U) << "of 33, without the first three";
    const auto only_short = RequestRows(table).filtered(
        [](const RequestRecord& record) { return record.closed - record.started < 1s; });
    EXPECT_EQ(rounds_of(only_short, window, 4).requests, 12U) << "a window may lack the long ones";
    EXPECT_EQ(rounds_of(RequestRows(table), window, 16).count, 0U) << "48 requests each are too few rounds";
}

/// Returns how far rounds of 8 requests run in step. Each takes 1 s, and its requests are sent within
/// `spread` and get their first tokens one after the other, each after `prefill`.
std::optional<double> in_step_when_sent_within(Duration spread, Duration prefill, int rounds = 50) {
    Random random(3);
    std::vector<RequestRecord> records;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Duration> offsets;
        for (int i = 0; i < 8; ++i) offsets.push_back(from_seconds(random.uniform() * seconds(spread)));
        std::sort(offsets.begin(), offsets.end());
        Duration busy_until{};
        for (const Duration at : offsets) {
            busy_until = std::max(busy_until, at) + prefill;
            records.push_back(script::answered(kStart + round * 1s + at, {.ttft = busy_until - at}));
        }
    }
    const RequestTable table(records);
    return in_step(RequestRows(table), 8);
}

TEST(InStep, is_the_time_without_a_dispatch_where_requests_wait_for_each_other) {
    EXPECT_GT(*in_step_when_sent_within(1ms, 10ms), 0.9);
    EXPECT_LT(*in_step_when_sent_within(1s, 10ms), 0.1);
    EXPECT_GT(*in_step_when_sent_within(200ms, 100ms), 0.6) << "they wait for the prompts of the others";
    EXPECT_EQ(*in_step_when_sent_within(200ms, 10ms), 0) << "they do not wait for each other";
    EXPECT_FALSE(in_step_when_sent_within(1ms, 10ms, 2));
}

}  // namespace
}  // namespace paretoken
