#include "datasets/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/random.h"

namespace paretoken::datasets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OrderedJob order_of_job(const std::vector<StatedTurn>& turns) {
    return ordered_job(turns, [](std::uint32_t turn, const std::string& why) {
        throw UsageError(std::to_string(turn) + ": " + why);
    });
}

std::string refusal_of_job(const std::vector<StatedTurn>& turns) {
    try {
        order_of_job(turns);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Job, AConversationIsAChainInWhichEachTurnContinuesTheOneBefore) {
    const JobGraph graph = conversation_of(3);
    ASSERT_EQ(graph.turns.size(), 3U);
    EXPECT_THAT(graph.turns[0].after, IsEmpty());
    EXPECT_THAT(graph.turns[2].after, ElementsAre(1U));
    EXPECT_EQ(graph.turns[2].history, 1U);
    EXPECT_EQ(graph.turns[2].number, 2U);
    EXPECT_EQ(order_of_job({{}, {}, {}}).graph, graph);
}

TEST(Job, AJoinStatedBeforeItsAgentsStandsBehindThem) {
    // The main agent asks two others and concludes; the file has its last turn in the second row.
    const OrderedJob job = order_of_job({{.agent = 7},
                                         {.agent = 7, .after = {2, 3}, .tool = std::chrono::seconds(2)},
                                         {.agent = 8, .after = {0}, .delay = std::chrono::seconds(1)},
                                         {.agent = 9, .after = {0}, .fork_of = 0U}});
    EXPECT_THAT(job.positions, ElementsAre(0U, 2U, 3U, 1U));
    const auto& turns = job.graph.turns;
    EXPECT_THAT(turns[3].after, ElementsAre(0U, 1U, 2U)) << "the turn before in the agent is one of them";
    EXPECT_EQ(turns[3].history, 0U);
    EXPECT_EQ(turns[3].tool, std::chrono::seconds(2));
    EXPECT_EQ(turns[3].number, 1U);
    EXPECT_EQ(turns[1].history, std::nullopt) << "a spawn starts afresh";
    EXPECT_EQ(turns[1].delay, std::chrono::seconds(1));
    EXPECT_EQ(turns[2].history, 0U) << "a fork inherits the history";
    EXPECT_EQ(turns[1].agent, 1U);
    EXPECT_EQ(turns[2].agent, 2U);
}

TEST(Job, TheTurnWithTheShortestPauseOpensTheJob) {
    EXPECT_THAT(
        order_of_job({{.agent = 0, .delay = std::chrono::seconds(3)}, {.agent = 1}, {.agent = 2}}).positions,
        ElementsAre(1U, 0U, 2U));
}

TEST(Job, TurnsThatNeverStartAreRefused) {
    EXPECT_THAT(refusal_of_job({{.agent = 0, .after = {1}}, {.agent = 1, .after = {0}}}),
                HasSubstr("every turn of the job waits for another one"));
    EXPECT_THAT(refusal_of_job({{.agent = 0, .after = {0}}}), HasSubstr("every turn of the job waits"));
    EXPECT_THAT(refusal_of_job({{.agent = 0}, {.agent = 1, .after = {0, 2}}, {.agent = 2, .after = {1}}}),
                HasSubstr("1: the turn waits for a turn that waits for it"));
    // The join of an agent's first turn waits for the agent's own second turn.
    EXPECT_THAT(refusal_of_job({{.agent = 0}, {.agent = 1, .after = {2}}, {.agent = 1}}),
                HasSubstr("waits for a turn that waits for it"));
}

TEST(Job, NobodyWaitsForAnAgentOfTheBackground) {
    EXPECT_THAT(
        refusal_of_job(
            {{.agent = 0}, {.agent = 1, .after = {0}, .background = true}, {.agent = 0, .after = {1}}}),
        HasSubstr("2: the turn waits for an agent of the background"));
    EXPECT_EQ(refusal_of_job({{.agent = 0},
                              {.agent = 1, .after = {0}, .background = true},
                              {.agent = 1, .background = true},
                              {.agent = 0}}),
              "accepted");
}

TEST(Job, ATurnWithAWholePromptContinuesNoHistory) {
    const OrderedJob job = order_of_job({{.whole_prompt = true}, {.whole_prompt = true}});
    EXPECT_EQ(job.graph.turns[1].history, std::nullopt);
    EXPECT_THAT(job.graph.turns[1].after, ElementsAre(0U));
}

/// Returns turns in a random order of rows, in which each waits for some that can come before it.
std::vector<StatedTurn> random_turns(Random& random) {
    const auto count = static_cast<std::uint32_t>(1 + random.below(12));
    std::vector<std::uint32_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::vector<StatedTurn> turns(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        StatedTurn& turn = turns[order[i]];
        turn.agent = order[i];  // one turn each, so that any order of rows is possible
        for (std::uint32_t earlier = 0; earlier < i; ++earlier)
            if (random.below(3) == 0) turn.after.push_back(order[earlier]);
    }
    return turns;
}

TEST(Job, RandomGraphsAreOrderedWithEveryTurnOnceAndBehindThoseItWaitsFor) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Random random(seed);
        const auto stated = random_turns(random);
        const OrderedJob job = order_of_job(stated);
        ASSERT_EQ(job.graph.turns.size(), stated.size());
        const std::set<std::uint32_t> once(job.positions.begin(), job.positions.end());
        EXPECT_EQ(once.size(), stated.size());
        EXPECT_THAT(job.graph.turns[0].after, IsEmpty());
        for (std::uint32_t turn = 0; turn < stated.size(); ++turn) {
            std::set<std::uint32_t> positions;
            for (const std::uint32_t other : job.graph.turns[turn].after) {
                EXPECT_LT(other, turn);
                positions.insert(job.positions[other]);
            }
            const auto& after = stated[job.positions[turn]].after;
            EXPECT_EQ(positions, std::set<std::uint32_t>(after.begin(), after.end()));
        }
    }
}

TEST(Job, TurnsThatAreLeftOutPassOnTheirWaitsPausesAndHistories) {
    using std::chrono::seconds;
    // 0 starts 1, which 2 continues; 3 waits for both agents.
    const OrderedJob job = order_of_job({{.agent = 0},
                                         {.agent = 1, .after = {0}, .delay = seconds(1)},
                                         {.agent = 1, .delay = seconds(2), .tool = seconds(4)},
                                         {.agent = 0, .after = {2}, .delay = seconds(8)}});
    EXPECT_EQ(without_turns(job, {false, false, false, false}).graph, job.graph);
    const OrderedJob last = without_turns(job, {false, false, true, false});
    EXPECT_THAT(last.positions, ElementsAre(0U, 1U, 3U));
    EXPECT_THAT(last.graph.turns[2].after, ElementsAre(0U, 1U));
    EXPECT_EQ(last.graph.turns[2].delay, seconds(14));
    EXPECT_EQ(last.graph.turns[2].number, 1U);
    const OrderedJob agent = without_turns(job, {false, true, true, false});
    EXPECT_THAT(agent.graph.turns[1].after, ElementsAre(0U));
    EXPECT_EQ(agent.graph.turns[1].agent, 0U);
    const OrderedJob opening = without_turns(job, {true, false, false, false});
    EXPECT_THAT(opening.graph.turns[0].after, IsEmpty());
    EXPECT_EQ(opening.graph.turns[0].agent, 0U) << "agents are numbered anew";
    EXPECT_EQ(opening.graph.turns[2].history, std::nullopt) << "what it continued was the opening";
}

}  // namespace
}  // namespace paretoken::datasets
