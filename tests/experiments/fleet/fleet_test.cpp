// Shard 0 and the others in threads of this process, without a load: they meet, begin, end and part.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "experiments/fleet/follower.h"
#include "experiments/fleet/leader.h"
#include "reports/files/recorded_files.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

LoadPlan load_of_shard(std::uint32_t number, std::uint32_t count, const PlanTexts& texts = {}) {
    PlanTexts all = texts;
    all.insert({{"url", {"http://127.0.0.1:9"}}, {"concurrency", {"8"}}, {"salt", {"s"}}});
    LoadPlan plan = plan_of(all);
    plan.fleet.shard = std::to_string(number) + "/" + std::to_string(count);
    return plan;
}

struct Fleet : ::testing::Test {
    static constexpr Duration kPatience = 20s;

    std::unique_ptr<Leader> leader(std::uint32_t count, Duration patience = kPatience) {
        return std::make_unique<Leader>(hello_of(load_of_shard(0, count), "word"), listener_, patience,
                                        watcher_, stop_.get_token());
    }
    std::unique_ptr<Follower> follower(const LoadPlan& plan, Duration patience = kPatience) {
        const MeetingPlace place{.hosts = {"127.0.0.1"}, .port = listener_.port(), .token = "word"};
        return std::make_unique<Follower>(
            hello_of(plan, ""), [place] { return std::optional(place); }, patience, stop_.get_token());
    }

    Listener listener_{0};
    Watcher watcher_;
    std::stop_source stop_;
};

TEST_F(Fleet, makes_a_load_in_parts_that_begin_and_end_together) {
    constexpr std::uint32_t kShards = 3;
    const fs::path directory = fs::path(::testing::TempDir()) / "fleet_parts";
    fs::remove_all(directory);
    std::atomic<bool> ended_alone{false};
    std::vector<std::thread> others;
    for (std::uint32_t number = 1; number < kShards; ++number)
        others.emplace_back([&, number] {
            const LoadPlan own = load_of_shard(number, kShards);
            const auto follows = follower(own);
            const auto order = follows->next_order(own, {});
            ASSERT_TRUE(order);
            EXPECT_EQ(order->shard, (Shard{number, kShards}));
            EXPECT_EQ(order->plan.classes.front().concurrency, 12U);
            const TimePoint begin = follows->begin();
            EXPECT_GT(begin, Clock::now());
            loadgen::StopMonitor monitor({.rules = {}, .forwards = true});
            loadgen::Progress progress;
            progress.started = 10 * number;
            RequestRecord record;
            record.index = number;
            record.usage.completion = 100;
            record.closed = begin;
            monitor.ended(record);
            while (!monitor.is_met()) {  // until shard 0 says that there are enough tokens
                follows->exchange(monitor, progress);
                std::this_thread::sleep_for(5ms);
            }
            EXPECT_EQ(monitor.stopped()->rule, "tokens");
            ended_alone = ended_alone || follows->interruption().stop_starting.stop_requested();
            follows->load_ends();
            const fs::path run = directory / ("run" + std::to_string(number));
            fs::create_directories(run);
            std::ofstream(run / "begun.json") << number;
            std::ofstream(run / "requests.jsonl") << std::string(3'000'000, static_cast<char>('0' + number));
            EXPECT_TRUE(follows->send_files(run));
            EXPECT_FALSE(follows->next_order(own, {}));
        });
    {
        const auto leads = leader(kShards);
        EXPECT_EQ(leads->divide(load_of_shard(0, kShards, {{"concurrency", {"12"}}})), (Shard{0, kShards}));
        EXPECT_GT(leads->begin(), Clock::now());
        loadgen::StopMonitor monitor({.rules = {loadgen::parse_stop_rule("tokens=200")}});
        loadgen::Progress progress;
        while (!monitor.is_met()) {
            leads->exchange(monitor, progress);
            std::this_thread::sleep_for(5ms);
        }
        leads->exchange(monitor, progress);
        EXPECT_EQ(progress.started, 30U);
        leads->load_ends();
        const auto gathered = leads->gather(directory / "gathered");
        EXPECT_EQ(gathered.directories.size(), kShards - 1);
        for (const auto& [number, error] : gathered.clock_errors_s) EXPECT_GT(error, 0) << number;
        EXPECT_EQ(gathered.clock_errors_s.size(), kShards - 1);
        EXPECT_EQ(fs::file_size(directory / "gathered" / "2" / "requests.jsonl"), 3'000'000U);
    }
    for (std::thread& other : others) other.join();
    EXPECT_FALSE(ended_alone);
    fs::remove_all(directory);
}

