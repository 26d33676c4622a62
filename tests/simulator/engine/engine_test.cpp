#include "simulator/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random.h"
#include "tests/support/simple_profile.h"

namespace paretoken::sim {
namespace {

using paretoken::testing::simple_profile;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr TimePoint kStart{std::chrono::seconds(1000)};

/// One emission with its time: (request, token, milliseconds since the start).
using Event = std::tuple<std::uint64_t, std::int64_t, double>;

std::vector<Event> run_to_end(Engine& engine) {
    std::vector<Event> events;
    while (engine.begin_step()) {
        const Step& step = engine.end_step();
        for (const Emission& emission : step.emitted) {
            events.emplace_back(emission.id, emission.index, seconds(step.end - kStart) * 1e3);
        }
    }
    return events;
}

TEST(Engine, OneRequestIsPrefilledAndThenDecodedTokenByToken) {
    const auto engine = engine_of(simple_profile(), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{1, 0, 5}, Event{1, 1, 7}, Event{1, 2, 9}));
}

TEST(Engine, ARequestWaitsUntilTheEngineMayBeginIt) {
    Profile profile = simple_profile();
    profile.request_s = .008;
    const auto engine = engine_of(profile, 1);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    EXPECT_EQ(engine->next_begin(), kStart + milliseconds(8));
}

TEST(Engine, APromptAboveTheTokenBudgetIsPrefilledInChunks) {
    Profile profile = simple_profile();
    profile.max_batched_tokens = 4;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 10, .output_tokens = 2}, kStart);
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{1, 0, 5 + 5 + 3}, Event{1, 1, 15}));
}

TEST(Engine, ARequestThatArrivesDuringAStepJoinsTheNext) {
    const auto engine = engine_of(simple_profile(), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 4, .output_tokens = 1}, kStart + milliseconds(1));
    // 0–5: prompt of 1. 5–11: decode of 1 with the prompt of 2. 11–13: decode of 1.
    EXPECT_THAT(run_to_end(*engine),
                ElementsAre(Event{1, 0, 5}, Event{1, 1, 11}, Event{2, 0, 11}, Event{1, 2, 13}));
}

TEST(Engine, DecodesComeBeforePrefillsWithinTheBudget) {
    Profile profile = simple_profile();
    profile.max_batched_tokens = 4;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 5, .output_tokens = 1}, kStart);
    // 0–5: prompt of 1. 5–10: its decode and 3 tokens of 2. 10–14: decode and the last 2 tokens.
    EXPECT_THAT(run_to_end(*engine),
                ElementsAre(Event{1, 0, 5}, Event{1, 1, 10}, Event{1, 2, 14}, Event{2, 0, 14}));
}

TEST(Engine, NoMoreRunAtOnceThanMaxNumSeqsAndTheFirstComesFirst) {
    Profile profile = simple_profile();
    profile.max_num_seqs = 1;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 7, .prompt_tokens = 1, .output_tokens = 1}, kStart + milliseconds(1));
    engine->submit({.id = 5, .prompt_tokens = 1, .output_tokens = 2}, kStart);
    EXPECT_EQ(engine->state().waiting, 2);
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{5, 0, 2}, Event{5, 1, 4}, Event{7, 0, 6}));
}

TEST(Engine, AfterIdlingAStepBeginsWhenTheRequestArrives) {
    const auto engine = engine_of(simple_profile(), 0);
    EXPECT_EQ(engine->begin_step(), std::nullopt);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 1}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 1, .output_tokens = 1}, kStart + milliseconds(50));
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{1, 0, 2}, Event{2, 0, 52}));
}

TEST(Engine, WithoutAFreeBlockTheYoungestIsSentBackAndComputedAgain) {
    Profile profile = simple_profile();
    profile.block_tokens = 4;
    profile.blocks = 3;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 6}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    // 0–9: both prompts, a block each. 9–11: the decode of 1 takes the third block; 2 needs one more and is
    // preempted. Its 4 + 1 tokens need two blocks, which are free when 1 has ended (after 5 decodes, at 19).
    EXPECT_THAT(run_to_end(*engine),
                ElementsAre(Event{1, 0, 9}, Event{2, 0, 9}, Event{1, 1, 11}, Event{1, 2, 13}, Event{1, 3, 15},
                            Event{1, 4, 17}, Event{1, 5, 19}, Event{2, 1, 19 + 6}, Event{2, 2, 27}));
    EXPECT_EQ(engine->state().preemptions, 1U);
    EXPECT_EQ(engine->state().blocks_used, 0);
}

