#include "loadgen/virtual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "datasets/catalog.h"
#include "loadgen/load/schedule.h"
#include "loadgen/progress.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"
#include "tests/support/loads.h"
#include "tests/support/simple_profile.h"

namespace paretoken::loadgen {
namespace {

using paretoken::testing::from;
using paretoken::testing::kept_outcome;
using paretoken::testing::KeptOutcome;
using paretoken::testing::KeptRecords;
using paretoken::testing::most_in_flight;
using paretoken::testing::most_without_first_event;
using paretoken::testing::only;
using paretoken::testing::synthetic_prompts;
using std::chrono::microseconds;
using std::chrono::milliseconds;

LoadOptions closed_loop(std::uint64_t concurrency, std::uint64_t requests) {
    LoadOptions load;
    only(load).arrivals = parse_arrivals("at_once");
    only(load).concurrency = concurrency;
    only(load).limits.requests = requests;
    load.worker.id_prefix = "v-";
    return load;
}

LoadOptions open_loop(std::string_view arrivals, std::uint64_t requests) {
    LoadOptions load;
    only(load).arrivals = parse_arrivals(arrivals);
    only(load).limits.requests = requests;
    return load;
}

VirtualOptions on(std::string_view profile, Duration turnaround = microseconds(100)) {
    return {.profile = sim::profile_named(profile), .turnaround = turnaround};
}

KeptOutcome outcome_of(const LoadOptions& load, const VirtualOptions& options,
                       const datasets::Dataset& dataset) {
    Progress progress;
    return kept_outcome([&](RecordSink& sink) {
        return make_virtual_load(from(load, dataset), options, sink, progress, {});
    });
}

/// Returns a profile with blocks of 4 and a short context.
sim::Profile simple_profile() {
    sim::Profile profile = paretoken::testing::simple_profile();
    profile.block_tokens = 4;
    profile.max_model_len = 4000;
    profile.answer_tokens = 10;
    return profile;
}

double ms_since_begin(TimePoint t) {
    return seconds(t - kVirtualBegin) * 1e3;
}

TEST(VirtualLoad, IsTheSameForTheSameSeedAndAnotherForAnother) {
    const auto dataset = synthetic_prompts(64, 20);
    LoadOptions load = open_loop("poisson:rate=50", 200);
    const auto first = outcome_of(load, on("llama3-8b-h100-bf16"), *dataset);
    EXPECT_EQ(first.records, outcome_of(load, on("llama3-8b-h100-bf16"), *dataset).records);
    only(load).seed = 1;
    EXPECT_NE(first.records, outcome_of(load, on("llama3-8b-h100-bf16"), *dataset).records);
}

TEST(VirtualLoad, FollowsTheScheduleThatARunOverSocketsWouldFollow) {
    const auto dataset = synthetic_prompts(64, 4);
    const LoadOptions load = open_loop("poisson:rate=50", 100);
    const ClassLoad& of = load.classes.front();
    const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
    ASSERT_EQ(outcome.records.size(), 100U);
    std::map<std::uint64_t, TimePoint> planned;
    for (Schedule schedule(of.arrivals, of.limits, of.seed, {}); schedule.next(); schedule.pop())
        planned[schedule.next()->index] = kVirtualBegin + schedule.next()->at;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.scheduled, planned.at(r.index));
        EXPECT_EQ(r.sent, r.scheduled);
        EXPECT_EQ(*r.first_event - *r.sent, milliseconds(20));
        EXPECT_EQ(*r.last_event - *r.first_event, milliseconds(30));
        EXPECT_EQ(r.longest_gap, milliseconds(10));
        EXPECT_EQ(r.usage.completion, 4);
        EXPECT_EQ(r.usage.prompt, 64);
        EXPECT_EQ(r.outcome, Outcome::ok);
    }
}

TEST(VirtualLoad, ReasoningAndSpeculationAreRecordedAsOverSockets) {
    const auto dataset = synthetic_prompts(64, 40);
    const auto thinking =
        outcome_of(closed_loop(2, 6), on("ideal?ttft=20ms&itl=10ms&reasoning=3tok"), *dataset);
    for (const RequestRecord& r : thinking.records) {
        EXPECT_EQ(*r.first_answer - *r.first_event, milliseconds(30));
        EXPECT_EQ(r.events[2].kind, EventKind::reasoning);
        EXPECT_EQ(r.events[3].kind, EventKind::content);
        EXPECT_EQ(r.usage.reasoning, 3);
    }
    const auto drafted =
        outcome_of(closed_loop(2, 6), on("llama3-8b-h100-bf16?speculative_tokens=3&acceptance=.7"), *dataset);
    for (const RequestRecord& r : drafted.records) {
        EXPECT_LT(r.events.size(), 35U);
        EXPECT_EQ(r.streamed_tokens, 40);
        EXPECT_EQ(r.usage.completion, 40);
    }
}

