#include "core/record/client_delays.h"

#include <gtest/gtest.h>

#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

constexpr TimeSpan kWindow{kStart, kStart + 100s};

/// Returns a request of 200 ms that was sent `lag` after it was due.
RequestRecord sent_after(TimePoint due, Duration lag) {
    RequestRecord record = script::answered(due + lag, {});
    record.scheduled = due;
    record.started = due;
    record.ready = due;
    return record;
}

TEST(HeldBackLoad, of_a_closed_loop_is_the_time_of_empty_slots_over_that_of_the_server) {
    HeldBackLoad load(kWindow);
    for (int i = 0; i < 10; ++i) load.add(sent_after(kStart + i * 1s, 20ms));
    EXPECT_NEAR(load.share(false), 0.1, 1e-12);
    HeldBackLoad of_any_host(kWindow);
    for (int i = 0; i < 10; ++i) of_any_host.add(sent_after(kStart + i * 1s, 90us));
    EXPECT_EQ(of_any_host.share(false), 0);
}

TEST(HeldBackLoad, of_an_open_loop_is_what_was_due_in_the_window_and_sent_after_it) {
    HeldBackLoad load(kWindow);
    for (int i = 0; i < 100; ++i) load.add(sent_after(kStart + i * 1s, i < 90 ? 0s : 20s));
    EXPECT_NEAR(load.share(true), 100.0 / 90 - 1, 1e-12);
    EXPECT_EQ(load.achieved_rate(), 0.9);
    HeldBackLoad one(kWindow);
    for (int i = 0; i < 10; ++i) one.add(sent_after(kStart + i * 10s, i < 9 ? 0s : 20s));
    EXPECT_EQ(one.share(true), 0) << "a single late request is no share";
}

TEST(HeldBackLoad, leaves_out_what_the_server_caused) {
    HeldBackLoad load(kWindow);
    load.add(sent_after(kStart, 0s));
    RequestRecord twice = sent_after(kStart, 50ms);
    twice.resent = true;
    load.add(twice);
    RequestRecord without_connection = sent_after(kStart, 50ms);
    without_connection.ready = kStart + 50ms;
    load.add(without_connection);
    load.add(script::failed(kStart));
    EXPECT_EQ(load.share(false), 0);
    EXPECT_EQ(HeldBackLoad(kWindow).achieved_rate(), std::nullopt);
}

}  // namespace
}  // namespace paretoken