TEST(Engine, WithNoEvictARequestWaitsUntilItsWholeAnswerFits) {
    Profile profile = simple_profile();
    profile.admission = AdmissionRule::no_evict;
    profile.blocks = 4;  // of 16 tokens: one request of 20 + 20, or the prompts of two
    const auto engine = engine_of(profile, 0);
    for (const std::uint64_t id : {1U, 2U})
        engine->submit({.id = id, .prompt_tokens = 20, .output_tokens = 20}, kStart);
    std::int64_t most = 0;
    std::vector<std::uint64_t> ended;
    while (engine->begin_step()) {
        most = std::max(most, engine->state().running);
        for (const Emission& emission : engine->end_step().emitted)
            if (emission.last) ended.push_back(emission.id);
    }
    EXPECT_EQ(most, 1);
    EXPECT_THAT(ended, ElementsAre(1, 2));
    EXPECT_EQ(engine->state().preemptions, 0U);
    profile.admission = AdmissionRule::prompt;
    const auto preempting = engine_of(profile, 0);
    for (const std::uint64_t id : {1U, 2U})
        preempting->submit({.id = id, .prompt_tokens = 20, .output_tokens = 20}, kStart);
    EXPECT_EQ(run_to_end(*preempting).size(), 40U);
    EXPECT_GT(preempting->state().preemptions, 0U);
}

TEST(Engine, WithoutChunksAPromptThatDoesNotFitBesideAnotherWaitsForTheNextStep) {
    Profile profile = simple_profile();
    profile.max_batched_tokens = 100;
    const auto first_tokens = [&] {
        const auto engine = engine_of(profile, 0);
        for (const std::uint64_t id : {1U, 2U, 3U})
            engine->submit({.id = id, .prompt_tokens = id == 3 ? 250 : 60, .output_tokens = 1}, kStart);
        std::vector<std::int64_t> tokens;
        while (engine->begin_step()) tokens.push_back(engine->end_step().work.tokens);
        return tokens;
    };
    EXPECT_THAT(first_tokens(), ElementsAre(100, 100, 100, 70)) << "in chunks, steps are full";
    profile.chunked_prefill = 0;
    EXPECT_THAT(first_tokens(), ElementsAre(60, 60, 100, 100, 50))
        << "only a prompt that no step could hold is divided";
}

TEST(Engine, StepsOfADriftingServerTakeEverLonger) {
    Profile profile = simple_profile();
    profile.drift = 3600;  // a whole step longer per second
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 400}, kStart);
    double before = 0;
    double first = 0;
    while (const auto end = engine->begin_step()) {
        const Step& step = engine->end_step();
        const double since = seconds(step.begin - kStart);
        const double took = seconds(step.end - step.begin);
        EXPECT_NEAR(took, 2e-3 * (1 + since), 1e-8);
        EXPECT_GE(took, before);
        before = took;
        if (first == 0) first = took;
    }
    EXPECT_GT(before, 2 * first);
}

TEST(Engine, ASpeedChangesAtItsTimeAndCanChangeBack) {
    Profile profile = simple_profile();
    profile.later = {{milliseconds(10), "step_s", 9e-3}, {milliseconds(40), "step_s", 1e-3}};
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 40}, kStart);
    while (engine->begin_step()) {
        const Step& step = engine->end_step();
        const Duration since = step.begin - kStart;
        const bool slow = since >= milliseconds(10) && since < milliseconds(40);
        EXPECT_NEAR(seconds(step.end - step.begin), slow ? 10e-3 : 2e-3, 1e-9) << seconds(since);
    }
}