TEST(VirtualLoad, AClosedLoopRefillsASlotAfterTheTurnaround) {
    const auto dataset = synthetic_prompts(3, 2);
    const auto outcome =
        outcome_of(closed_loop(1, 3), {.profile = simple_profile(), .turnaround = milliseconds(5)}, *dataset);
    ASSERT_EQ(outcome.records.size(), 3U);
    // Sent at 5, prefilled by 5 + 4, decoded by 11; the next is sent at 16.
    for (int i = 0; i < 3; ++i) {
        const RequestRecord& r = outcome.records[static_cast<std::size_t>(i)];
        EXPECT_EQ(ms_since_begin(r.scheduled), 11 * i);
        EXPECT_EQ(ms_since_begin(*r.sent), 11 * i + 5);
        EXPECT_EQ(ms_since_begin(*r.first_event), 11 * i + 9);
        EXPECT_EQ(ms_since_begin(*r.last_event), 11 * i + 11);
    }
}

TEST(VirtualLoad, EventsOfAStepAreWrittenOneAfterTheOther) {
    const auto dataset = synthetic_prompts(3, 2);
    const auto at_once = outcome_of(closed_loop(3, 3), {.profile = simple_profile()}, *dataset);
    const auto written = outcome_of(closed_loop(3, 3),
                                    {.profile = simple_profile(), .write_time = microseconds(10)}, *dataset);
    ASSERT_EQ(written.records.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const Duration later = microseconds(10) * (i + 1);
        EXPECT_EQ(*written.records[i].first_event - *at_once.records[i].first_event, later);
        EXPECT_EQ(*written.records[i].last_event - *at_once.records[i].last_event, later);
        EXPECT_EQ(written.records[i].finished, written.records[i].last_event);
    }
}

TEST(VirtualLoad, ARefillThatMissesAStepWaitsForTheNext) {
    // Two slots: the first request of both is 2 tokens long, then one step holds the other's decode.
    const auto dataset = datasets::make_dataset(
        {.spec = {.name = "synthetic", .fields = {{"isl", "1"}, {"osl", "uniform:min=1;max=3"}}}, .seed = 4});
    const auto at_once =
        outcome_of(closed_loop(4, 200), {.profile = simple_profile(), .turnaround = {}}, *dataset);
    const auto late = outcome_of(closed_loop(4, 200),
                                 {.profile = simple_profile(), .turnaround = microseconds(10)}, *dataset);
    const auto mean_ttft = [](const Observations& outcome) {
        double sum = 0;
        for (const RequestRecord& r : outcome.records) sum += seconds(*r.first_event - *r.sent);
        return sum / static_cast<double>(outcome.records.size());
    };
    EXPECT_GT(mean_ttft(late), 1.2 * mean_ttft(at_once));
}

TEST(VirtualLoad, NeverHasMoreInFlightThanTheCapAndCountsWarmupsApart) {
    const auto dataset = synthetic_prompts(32, 8);
    LoadOptions load = closed_loop(6, 60);
    only(load).limits.warmups = 10;
    const auto outcome = outcome_of(load, on("llama3-8b-h100-bf16"), *dataset);
    std::set<std::string> ids;
    int warmups = 0;
    for (const RequestRecord& r : outcome.records) {
        ids.insert(r.id);
        warmups += r.warmup ? 1 : 0;
    }
    EXPECT_EQ(most_in_flight(outcome.records), 6);
    EXPECT_EQ(warmups, 10);
    EXPECT_EQ(ids.size(), 70U);
}

TEST(VirtualLoad, NeverHasMoreWithoutAFirstTokenThanTheCapOnPrefills) {
    const auto dataset = synthetic_prompts(32, 8);
    LoadOptions load = closed_loop(12, 60);
    only(load).pacing.prefills = 3;
    const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
    ASSERT_EQ(outcome.records.size(), 60U);
    EXPECT_EQ(most_without_first_event(outcome.records), 3);
}

