#include "datasets/begun_inside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "datasets/catalog.h"
#include "tests/support/message_of.h"

namespace paretoken::datasets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Turn 0 starts the agents 1 and 2; turn 3 of agent 0 waits for both.
JobGraph three_agents() {
    JobGraph graph{.turns = std::vector<JobTurn>(6)};
    graph.turns[1] = {.agent = 1, .number = 0, .after = {0}};
    graph.turns[2] = {.agent = 2, .number = 0, .after = {0}};
    graph.turns[3] = {.agent = 1, .number = 1, .after = {1}};
    graph.turns[3].tool = std::chrono::seconds(2);
    graph.turns[4] = {.agent = 0, .number = 1, .after = {0, 2, 3}};
    graph.turns[5] = {.agent = 0, .number = 2, .after = {4}};
    return graph;
}

TEST(CutJob, HasAPrimerOfEachAgentThatGoesOn) {
    const CutJob cut = cut_job(three_agents(), 3);  // agent 2 has ended
    EXPECT_EQ(cut.graph.primers, 2U);
    EXPECT_THAT(cut.turns, ElementsAre(0U, 1U, 3U, 4U, 5U));
    EXPECT_TRUE(cut.graph.turns[0].after.empty());
    EXPECT_TRUE(cut.graph.turns[1].after.empty());
    EXPECT_THAT(cut.graph.turns[2].after, ElementsAre(1U)) << "it follows its agent's primer";
    EXPECT_EQ(cut.graph.turns[2].tool, std::chrono::seconds(2)) << "after its pause";
    EXPECT_THAT(cut.graph.turns[3].after, ElementsAre(0U, 2U));
}

TEST(CutJob, AnAgentThatHasNotBegunFollowsTheFirstPrimer) {
    const CutJob cut = cut_job(three_agents(), 2);
    EXPECT_THAT(cut.turns, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U));
    EXPECT_THAT(cut.graph.turns[2].after, ElementsAre(0U));
}

TEST(CutJob, HasFurtherTurnsForTheWarmUpThatKeepTheirOrderWithoutPauses) {
    const CutJob cut = cut_job(three_agents(), 3, 1);
    EXPECT_EQ(cut.turns, cut_job(three_agents(), 3).turns);
    EXPECT_EQ(cut.graph.primers, 3U);
    EXPECT_THAT(cut.graph.turns[2].after, ElementsAre(1U));
    EXPECT_EQ(cut.graph.turns[2].tool, Duration{});
    EXPECT_EQ(cut_job(three_agents(), 3, 10).graph.primers, 4U) << "one turn is left to measure";
    EXPECT_EQ(cut_job(three_agents(), 0, 10).graph.primers, 5U);
}

TEST(CutJob, OfNothingIsTheWholeJob) {
    const CutJob cut = cut_job(three_agents(), 0);
    EXPECT_EQ(cut.graph, three_agents());
    EXPECT_EQ(cut.graph.primers, 0U);
}

TEST(CutJob, KeepsEveryLaterTurnBehindThoseItWaitsFor) {
    const auto dataset = make_dataset(
        {.spec = parse_spec("agents:jobs=50,turns=uniform:min=2;max=9,fanout=uniform:min=1;max=4"),
         .live_replies = false});
    for (std::uint64_t job = 0; job < 50; ++job) {
        const JobGraph whole = *dataset->job(job);
        for (std::uint32_t before = 1; before < whole.turns.size(); ++before) {
            const CutJob cut = cut_job(whole, before);
            const auto primers = cut.graph.primers;
            ASSERT_GE(primers, 1U);
            ASSERT_EQ(cut.turns.size(), primers + whole.turns.size() - before);
            std::set<std::uint32_t> agents;
            for (std::uint32_t turn = 0; turn < cut.turns.size(); ++turn) {
                const JobTurn& of = cut.graph.turns[turn];
                EXPECT_EQ(of.after.empty(), turn < primers);
                const bool is_new = turn >= primers || agents.insert(of.agent).second;
                EXPECT_TRUE(is_new) << "one primer an agent";
                for (const std::uint32_t other : of.after) EXPECT_LT(other, turn);
                EXPECT_EQ(whole.turns[cut.turns[turn]].agent, of.agent);
            }
        }
    }
}

TEST(BegunInside, TheFirstJobsBeginAtAShareOfTheirTurnsAndTheOthersAtTheirStart) {
    const std::string spec = "agents:jobs=100,turns=40,fanout=0,osl=20";
    const auto make = [&] { return make_dataset({.spec = parse_spec(spec), .live_replies = false}); };
    const auto whole = make();
    const auto inside = begun_inside(make(), {.low = .25, .high = .75}, 7, 60);
    std::set<std::uint32_t> begins;
    for (std::uint64_t job = 0; job < 60; ++job) {
        ASSERT_EQ(inside->job(job)->primers, 1U);
        const std::uint32_t left = inside->turns(job) - 1;
        EXPECT_GE(40 - left, 10U);
        EXPECT_LE(40 - left, 30U);
        begins.insert(40 - left);
        EXPECT_EQ(inside->outline(job).wanted_output_tokens, 1) << "a primer asks for one token";
        const Prompt none = Messages{};
        const Said nothing{.prompt = none, .reply = ""};
        EXPECT_EQ(inside->outline_of_follow_up(job, left, nothing).wanted_input_tokens,
                  whole->outline_of_follow_up(job, 39, nothing).wanted_input_tokens);
    }
    EXPECT_GE(begins.size(), 10U) << "drawn for each job";
    EXPECT_EQ(*inside->job(60), *whole->job(60));
}

TEST(BegunInside, NeedsJobsWhosePromptsDoNotDependOnAnswers) {
    const auto refusal = [](const std::string& spec) -> std::string {
        try {
            (void)begun_inside(make_dataset({.spec = parse_spec(spec)}), {}, 0, 4);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_THAT(refusal("synthetic"), HasSubstr("no jobs of agents"));
    EXPECT_EQ(refusal("agents"), "accepted");
}

TEST(BeginShares, AreARangeOrOneShare) {
    EXPECT_EQ(parse_begin_shares("0.25..0.75"), (BeginShares{.25, .75}));
    EXPECT_EQ(parse_begin_shares("0.5"), (BeginShares{.5, .5}));
    EXPECT_EQ(parse_begin_shares("0.25..0.75+10"), (BeginShares{.25, .75, 10}));
    for (const char* const wrong :
         {"0.5+", "0.5+-1", "0.5+1.5", "0.5+1e99", "", "x", "1", "-0.1..0.5", "0.7..0.2", "0.5..1"})
        EXPECT_THAT(message_of<UsageError>([&] { (void)parse_begin_shares(wrong); }),
                    HasSubstr("--start-inside"));
}

}  // namespace
}  // namespace paretoken::datasets