TEST(Engine, AnAbortedRequestEmitsNothingMoreAndFreesItsBlocks) {
    const auto engine = engine_of(simple_profile(), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 100}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 4, .output_tokens = 1}, kStart + milliseconds(1));
    engine->begin_step();
    engine->end_step();
    engine->abort(1);
    engine->abort(99);
    EXPECT_EQ(engine->state().blocks_used, 0);
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{2, 0, 10}));
}

TEST(Engine, AStepIsDecidedOnce) {
    const auto engine = engine_of(simple_profile(), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 1}, kStart);
    const auto end = engine->begin_step();
    engine->submit({.id = 2, .prompt_tokens = 4, .output_tokens = 1}, kStart);
    EXPECT_EQ(engine->begin_step(), end);
    EXPECT_EQ(engine->end_step().emitted.size(), 1U);
}

// Speculation: drafts are checked in the step, which takes longer for them.

/// (request, first token, tokens, milliseconds since the start).
using Group = std::tuple<std::uint64_t, std::int64_t, std::int64_t, double>;

std::vector<Group> groups_to_end(Engine& engine) {
    std::vector<Group> groups;
    while (engine.begin_step()) {
        const Step& step = engine.end_step();
        for (const Emission& e : step.emitted)
            groups.emplace_back(e.id, e.index, e.tokens, seconds(step.end - kStart) * 1e3);
    }
    return groups;
}

Profile speculating(std::int64_t drafts, double acceptance) {
    Profile profile = simple_profile();
    profile.speculative_tokens = drafts;
    profile.acceptance = acceptance;
    return profile;
}

TEST(Engine, AcceptedDraftsAreEmittedTogether) {
    const auto engine = engine_of(speculating(2, 1), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 6}, kStart);
    // 0–5: the prompt. Then steps of a token and two drafts, 1 + 3 ms; of the last three, two are wanted.
    EXPECT_THAT(groups_to_end(*engine),
                ElementsAre(Group{1, 0, 1, 5}, Group{1, 1, 3, 9}, Group{1, 4, 2, 13}));
    const EngineState state = engine->state();
    EXPECT_EQ(state.drafts, 2U);
    EXPECT_EQ(state.draft_tokens, 4U);
    EXPECT_EQ(state.accepted_tokens, 4U);
    EXPECT_THAT(state.accepted_per_position, ElementsAre(2U, 2U));
    EXPECT_EQ(state.blocks_used, 0);
}

TEST(Engine, RejectedDraftsCostTimeAndGiveNothing) {
    const auto engine = engine_of(speculating(2, 0), 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 3}, kStart);
    EXPECT_THAT(groups_to_end(*engine),
                ElementsAre(Group{1, 0, 1, 5}, Group{1, 1, 1, 9}, Group{1, 2, 1, 13}));
    EXPECT_EQ(engine->state().accepted_tokens, 0U);
    EXPECT_EQ(engine->state().draft_tokens, 4U);
}

TEST(Engine, DraftsComeOutOfTheTokenBudget) {
    Profile profile = speculating(3, 1);
    profile.max_batched_tokens = 4;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 2, .output_tokens = 5}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 2, .output_tokens = 3}, kStart);
    // 0–5: both prompts. 5–10: request 1 takes the whole budget. 10–15: it has ended, and 2 decodes with as
    // many of three drafts as it needs.
    EXPECT_THAT(groups_to_end(*engine),
                ElementsAre(Group{1, 0, 1, 5}, Group{2, 0, 1, 5}, Group{1, 1, 4, 10}, Group{2, 1, 2, 15}));
}

TEST(Engine, DraftsNeedBlocksAndCostAPreemption) {
    Profile profile = speculating(4, 1);
    profile.block_tokens = 4;
    profile.blocks = 4;
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 4, .output_tokens = 6}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 4, .output_tokens = 2}, kStart);
    // 0–9: both prompts, a block each. The token of 1 and its four drafts take the two left; 2 finds none for
    // its own and is preempted, to be computed again with two blocks when 1 has ended.
    EXPECT_THAT(groups_to_end(*engine),
                ElementsAre(Group{1, 0, 1, 9}, Group{2, 0, 1, 9}, Group{1, 1, 5, 15}, Group{2, 1, 1, 21}));
    EXPECT_EQ(engine->state().preemptions, 1U);
}