TEST(VirtualLoad, SlotsPauseForTheThinkTimeAndTheRunIsSteadyAllTheSame) {
    const auto dataset = synthetic_prompts(32, 8);
    LoadOptions load = closed_loop(10, 400);
    only(load).pacing.think_time = RandomDuration("exponential:mean=270ms");
    // an answer takes 20 + 7 × 10 ms: three quarters of the slots pause
    const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
    const RunResult result = result_of(outcome, load);
    EXPECT_TRUE(result.window.steady) << result.window.how;
    EXPECT_NEAR(result.throughput.at(figure::kMeanInFlight).value_or(0), 2.5, 0.5);
}

/// The /metrics of a server each second, computed from the times at which its requests came, had their first
/// output and ended.
std::vector<ServerScrape> scrapes_of(const KeptOutcome& outcome) {
    TimePoint last = kVirtualBegin;
    for (const RequestRecord& r : outcome.records) last = std::max(last, *r.last_event);
    std::vector<ServerScrape> scrapes;
    for (TimePoint at = kVirtualBegin; at < last + std::chrono::seconds(1); at += std::chrono::seconds(1)) {
        ServerScrape& scrape = scrapes.emplace_back();
        scrape.at = at;
        scrape.engine = "vllm";
        double& running = scrape.values["running"];
        double& waiting = scrape.values["waiting"];
        for (const RequestRecord& r : outcome.records) {
            if (*r.sent > at || *r.last_event <= at) continue;
            ++(*r.first_event <= at ? running : waiting);
        }
    }
    return scrapes;
}

TEST(VirtualLoad, TheServersRequestsRunningAndWaitingAreThoseInFlightOfTheWindow) {
    const auto dataset = synthetic_prompts(512, 128);
    LoadOptions load = closed_loop(48, 2400);
    only(load).pacing.ramp_up = std::chrono::seconds(10);  // ramp and drain are not part of the window
    auto outcome =
        outcome_of(load, on("llama3-8b-h100-bf16?max_num_seqs=32"), *dataset);  // a third of them waits
    outcome.server.scrapes = scrapes_of(outcome);
    const RunResult result = result_of(outcome, load);
    ASSERT_GE(result.window.end_s - result.window.begin_s, 60) << result.window.how;
    const double in_flight = result.throughput.at(figure::kMeanInFlight).value();
    const auto& window = result.server->window;
    EXPECT_GT(window.at("waiting"), 10);
    EXPECT_NEAR((window.at("running") + window.at("waiting")) / in_flight, 1, .02);
    EXPECT_LT(result.server->whole_run.at("running") + result.server->whole_run.at("waiting"), in_flight)
        << "ramp and drain count there";
}

TEST(VirtualLoad, ADurationEndsIt) {
    const auto dataset = synthetic_prompts(16, 4);
    LoadOptions load = open_loop("constant:rate=100", 1);
    only(load).limits = {.duration = std::chrono::seconds(2)};
    EXPECT_EQ(outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset).records.size(), 200U);
}

TEST(VirtualLoad, WhatTheContextCannotHoldFailsAsOverSockets) {
    const auto dataset = synthetic_prompts(100, 30);
    const auto outcome = outcome_of(closed_loop(2, 5), on("llama3-8b-h100-bf16?max_model_len=120"), *dataset);
    ASSERT_EQ(outcome.records.size(), 5U);
    EXPECT_EQ(outcome.records[0].outcome, Outcome::http_error);
    EXPECT_EQ(outcome.records[0].http_status, 400);
    EXPECT_THAT(outcome.records[0].error, ::testing::HasSubstr("context of 120 tokens"));
}

TEST(VirtualLoad, AnswersThatMayEndDo) {
    const auto dataset = synthetic_prompts(10, 1000);
    VirtualOptions options = on("ideal?ttft=1ms&itl=1ms&answer_tokens=20");
    options.ignore_eos = false;
    const auto outcome = outcome_of(closed_loop(4, 100), options, *dataset);
    double sum = 0;
    for (const RequestRecord& r : outcome.records) {
        EXPECT_EQ(r.finish_reason, "stop");
        sum += static_cast<double>(r.streamed_tokens);
    }
    EXPECT_NEAR(sum / 100, 22.7, 6);
}