/// What each of two shards makes: too little for the rule if it were alone.
struct RuleCase {
    std::string rule;
    std::uint64_t requests = 40;
    Outcome outcome = Outcome::ok;
    bool open_loop = false;
    Duration gap = 150ms;      ///< between the times at which requests are due
    Duration service = 150ms;  ///< between the ends of requests
};

loadgen::StopMonitor monitor_of(const RuleCase& of, bool forwards) {
    return loadgen::StopMonitor(
        {.rules = {loadgen::parse_stop_rule(of.rule)}, .open_loop = of.open_loop, .forwards = forwards});
}

/// Tells a monitor of the requests of a shard during the first minute.
void make_part(loadgen::StopMonitor& monitor, const RuleCase& of, std::uint32_t shard, TimePoint begin) {
    for (std::uint64_t i = 0; i < of.requests; ++i) {
        RequestRecord record;
        record.index = 2 * i + shard;
        record.outcome = of.outcome;
        record.scheduled = record.started = record.ready = begin + i * of.gap;
        record.sent = record.scheduled;
        record.closed = begin + (i + 1) * of.service;
        record.last_event = record.finished = record.closed;
        record.first_event = record.closed - 40ms - i * 7 % 10 * 1ms;
        record.streamed_tokens = record.chunks = 10;
        monitor.started(record);
        if (record.closed <= begin + 60s) monitor.ended(record);
    }
}

TEST_F(Fleet, stops_by_every_rule_that_the_requests_of_all_meet_together) {
    const std::vector<RuleCase> cases = {
        {.rule = "errors=5%", .requests = 15, .outcome = Outcome::http_error},
        {.rule = "precision:ttft_p50=20%"},
        {.rule = "slo:ttft_p50>50ms"},
        {.rule = "diverging", .requests = 150, .open_loop = true, .gap = 400ms, .service = 1100ms}};
    for (const RuleCase& of : cases) {
        SCOPED_TRACE(of.rule);
        const std::string name = of.rule.substr(0, of.rule.find_first_of(":="));
        const TimePoint latest = Clock::now() + kPatience;
        std::thread other([&] {
            const LoadPlan own = load_of_shard(1, 2);
            const auto follows = follower(own);
            ASSERT_TRUE(follows->next_order(own, {}));
            loadgen::StopMonitor monitor = monitor_of(of, true);
            loadgen::Progress progress;
            make_part(monitor, of, 1, follows->begin());
            while (!monitor.is_met() && Clock::now() < latest) {
                follows->exchange(monitor, progress);
                std::this_thread::sleep_for(5ms);
            }
            EXPECT_EQ(monitor.stopped().value_or(Stopped{}).rule, name);
            EXPECT_FALSE(follows->next_order(own, {}));
        });
        {
            const auto leads = leader(2);
            EXPECT_EQ(leads->divide(load_of_shard(0, 2)).count, 2U);
            loadgen::StopMonitor monitor = monitor_of(of, false);
            loadgen::Progress progress;
            const TimePoint begin = leads->begin();
            make_part(monitor, of, 0, begin);
            monitor.look(begin + 60s);
            EXPECT_FALSE(monitor.is_met()) << "its own requests are too few";
            while (!monitor.is_met() && Clock::now() < latest) {
                leads->exchange(monitor, progress);
                monitor.look(begin + 60s);
                std::this_thread::sleep_for(5ms);
            }
            leads->exchange(monitor, progress);
            EXPECT_EQ(monitor.stopped().value_or(Stopped{}).rule, name);
        }
        other.join();
    }
}

TEST_F(Fleet, uses_as_many_shards_as_the_load_has_slots) {
    std::thread other([&] {
        const LoadPlan own = load_of_shard(1, 2);
        const auto follows = follower(own);
        EXPECT_FALSE(follows->next_order(own, {}));
    });
    {
        const auto leads = leader(2);
        EXPECT_EQ(leads->divide(load_of_shard(0, 2, {{"concurrency", {"1"}}})), (Shard{0, 1}));
    }
    other.join();
}