TEST(Engine, TokensPerStepFollowTheAcceptance) {
    const auto engine = engine_of(speculating(3, .7), 5);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 15'000}, kStart);
    EXPECT_EQ(groups_to_end(*engine).front(), (Group{1, 0, 1, 2}));
    const EngineState state = engine->state();
    const auto drafts = static_cast<double>(state.drafts);
    EXPECT_NEAR(1 + static_cast<double>(state.accepted_tokens) / drafts, (1 - std::pow(.7, 4)) / .3, 0.05);
    EXPECT_NEAR(static_cast<double>(state.accepted_per_position[0]) / drafts, .7, 0.03);
    EXPECT_NEAR(static_cast<double>(state.accepted_per_position[2]) / drafts, .343, 0.03);
}

TEST(Engine, WhichDraftsAreAcceptedDependsOnTheRequestAlone) {
    const auto tokens_of_first = [](int others) {
        const auto engine = engine_of(speculating(3, .5), 5);
        engine->submit({.id = 1, .prompt_tokens = 3, .output_tokens = 60}, kStart);
        for (int i = 0; i < others; ++i)
            engine->submit({.id = 2 + static_cast<std::uint64_t>(i), .prompt_tokens = 9, .output_tokens = 20},
                           kStart);
        std::vector<std::int64_t> tokens;
        for (const auto& [id, first, count, at] : groups_to_end(*engine))
            if (id == 1) tokens.push_back(count);
        return tokens;
    };
    EXPECT_EQ(tokens_of_first(0), tokens_of_first(7));
}

TEST(Engine, HiccupsComeAsOftenAndLastAsLongAsAsked) {
    const Profile profile = profile_named("llama3-8b-h100-bf16?jitter=0&hiccup=5ms-20ms/200ms");
    const auto engine = engine_of(profile, 3);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 20'000}, kStart);
    double busy = 0;
    double added = 0;
    int hiccups = 0;
    while (engine->begin_step()) {
        const Step& step = engine->end_step();
        const double planned = step_seconds(profile, step.work);
        const double more = seconds(step.end - step.begin) - planned;
        busy += planned;
        if (more < 1e-6) continue;
        ++hiccups;
        added += more;
        EXPECT_GE(more, .005 - 1e-6);
    }
    EXPECT_NEAR(hiccups, busy / .2, 4 * std::sqrt(busy / .2));
    EXPECT_NEAR(added / hiccups, .0125, .0015);
}

TEST(FixedEngine, EveryTokenIsDueOnItsRequestsOwnSchedule) {
    const auto engine = engine_of(profile_named("ideal?ttft=20ms&itl=10ms"), 0);
    engine->submit({.id = 1, .prompt_tokens = 4000, .output_tokens = 3}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 1, .output_tokens = 2}, kStart + milliseconds(15));
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{1, 0, 20}, Event{1, 1, 30}, Event{2, 0, 35},
                                                 Event{1, 2, 40}, Event{2, 1, 45}));
}

TEST(FixedEngine, WithoutDelaysAllTokensAreDueAtOnce) {
    const auto engine = engine_of(profile_named("ideal?ttft=0&itl=0"), 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 3}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 1, .output_tokens = 1}, kStart);
    EXPECT_EQ(engine->begin_step(), kStart);
    EXPECT_THAT(engine->end_step().emitted, ElementsAre(Emission{1, 0, false}, Emission{1, 1, false},
                                                        Emission{1, 2, true}, Emission{2, 0, true}));
    EXPECT_EQ(engine->begin_step(), std::nullopt);
}

TEST(FixedEngine, RequestsHaveTheTimesOfTheirArrival) {
    Profile profile = profile_named("ideal?ttft=20ms&itl=10ms&from=1s:itl=30ms&drift=3600");
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 2}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 1, .output_tokens = 2}, kStart + milliseconds(1000));
    EXPECT_THAT(run_to_end(*engine),
                ElementsAre(Event{1, 0, 20}, Event{1, 1, 30}, Event{2, 0, 1040}, Event{2, 1, 1100}))
        << "after a second the speed is half, and tokens are three times as far apart";
}