/// A dataset in which every prompt is the same long text.
class SamePrompt final : public datasets::Dataset {
  public:
    Request request(std::uint64_t index) const override {
        Request request;
        request.index = index;
        for (int i = 0; i < 90; ++i) text_ += " word";
        request.prompt = text_;
        request.wanted_output_tokens = 4;
        text_.clear();
        return request;
    }
    std::string description() const override { return "same"; }

  private:
    mutable std::string text_;
};

TEST(VirtualLoad, PromptsThatAreGivenAreCountedAndFoundInThePrefixCache) {
    const auto outcome = outcome_of(closed_loop(1, 3), on("llama3-8b-h100-bf16"), SamePrompt());
    ASSERT_EQ(outcome.records.size(), 3U);
    EXPECT_EQ(outcome.records[0].usage.prompt, 100) << "90 words and the template of a chat";
    EXPECT_EQ(outcome.records[0].usage.cached_prompt, 0);
    EXPECT_EQ(outcome.records[1].usage.cached_prompt, 96);
    EXPECT_EQ(outcome.records[2].usage.cached_prompt, 96);
}

TEST(VirtualLoad, EndsWhenItIsStopped) {
    std::stop_source stop;
    stop.request_stop();
    KeptRecords sink;
    Progress progress;
    const auto dataset = synthetic_prompts(16, 4);
    const auto outcome = make_virtual_load(from(closed_loop(4, 1000), *dataset), on("llama3-8b-h100-bf16"),
                                           sink, progress, stop.get_token());
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_LT(outcome.records.size(), 1000U);
    EXPECT_EQ(outcome.records.size(), sink.records.size());
}

/// Ends the load when the first request has ended.
class EndingSink final : public RecordSink {
  public:
    void record(RequestRecord&& record) override {
        cut.request_stop();
        outcomes.push_back(record.outcome);
    }
    std::stop_source cut;
    std::vector<Outcome> outcomes;
};

TEST(VirtualLoad, IsCutOffAfterTheStepInWhichThatIsAsked) {
    EndingSink sink;
    Progress progress;
    const auto dataset = synthetic_prompts(16, 4);
    const auto outcome = make_virtual_load(from(closed_loop(4, 1000), *dataset), on("llama3-8b-h100-bf16"),
                                           sink, progress, {{}, sink.cut.get_token()});
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_LE(std::count(sink.outcomes.begin(), sink.outcomes.end(), Outcome::ok), 4);
}

/// Returns a server that ends about 10.4 of these requests per second.
VirtualOptions small_server() {
    return on("llama3-8b-h100-bf16?max_num_seqs=8");
}