TEST_F(Fleet, a_shard_that_does_not_find_shard_0_says_why) {
    const auto why = [](std::string host, std::uint16_t port) {
        return message_of<RuntimeError>([&] {
            const MeetingPlace place{.hosts = {host}, .port = port, .token = ""};
            Follower(hello_of(load_of_shard(1, 2), ""), [&] { return std::optional(place); }, 300ms, {});
        });
    };
    const std::uint16_t unused = Listener(0).port();
    EXPECT_THAT(why("127.0.0.1", unused), HasSubstr(fmt::format("nothing listens at 127.0.0.1:{}", unused)));
    EXPECT_THAT(why("nobody.invalid", unused), HasSubstr("cannot resolve host 'nobody.invalid'"));
    EXPECT_THAT(message_of<RuntimeError>([&] {
                    Follower(hello_of(load_of_shard(1, 2), ""), [] { return std::nullopt; }, 300ms, {});
                }),
                HasSubstr("its file is not in the directory"));
}

TEST_F(Fleet, names_shards_that_do_not_come_and_strangers_take_no_part) {
    std::thread other([&] {
        EXPECT_THAT(message_of<Error>([&] { follower(load_of_shard(1, 3)); }), HasSubstr("shard 2 of 3"));
    });
    std::thread stranger([&] {
        Channel channel(connected("127.0.0.1", listener_.port(), 5s));
        channel.send(MessageKind::hello, "GET / HTTP/1.1");
        EXPECT_FALSE(channel.receive(10s));
    });
    EXPECT_THAT(message_of<RuntimeError>([&] { leader(3, 3s); }),
                AllOf(HasSubstr("shard 2 of 3"), HasSubstr("--rendezvous-timeout")));
    other.join();
    stranger.join();
    EXPECT_THAT(message_of<RuntimeError>([&] { follower(load_of_shard(1, 3), 300ms); }),
                HasSubstr("shard 0 did not answer"));
}

TEST_F(Fleet, refuses_a_process_with_other_options) {
    std::thread other([&] {
        EXPECT_THAT(message_of<Error>([&] {
                        follower(load_of_shard(1, 2, {{"isl", {"9"}}}));
                    }),
                    HasSubstr("--isl is '9'"));
    });
    EXPECT_THAT(message_of<UsageError>([&] { leader(2); }), HasSubstr("--isl is '9'"));
    other.join();
}

TEST_F(Fleet, ends_the_load_when_a_shard_is_gone) {
    std::thread other([&] {
        const LoadPlan own = load_of_shard(1, 2);
        const auto follows = follower(own);
        ASSERT_TRUE(follows->next_order(own, {}));
        (void)follows->begin();
    });  // the process ends
    const auto leads = leader(2);
    ASSERT_EQ(leads->divide(load_of_shard(0, 2)).count, 2U);
    (void)leads->begin();
    other.join();
    loadgen::StopMonitor monitor({.rules = {}});
    loadgen::Progress progress;
    while (!monitor.is_met()) {
        leads->exchange(monitor, progress);
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(monitor.stopped()->rule, "interrupted");
    EXPECT_THAT(monitor.stopped()->text, HasSubstr("shard 1 on "));
    leads->load_ends();
    EXPECT_TRUE(leads->gather(fs::path(::testing::TempDir()) / "fleet_gone").directories.empty());
    EXPECT_THAT(message_of<RuntimeError>([&] { leads->divide(load_of_shard(0, 2)); }), HasSubstr("shard 1"));
    fs::remove_all(fs::path(::testing::TempDir()) / "fleet_gone");
}

TEST_F(Fleet, tells_why_a_shard_cannot_make_its_part) {
    std::thread other([&] {
        const LoadPlan own = load_of_shard(1, 2);
        const auto follows = follower(own);
        ASSERT_TRUE(follows->next_order(own, {}));
        follows->fail(UsageError("no such server"));
        (void)follows->next_order(own, {});
    });
    {
        const auto leads = leader(2);
        ASSERT_EQ(leads->divide(load_of_shard(0, 2)).count, 2U);
        EXPECT_THAT(message_of<Error>([&] { leads->begin(); }),
                    AllOf(HasSubstr("shard 1 on "), HasSubstr("no such server")));
        leads->abandon();
    }
    other.join();
}

}  // namespace
}  // namespace paretoken::experiments