TEST(FixedEngine, AnAbortedRequestEmitsNothingMore) {
    const auto engine = engine_of(profile_named("ideal?ttft=20ms&itl=10ms"), 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 3}, kStart);
    engine->submit({.id = 2, .prompt_tokens = 1, .output_tokens = 1}, kStart + milliseconds(1));
    engine->abort(1);
    EXPECT_EQ(engine->state().running, 1);
    EXPECT_THAT(run_to_end(*engine), ElementsAre(Event{2, 0, 21}));
}

// Properties, over random workloads on engines so small that every limit is met.

struct Workload {
    Profile profile;
    std::vector<std::pair<EngineRequest, TimePoint>> requests;
};

Workload random_workload(std::uint64_t seed) {
    Random random(seed);
    Workload workload{.profile = simple_profile(), .requests = {}};
    workload.profile.block_tokens = 1 + static_cast<std::int64_t>(random.below(8));
    workload.profile.blocks = 40 + static_cast<std::int64_t>(random.below(60));
    workload.profile.max_num_seqs = 1 + static_cast<std::int64_t>(random.below(12));
    workload.profile.max_batched_tokens = 1 + static_cast<std::int64_t>(random.below(50));
    workload.profile.jitter = random.below(2) == 0 ? 0 : 0.1;
    workload.profile.speculative_tokens = static_cast<std::int64_t>(random.below(4));
    workload.profile.acceptance = random.uniform();
    if (random.below(2) == 0) workload.profile.hiccup = {milliseconds(1), milliseconds(9), milliseconds(40)};
    const auto most = static_cast<std::uint64_t>(kv_capacity_tokens(workload.profile));
    TimePoint at = kStart;
    for (std::uint64_t id = 1; id <= 100; ++id) {
        const auto prompt = static_cast<std::int64_t>(1 + random.below(most - 1));
        const auto output =
            static_cast<std::int64_t>(1 + random.below(std::min<std::uint64_t>(30, most - prompt)));
        workload.requests.push_back({{.id = id, .prompt_tokens = prompt, .output_tokens = output}, at});
        at += milliseconds(random.below(60));
    }
    return workload;
}

std::vector<Step> steps_of(const Workload& workload, std::uint64_t seed) {
    const auto engine = engine_of(workload.profile, seed);
    for (const auto& [request, at] : workload.requests) engine->submit(request, at);
    std::vector<Step> steps;
    while (engine->begin_step()) {
        EXPECT_GE(engine->state().blocks_used, 0);
        EXPECT_LE(engine->state().blocks_used, workload.profile.blocks);
        EXPECT_LE(engine->state().running, workload.profile.max_num_seqs);
        steps.push_back(engine->end_step());
    }
    EXPECT_EQ(engine->state().blocks_used, 0);
    EXPECT_EQ(engine->state().waiting, 0);
    return steps;
}

class RandomWorkloads : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomWorkloads, EmitEveryTokenOnceAndInOrder) {
    const Workload workload = random_workload(GetParam());
    std::map<std::uint64_t, std::int64_t> emitted;
    std::map<std::uint64_t, TimePoint> admitted;
    for (const Step& step : steps_of(workload, 1)) {
        for (const Admission& a : step.admitted) EXPECT_TRUE(admitted.emplace(a.id, step.begin).second);
        for (const Emission& emission : step.emitted) {
            EXPECT_EQ(emission.index, emitted[emission.id]);
            EXPECT_GE(emission.tokens, 1);
            EXPECT_LE(emission.tokens, 1 + workload.profile.speculative_tokens);
            emitted[emission.id] += emission.tokens;
            const auto wanted = workload.requests[emission.id - 1].first.output_tokens;
            EXPECT_EQ(emission.last, emitted[emission.id] == wanted);
        }
    }
    for (const auto& [request, at] : workload.requests) {
        EXPECT_EQ(emitted[request.id], request.output_tokens);
        EXPECT_GE(admitted.at(request.id), at);
    }
}