TEST(VirtualLoad, OfTwiceWhatIsServedEndsAsDivergingAndHasNoPercentiles) {
    const auto dataset = synthetic_prompts(512, 96);
    LoadOptions load = open_loop("poisson:rate=20", 100'000);
    const auto outcome = outcome_of(load, small_server(), *dataset);
    ASSERT_TRUE(outcome.stopped);
    EXPECT_EQ(outcome.stopped->rule, "diverging");
    EXPECT_LE(outcome.stopped->at - kVirtualBegin, std::chrono::seconds(60));
    const RunResult result = result_of(outcome, load);
    EXPECT_EQ(result.stop->rule, "diverging");
    EXPECT_EQ(result.validity.reasons.front().check, "diverging");
    ASSERT_NE(result.metric("ttft_s"), nullptr);
    for (const MetricSummary& metric : result.metrics) {
        EXPECT_FALSE(metric.mean) << metric.key;
        for (const PercentileValue& percentile : metric.percentiles) EXPECT_FALSE(percentile.value);
    }
    EXPECT_TRUE(result.whole_run.at(figure::kRequests)) << "what was served is told";

    load.rules = {parse_stop_rule("diverging=off")};
    only(load).limits.requests = 1500;
    EXPECT_EQ(outcome_of(load, small_server(), *dataset).stopped->rule, "requests");
}

TEST(VirtualLoad, AtFourFifthsOfCapacityNeverEndsAsDiverging) {
    const auto dataset = synthetic_prompts(512, 96);
    LoadOptions load = open_loop("poisson:rate=8", 600);
    for (only(load).seed = 0; only(load).seed < 100; ++only(load).seed) {
        paretoken::testing::NoSink sink;
        Progress progress;
        const auto outcome = make_virtual_load(from(load, *dataset), small_server(), sink, progress, {});
        EXPECT_EQ(outcome.stopped->rule, "requests")
            << "seed " << only(load).seed << ": " << outcome.stopped->text;
    }
}

TEST(VirtualLoad, SaysWhichLimitEndedItAndWhen) {
    const auto dataset = synthetic_prompts(16, 4);
    LoadOptions load = open_loop("constant:rate=100", 1);
    only(load).limits = {.duration = std::chrono::seconds(2)};
    const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
    EXPECT_EQ(outcome.stopped->rule, "duration");
    EXPECT_EQ(outcome.stopped->text, "2 s had passed");
    EXPECT_NEAR(seconds(outcome.stopped->at - kVirtualBegin), 2, 0.02);
}

TEST(VirtualLoad, AWarmupByTimeIsWhatStartsWithinIt) {
    const auto dataset = synthetic_prompts(16, 4);
    const auto counts = [&](LoadOptions load) {
        only(load).limits.warmup_duration = std::chrono::seconds(1);
        const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
        std::map<bool, std::set<std::uint64_t>> indexes;
        for (const RequestRecord& r : outcome.records) {
            EXPECT_EQ(r.warmup, r.scheduled < kVirtualBegin + std::chrono::seconds(1));
            indexes[r.warmup].insert(r.index);
        }
        EXPECT_EQ(*indexes[false].begin(), 0U);
        EXPECT_EQ(*indexes[false].rbegin() + 1, indexes[false].size());
        return std::pair(indexes[true].size(), indexes[false].size());
    };
    EXPECT_EQ(counts(open_loop("constant:rate=100", 50)), std::pair(std::size_t{100}, std::size_t{50}));
    const auto [warmups, measured] = counts(closed_loop(4, 50));  // an answer takes 50 ms
    EXPECT_EQ(measured, 50U);
    EXPECT_NEAR(static_cast<double>(warmups), 80, 4);
}

TEST(VirtualLoad, FoldsIntoAValidResult) {
    const auto dataset = synthetic_prompts(64, 16);
    LoadOptions load = closed_loop(8, 400);
    only(load).pacing.ramp_up.reset();  // all at once they would be in step
    const auto outcome = outcome_of(load, on("llama3-8b-h100-bf16"), *dataset);
    const RunResult result = result_of(outcome, load);
    EXPECT_EQ(result.validity.verdict, Verdict::valid);
    EXPECT_EQ(result.counts.ok, 400U);
    EXPECT_TRUE(result.window.steady);
    ASSERT_NE(result.metric("itl_s"), nullptr);
    EXPECT_NEAR(*result.metric("itl_s")->at(.5)->value, 7.7e-3, .5e-3);
}

// ---- conversations

std::unique_ptr<datasets::Dataset> chats(std::string_view spec, bool live = true) {
    return datasets::make_dataset({.spec = parse_spec(spec), .live_replies = live});
}

TEST(VirtualLoad, TurnsFollowEachOtherAndFindWhatWasSaidInThePrefixCache) {
    const auto dataset = chats("multi_turn:turns=4,first=100,next=30,osl=20");
    sim::Profile profile = simple_profile();
    profile.prefix_cache = 1;
    profile.timing = sim::Timing::batching;
    profile.vocabulary = 128'000;
    LoadOptions load = closed_loop(2, 5);
    only(load).pacing.think_time = RandomDuration("40ms");
    const auto outcome = outcome_of(load, {.profile = profile}, *dataset);
    ASSERT_EQ(outcome.records.size(), 20U);
    std::map<Turn, const RequestRecord*, decltype([](const Turn& a, const Turn& b) {
                 return std::pair(a.conversation, a.number) < std::pair(b.conversation, b.number);
             })>
        by_turn;
    for (const RequestRecord& r : outcome.records) {
        ASSERT_TRUE(r.turn);
        EXPECT_EQ(r.index, r.turn->conversation + r.turn->number);
        EXPECT_EQ(r.answer, "") << "texts are not kept longer than they are needed";
        by_turn[*r.turn] = &r;
    }
    for (const auto& [turn, r] : by_turn) {
        if (turn.number == 0) continue;
        const RequestRecord& before = *by_turn.at({turn.conversation, turn.number - 1});
        EXPECT_EQ(r->scheduled, before.closed + milliseconds(40));
        // The answer and its end, the user's message with its header and end, and the header of the answer.
        EXPECT_EQ(*r->usage.prompt, *before.usage.prompt + 20 + 1 + 4 + 30 + 1 + 4);
        EXPECT_GE(*r->usage.cached_prompt, *before.usage.prompt + 20 - 4);
        EXPECT_LE(*r->usage.cached_prompt, *before.usage.prompt + 20);
    }
}

TEST(VirtualLoad, UsersSendTheTurnsOfTheirConversationsAtTheirTimes) {
    const auto dataset = chats("multi_turn:turns=uniform:min=1;max=4,first=20,next=5,osl=4");
    const auto outcome =
        outcome_of(open_loop("users:n=4,rate=8", 30), on("ideal?ttft=20ms&itl=10ms"), *dataset);
    std::map<std::int64_t, std::vector<TimePoint>>
        by_user;  // the phase within half a second identifies the user
    for (const RequestRecord& r : outcome.records) {
        const auto half_ms =
            (r.scheduled - kVirtualBegin + microseconds(1)) % milliseconds(500) / microseconds(500);
        by_user[half_ms].push_back(r.scheduled);
    }
    EXPECT_EQ(by_user.size(), 4U);
    for (auto& [phase, times] : by_user) {
        std::sort(times.begin(), times.end());
        for (std::size_t i = 1; i < times.size(); ++i)
            EXPECT_NEAR(seconds(times[i] - times[i - 1]), .5, 1e-6)
                << "turn after turn, and the next opening";
    }
    std::map<std::uint64_t, std::int64_t> user_of;
    for (const RequestRecord& r : outcome.records) {
        const auto half_ms =
            (r.scheduled - kVirtualBegin + microseconds(1)) % milliseconds(500) / microseconds(500);
        EXPECT_EQ(user_of.emplace(r.turn->conversation, half_ms).first->second, half_ms);
    }
    EXPECT_EQ(user_of.size(), 30U);
}

TEST(VirtualLoad, AUserSendsATurnWhenTheLastAnswerHasEndedAfterItsTime) {
    const auto dataset = chats("multi_turn:turns=3,first=20,next=5,osl=4");
    const auto outcome =
        outcome_of(open_loop("users:n=2,rate=4", 4), on("ideal?ttft=600ms&itl=10ms"), *dataset);
    ASSERT_EQ(outcome.records.size(), 12U);
    std::map<std::uint64_t, TimePoint> ended;  // end by index
    for (const RequestRecord& r : outcome.records) ended[r.index] = r.closed;
    for (const RequestRecord& r : outcome.records) {
        if (r.turn->number == 0) continue;
        EXPECT_EQ(r.scheduled, ended.at(r.index - 1));
    }
}

TEST(VirtualLoad, RecordedRepliesAreNoPartOfTheServersAnswers) {
    const auto dataset = chats("multi_turn:turns=2,first=100,next=30,osl=20", false);
    sim::Profile profile = simple_profile();
    profile.prefix_cache = 1;
    profile.timing = sim::Timing::batching;
    profile.vocabulary = 128'000;
    LoadOptions load = closed_loop(1, 3);
    load.worker.keep_answers = true;
    const auto outcome = outcome_of(load, {.profile = profile}, *dataset);
    ASSERT_EQ(outcome.records.size(), 6U);
    for (std::size_t i = 1; i < 6; i += 2) {
        const auto cached = *outcome.records[i].usage.cached_prompt;
        EXPECT_GE(cached, *outcome.records[i - 1].usage.prompt - 4);
        EXPECT_LE(cached, *outcome.records[i - 1].usage.prompt);
        EXPECT_GT(outcome.records[i].answer.size(), 20U);
    }
}

TEST(VirtualLoad, WarmUpConversationsAreWarmUpsToTheirLastTurn) {
    const auto dataset = chats("multi_turn:turns=3,first=10,next=5,osl=4");
    LoadOptions load = closed_loop(2, 4);
    only(load).limits.warmups = 2;
    const auto outcome = outcome_of(load, on("ideal"), *dataset);
    std::set<std::pair<bool, std::uint64_t>> seen;
    for (const RequestRecord& r : outcome.records) seen.emplace(r.warmup, r.index);
    EXPECT_EQ(seen.size(), 18U);
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& key) { return key.first; }), 6);
}

