#include "datasets/files/agents/agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "datasets/describe.h"
#include "datasets/job.h"

namespace paretoken::datasets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Dataset> agents(const std::string& spec, std::uint64_t seed = 0) {
    return make_dataset(
        {.spec = parse_spec(spec), .seed = seed, .form = PromptForm::token_ids, .live_replies = false});
}

const std::string kFixed =
    "agents:jobs=5,turns=4,fanout=2,subturns=2,prefix=128,first=100,next=50,osl=30,tool=1s";

/// Returns the ids of a turn's prompt.
TokenIds prompt_of(const Dataset& dataset, std::uint64_t job, std::uint32_t turn) {
    const Prompt none = Messages{};
    Request request = turn == 0 ? dataset.outline(job)
                                : dataset.outline_of_follow_up(job, turn, {.prompt = none, .reply = ""});
    return std::get<TokenIds>(request.prompt);
}

std::size_t common_front(const TokenIds& a, const TokenIds& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

TEST(GeneratedAgents, OneTurnOfTheMainAgentStartsTheOthersAndTheNextOneWaitsForThem) {
    const auto dataset = agents(kFixed);
    for (std::uint64_t number = 0; number < 5; ++number) {
        const auto& turns = dataset->job(number)->turns;
        ASSERT_EQ(turns.size(), 4U + 2 * 2);
        std::set<std::uint32_t> spawners;
        std::size_t joins = 0;
        for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
            const JobTurn& of = turns[turn];
            EXPECT_EQ(of.history, std::nullopt) << "prompts are stated as a whole";
            if (of.agent > 0 && of.number == 0) {
                ASSERT_EQ(of.after.size(), 1U);
                EXPECT_EQ(turns[of.after[0]].agent, 0U);
                spawners.insert(turns[of.after[0]].number);
                EXPECT_EQ(of.tool, Duration{});
            } else if (of.after.size() == 3) {  // the turn before, and the last turns of two sub-agents
                EXPECT_EQ(of.agent, 0U);
                EXPECT_EQ(of.tool, Duration{}) << "the sub-agents are the tool";
                ++joins;
            } else if (turn > 0) {
                EXPECT_EQ(of.tool, std::chrono::seconds(1));
            }
        }
        EXPECT_EQ(spawners.size(), 1U) << "they start together";
        EXPECT_EQ(joins, 1U);
    }
}

TEST(GeneratedAgents, ContextsGrowByTheAnswerAndTheNextMessage) {
    const auto dataset = agents(kFixed);
    std::map<std::uint32_t, std::int64_t> last;
    const auto& turns = dataset->job(0)->turns;
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        const auto tokens = static_cast<std::int64_t>(prompt_of(*dataset, 0, turn).size());
        const bool first = turns[turn].number == 0;
        EXPECT_EQ(tokens, first ? 128 + 100 : last[turns[turn].agent] + 30 + 50);
        last[turns[turn].agent] = tokens;
    }
}

TEST(GeneratedAgents, ShareThePrefixAndContinueTheirOwnContextsAndNothingElse) {
    const auto dataset = agents(kFixed);
    const auto& turns = dataset->job(0)->turns;
    std::map<std::uint32_t, std::uint32_t> last;
    for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
        const TokenIds own = prompt_of(*dataset, 0, turn);
        EXPECT_EQ(common_front(own, prompt_of(*dataset, 1, 0)), 128U) << "another job";
        EXPECT_EQ(common_front(own, prompt_of(*dataset, 5, 0)), 128U) << "the next play of the same job";
        const auto before = last.find(turns[turn].agent);
        if (before != last.end()) {
            const TokenIds earlier = prompt_of(*dataset, 0, before->second);
            EXPECT_EQ(common_front(own, earlier), earlier.size() / 64 * 64) << "its whole blocks";
        }
        last[turns[turn].agent] = turn;
    }
}

TEST(GeneratedAgents, FollowFromTheSeed) {
    const std::string spec =
        "agents:jobs=20,turns=uniform:min=1;max=9,fanout=uniform:min=1;max=4,"
        "tool=lognormal:mean=2s;cv=1";
    const auto a = agents(spec, 1);
    const auto again = agents(spec, 1);
    const auto other = agents(spec, 2);
    bool differ = false;
    for (std::uint64_t job = 0; job < 20; ++job) {
        EXPECT_EQ(*a->job(job), *again->job(job));
        EXPECT_EQ(*a->job(job), *a->job(job + 20)) << "job 20 has the lengths of job 0";
        differ = differ || *a->job(job) != *other->job(job);
    }
    EXPECT_TRUE(differ);
    EXPECT_EQ(a->size(), 20U);
}

TEST(GeneratedAgents, MayHaveNoSubAgents) {
    const auto dataset = agents("agents:jobs=3,turns=3,fanout=0,prefix=0");
    EXPECT_EQ(dataset->turns(0), 3U);
    for (const JobTurn& turn : dataset->job(0)->turns) EXPECT_EQ(turn.agent, 0U);
}

TEST(GeneratedAgents, AreDescribedLikeAFile) {
    const FileDescription description = description_of(kFixed, *generated_format(parse_spec(kFixed), 0));
    ASSERT_TRUE(description.jobs);
    EXPECT_EQ(description.jobs->jobs, 5U);
    EXPECT_EQ(description.jobs->agents, 15U);
    EXPECT_EQ(description.jobs->turns, 40U);
    EXPECT_EQ(description.jobs->depth, 2U);
}

TEST(GeneratedAgents, RefuseWrongFields) {
    const auto refusal = [](const std::string& spec) -> std::string {
        try {
            (void)agents(spec);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_THAT(refusal("agents:jobs=0"), HasSubstr("between 1 and 100k"));
    EXPECT_THAT(refusal("agents:job=1"), HasSubstr("no field 'job'"));
    EXPECT_THAT(refusal("agents:tool=soon"), HasSubstr("soon"));
}

}  // namespace
}  // namespace paretoken::datasets
