// What the processes of one load tell each other: what is sent is what arrives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/plan/plan_classes.h"
#include "core/plan/plan_fields.h"
#include "core/plan/plan_values.h"
#include "core/random.h"
#include "experiments/fleet/clocks.h"
#include "experiments/fleet/hello.h"
#include "experiments/fleet/news.h"
#include "experiments/fleet/order.h"
#include "experiments/fleet/rendezvous.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

LoadPlan plan_for(PlanTexts texts) {
    texts.insert({"url", {"http://127.0.0.1:8000"}});
    return plan_of(texts);
}

TEST(ClockOffsets, are_within_their_error_of_the_true_one) {
    Random random(1);
    for (int i = 0; i < 1000; ++i) {
        const Duration offset(static_cast<std::int64_t>(random.below(7'200'000'000'000)) - 3'600'000'000'000);
        std::vector<ClockExchange> exchanges;
        for (int n = 0; n < 20; ++n) {
            const TimePoint asked(Duration(random.below(1'000'000'000) + 10'000'000'000'000));
            const Duration there(random.below(5'000'000));
            const Duration back(random.below(5'000'000));
            exchanges.push_back({asked, asked + there + offset, asked + there + back});
        }
        const auto found = offset_of(exchanges);
        ASSERT_TRUE(found);
        EXPECT_LE(std::chrono::abs(found->offset - offset), found->error + 1ns);
    }
    EXPECT_FALSE(offset_of({}));
    EXPECT_EQ(error_between({.offset = 100us, .error = 20us}, {.offset = 130us, .error = 25us}), 55us);
}

TEST(News, arrive_as_they_were_sent_on_another_clock) {
    const TimePoint here(500s);
    const TimePoint there(9000s);
    RequestRecord record;
    record.index = 7;
    record.scheduled = record.started = record.ready = here + 1s;
    record.closed = here + 3s;
    record.first_event = here + 2s;
    const News sent{.told = {.ended_requests = 3,
                             .failed_requests = 1,
                             .output_tokens = 40,
                             .due = {here + 1s, here + 1500ms},
                             .last_arrival = here + 1500ms,
                             .ended = {{here + 1s, here + 3s, .25}},
                             .records = {}},
                    .counts = {5, 4, 3, 2, 1, 40}};
    News with_record = sent;
    with_record.told.records.add(record);
    const News got = parse_news(text_of(with_record, here), there);
    EXPECT_EQ(got.counts, sent.counts);
    EXPECT_EQ(got.told.ended_requests, 3U);
    EXPECT_EQ(got.told.failed_requests, 1U);
    EXPECT_EQ(got.told.output_tokens, 40U);
    EXPECT_EQ(got.told.due, (std::vector<TimePoint>{there + 1s, there + 1500ms}));
    EXPECT_EQ(got.told.last_arrival, there + 1500ms);
    ASSERT_EQ(got.told.ended.size(), 1U);
    EXPECT_EQ(got.told.ended[0].at, there + 3s);
    EXPECT_EQ(got.told.ended[0].waited_s, .25);
    ASSERT_EQ(got.told.records.size(), 1U);
    EXPECT_EQ(got.told.records[0].closed, there + 3s);
    EXPECT_EQ(parse_news(text_of(News{}, here), there).told.last_arrival, TimePoint::min());

    const Stopped stopped{"tokens", here + 4s, "40 output tokens came"};
    EXPECT_EQ(parse_stopped(text_of(stopped, here), there), (Stopped{"tokens", there + 4s, stopped.text}));
    for (const char* const wrong : {"", "{}", "[1]", R"({"counted":[1,2]})"})
        EXPECT_THROW(parse_news(wrong, there), UsageError) << wrong;
    EXPECT_THROW(parse_stopped("{}", there), UsageError);
}

TEST(News, add_up_to_what_one_process_would_count) {
    loadgen::Progress progress;
    progress.started = 10;
    progress.in_flight = 4;
    add(progress, {}, {.started = 5, .finished = 1, .in_flight = 4});
    add(progress, {.started = 5, .finished = 1, .in_flight = 4},
        {.started = 6, .finished = 6, .in_flight = 0});
    EXPECT_EQ(progress.started, 16U);
    EXPECT_EQ(progress.finished, 6U);
    EXPECT_EQ(progress.in_flight, 4U);
}

TEST(Hello, of_a_process_that_fits_has_no_objection) {
    const auto hello = [](std::uint32_t number, const PlanTexts& texts) {
        LoadPlan plan = plan_for(texts);
        plan.fleet.shard = fmt::format("{}/3", number);
        plan.out = fmt::format("out{}", number);  // where files are may differ
        return hello_of(plan, "word");
    };
    const Hello leader = hello(0, {{"isl", {"64"}}});
    const Hello sent = hello(2, {{"isl", {"64"}}});
    EXPECT_EQ(parse_hello(text_of(sent)), sent);
    EXPECT_EQ(objection_to(sent, leader), "");
    EXPECT_THAT(objection_to(hello(2, {{"isl", {"128"}}}), leader),
                AllOf(HasSubstr("shard 2 on "), HasSubstr("--isl is '128' and '64'")));
    EXPECT_THAT(objection_to(hello(0, {{"isl", {"64"}}}), leader), HasSubstr("twice"));
    Hello other = sent;
    other.version = "9";
    EXPECT_THAT(objection_to(other, leader), HasSubstr("version 9"));
    other = sent;
    other.shard.count = 5;
    EXPECT_THAT(objection_to(other, leader), HasSubstr("one of 5 shards"));
    for (const char* const wrong : {"", "GET / HTTP/1.1", "{}", "[]", R"({"token":1})"})
        EXPECT_THROW(parse_hello(wrong), UsageError) << wrong;
}

TEST(Hello, tells_errors_with_their_codes) {
    const Error got = parse_error(text_of(UsageError("wrong \"option\"")));
    EXPECT_EQ(got.code(), ExitCode::usage);
    EXPECT_STREQ(got.what(), "wrong \"option\"");
    EXPECT_EQ(parse_error("?").code(), ExitCode::runtime);
}

TEST(Order, arrives_with_the_secrets_of_the_receiver) {
    const PlanTexts texts = {{"header", {"X-Key: topsecret", "X-Plain: seen"}},
                             {"isl", {"uniform:min=16;max=64"}},
                             {"osl", {"8"}},
                             {"concurrency", {"12"}},
                             {"slo", {"ttft_p95:800"}},
                             {"stop", {"tokens=500"}},
                             {"metadata", {"a=b"}},
                             {"salt", {"s"}}};
    const LoadPlan plan = plan_for(texts);
    LoadPlan own = plan_for(texts);
    own.fleet.shard = "2/4";
    own.out = "here";
    const std::string sent = text_of(Order{.plan = plan, .shard = {1, 3}});
    EXPECT_EQ(sent.find("topsecret"), std::string::npos) << "it may be read on the network";
    const Order got = parse_order(sent, own);
    EXPECT_EQ(got.shard, (Shard{1, 3}));
    EXPECT_EQ(got.plan.fleet, own.fleet);
    EXPECT_EQ(got.plan.out, "here");
    LoadPlan expected = plan;
    expected.fleet = own.fleet;
    expected.out = own.out;
    EXPECT_EQ(got.plan, expected);
    EXPECT_THROW(parse_order("{}", own), UsageError);
}

TEST(Order, has_every_value_of_every_class) {
    for (const PlanTexts& texts :
         {PlanTexts{
              {"class", {"a:rate=4,isl=512,osl=128,goodput=ttft:500", "b:concurrency=2,isl=64,priority=3"}}},
          PlanTexts{{"dataset", {"multi_turn:turns=4,first=100,next=30,osl=20"}}, {"request_rate", {"7.25"}}},
          PlanTexts{
              {"isl", {"100"}}, {"range_ratio", {"0.1"}}, {"burstiness", {"0.5"}}, {"request_rate", {"3"}}},
          PlanTexts{
              {"scrape", {"none"}}, {"server_cmd", {"serve --port {port}"}}, {"think_time", {"10ms"}}}}) {
        const LoadPlan plan = with_classes(plan_for(texts));
        EXPECT_EQ(plan_with(values_of(plan), plan), plan) << texts.begin()->first;
    }
}

TEST(Rendezvous, is_an_address_a_directory_or_mpi) {
    EXPECT_EQ(parse_rendezvous("host-0.loads:7000").host, "host-0.loads");
    EXPECT_EQ(parse_rendezvous("host-0.loads:7000").port, 7000);
    EXPECT_EQ(parse_rendezvous("[::1]:7000").host, "::1");
    EXPECT_EQ(parse_rendezvous("/shared/dir").directory, "/shared/dir");
    EXPECT_EQ(parse_rendezvous("shared/a:b").directory, "shared/a:b");
    EXPECT_TRUE(parse_rendezvous("mpi").by_mpi());
    for (const char* const wrong : {"host:", "host:0", "host:99999", ":7000", "host:port"})
        EXPECT_THAT(message_of<UsageError>([&] { parse_rendezvous(wrong); }), HasSubstr("HOST:PORT"))
            << wrong;
    const MeetingPlace place{.hosts = {"a", "::1"}, .port = 9, .token = "t"};
    EXPECT_EQ(text_of(parse_place(text_of(place))), text_of(place));
    EXPECT_THROW(parse_place("?"), UsageError);
}

}  // namespace
}  // namespace paretoken::experiments