// ---- classes, hanging up

TEST(VirtualLoad, ClassesHaveArrivalsAndPromptsOfTheirOwn) {
    const auto shorts = synthetic_prompts(20, 5);
    const auto longs = synthetic_prompts(800, 5);
    LoadOptions load;
    load.classes = {{.name = "interactive",
                     .arrivals = parse_arrivals("poisson:rate=20"),
                     .limits = {.requests = 80},
                     .seed = 1,
                     .priority = 2,
                     .dataset = shorts.get()},
                    {.name = "batch",
                     .arrivals = parse_arrivals("at_once"),
                     .concurrency = 2,
                     .limits = {.requests = 30},
                     .seed = 2,
                     .dataset = longs.get()}};
    const auto outcome = outcome_of(load, on("llama3-8b-h100-fp8"), *shorts);
    std::map<std::string, std::vector<RequestRecord>> by_class;
    std::set<std::uint64_t> indexes;
    for (const RequestRecord& r : outcome.records) {
        by_class[r.request_class].push_back(r);
        indexes.insert(r.index);
        EXPECT_EQ(r.index % 2, r.request_class == "interactive" ? 0U : 1U);
    }
    EXPECT_EQ(indexes.size(), 110U);
    ASSERT_EQ(by_class["interactive"].size(), 80U);
    ASSERT_EQ(by_class["batch"].size(), 30U);
    EXPECT_EQ(by_class["batch"][0].usage.prompt, 800);
    EXPECT_EQ(most_in_flight(by_class["batch"]), 2);

    LoadOptions alone = load;
    alone.classes.pop_back();
    const auto without = outcome_of(alone, on("llama3-8b-h100-fp8"), *shorts);
    std::set<TimePoint> due;
    std::set<TimePoint> due_alone;
    for (const RequestRecord& r : by_class["interactive"]) due.insert(r.scheduled);
    for (const RequestRecord& r : without.records) due_alone.insert(r.scheduled);
    EXPECT_EQ(due, due_alone) << "a class comes at the same times whatever other classes there are";
}