TEST_P(RandomWorkloads, KeepToTheBudgetAndToTheSchedule) {
    const Workload workload = random_workload(GetParam());
    TimePoint last_end = TimePoint::min();
    for (const Step& step : steps_of(workload, 1)) {
        EXPECT_GE(step.work.tokens, 1);
        EXPECT_LE(step.work.tokens, workload.profile.max_batched_tokens);
        const bool arrival = std::any_of(workload.requests.begin(), workload.requests.end(),
                                         [&](const auto& row) { return row.second == step.begin; });
        EXPECT_TRUE(step.begin == last_end || (step.begin > last_end && arrival));
        EXPECT_GT(step.end, step.begin);
        last_end = step.end;
    }
}

TEST_P(RandomWorkloads, AreTheSameForTheSameSeed) {
    const Workload workload = random_workload(GetParam());
    const auto first = steps_of(workload, 3);
    const auto second = steps_of(workload, 3);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].end, second[i].end);
        EXPECT_EQ(first[i].emitted, second[i].emitted);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorkloads, ::testing::Range<std::uint64_t>(0, 25));

TEST(Engine, TheScheduleDoesNotDriftOverAMillionTokens) {
    const Profile profile = profile_named(
        "llama3-8b-h100-bf16?jitter=0&kv_bytes_per_token=1e-9&max_model_len=10000000&blocks=1000000");
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 1'000'000}, kStart);
    TimePoint end = kStart;
    while (engine->begin_step()) {
        const Step& step = engine->end_step();
        ASSERT_EQ(step.begin, end);
        end = step.end;
    }
    const double step_s = step_seconds(profile, {.tokens = 1, .sequences = 1});
    EXPECT_NEAR(seconds(end - kStart), 1e6 * step_s, 1e6 * 1e-9);  // nanoseconds are rounded once per step
}

TEST(Engine, JitterHasTheProfilesSpread) {
    const Profile profile = profile_named("llama3-8b-h100-bf16?jitter=0.03");
    const auto engine = engine_of(profile, 0);
    engine->submit({.id = 1, .prompt_tokens = 1, .output_tokens = 20'000}, kStart);
    double sum = 0;
    double squares = 0;
    double count = 0;
    while (engine->begin_step()) {
        const Step& step = engine->end_step();
        const double noise = std::log(seconds(step.end - step.begin) / step_seconds(profile, step.work));
        sum += noise;
        squares += noise * noise;
        ++count;
    }
    EXPECT_NEAR(sum / count, 0, 0.001);
    EXPECT_NEAR(std::sqrt(squares / count), 0.03, 0.001);
}

// NVIDIA's published throughput of Llama 3.1 8B FP8 on one H100 (TensorRT-LLM), output tokens/s of the whole
// run.

struct PublishedRow {
    std::int64_t input;
    std::int64_t output;
    double tokens_per_s;
};

class PublishedThroughput : public ::testing::TestWithParam<PublishedRow> {};

TEST_P(PublishedThroughput, IsMetWithinAFifth) {
    constexpr int kRequests = 1500;
    const PublishedRow row = GetParam();
    const auto engine = engine_of(profile_named("llama3-8b-h100-fp8?max_num_seqs=2048"), 0);
    for (std::uint64_t id = 1; id <= kRequests; ++id) {
        engine->submit({.id = id, .prompt_tokens = row.input, .output_tokens = row.output}, kStart);
    }
    TimePoint end = kStart;
    while (engine->begin_step()) end = engine->end_step().end;
    const double ratio =
        kRequests * static_cast<double>(row.output) / seconds(end - kStart) / row.tokens_per_s;
    RecordProperty("ratio", std::to_string(ratio));
    EXPECT_GT(ratio, 0.8);
    EXPECT_LT(ratio, 1.2);
}

INSTANTIATE_TEST_SUITE_P(Rows, PublishedThroughput,
                         ::testing::Values(PublishedRow{128, 128, 28312}, PublishedRow{500, 2000, 17660},
                                           PublishedRow{1000, 1000, 15220}, PublishedRow{2048, 128, 3450},
                                           PublishedRow{5000, 500, 3459}, PublishedRow{20000, 2000, 1351}));

}  // namespace
}  // namespace paretoken::sim