TEST(VirtualLoad, UsersHangUpWhenTheyHaveWaitedLongEnough) {
    const auto dataset = synthetic_prompts(20, 50);
    LoadOptions load = open_loop("constant:rate=10", 200);
    only(load).pacing.hang_up = parse_hang_up("p=.5,after=100ms");
    const auto outcome = outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset);
    ASSERT_EQ(outcome.records.size(), 200U);
    int abandoned = 0;
    for (const RequestRecord& r : outcome.records) {
        if (r.outcome == Outcome::ok) {
            EXPECT_EQ(r.events.size(), 50U);
            continue;
        }
        ++abandoned;
        EXPECT_EQ(r.outcome, Outcome::abandoned);
        EXPECT_EQ(r.closed - r.started, milliseconds(100));
        EXPECT_NEAR(static_cast<double>(r.events.size()), 8.5, 0.5);
    }
    EXPECT_NEAR(abandoned, 100, 30);
    only(load).pacing.hang_up = parse_hang_up("p=1,after=10ms");
    for (const RequestRecord& r : outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset).records) {
        EXPECT_EQ(r.outcome, Outcome::abandoned);
        EXPECT_FALSE(r.first_event);
    }
}

TEST(VirtualLoad, RequestsThatAreNotFinishedWithinTheTimeoutFail) {
    const auto dataset = synthetic_prompts(20, 50);
    LoadOptions load = open_loop("constant:rate=10", 20);
    load.worker.client.request_timeout = milliseconds(100);
    for (const RequestRecord& r : outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset).records) {
        EXPECT_EQ(r.outcome, Outcome::timed_out);
        EXPECT_EQ(r.error, "not finished within --timeout 0.1 s");
        EXPECT_EQ(r.closed - r.started, milliseconds(100));
        EXPECT_EQ(r.events.size(), 8U);
    }
    load.worker.client.request_timeout = std::chrono::seconds(1);
    for (const RequestRecord& r : outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset).records)
        EXPECT_EQ(r.outcome, Outcome::ok);
    only(load).pacing.hang_up = parse_hang_up("p=1,after=10ms");
    for (const RequestRecord& r : outcome_of(load, on("ideal?ttft=20ms&itl=10ms"), *dataset).records)
        EXPECT_EQ(r.outcome, Outcome::abandoned) << "the user hangs up before the timeout";
}

}  // namespace
}  // namespace paretoken::loadgen
