#include "simulator/engine/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/simple_profile.h"

namespace paretoken::sim {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr TimePoint kBegin{};

/// Runs until there is no work, and returns when each request ended.
std::map<std::uint64_t, Duration> ends_of(Replicas& replicas) {
    std::map<std::uint64_t, Duration> ends;
    TimePoint latest = kBegin;
    while (const auto end = replicas.begin_step()) {
        EXPECT_GE(*end, latest) << "steps end in the order of time";
        latest = *end;
        for (const Emission& emission : replicas.end_step().emitted)
            if (emission.last) ends[emission.id] = latest - kBegin;
    }
    return ends;
}

EngineRequest prompt_of(std::uint64_t id, std::int64_t tokens) {
    return {.id = id, .prompt_tokens = tokens, .output_tokens = 1};
}

TEST(Replicas, ComputeRequestsAtTheSameTime) {
    // A step takes 1 ms, and 1 ms for each token: one engine computes both prompts in one step.
    Replicas one(testing::simple_profile(), 0, 1);
    one.submit(prompt_of(1, 9), kBegin, "");
    one.submit(prompt_of(2, 19), kBegin, "");
    EXPECT_THAT(ends_of(one), ElementsAre(Pair(1, milliseconds(29)), Pair(2, milliseconds(29))));
    Replicas two(testing::simple_profile(), 0, 2);
    two.submit(prompt_of(1, 9), kBegin, "");
    two.submit(prompt_of(2, 19), kBegin, "");
    EXPECT_THAT(ends_of(two), ElementsAre(Pair(1, milliseconds(10)), Pair(2, milliseconds(20))));
}

TEST(Replicas, ARequestOfAnIdleEngineDoesNotWaitForTheStepOfAnother) {
    Replicas two(testing::simple_profile(), 0, 2);
    two.submit(prompt_of(1, 99), kBegin, "");
    EXPECT_EQ(two.begin_step(), kBegin + milliseconds(100));
    two.submit(prompt_of(2, 9), kBegin + milliseconds(20), "");
    EXPECT_EQ(two.begin_step(), kBegin + milliseconds(30));
    EXPECT_THAT(ends_of(two), ElementsAre(Pair(1, milliseconds(100)), Pair(2, milliseconds(30))));
}

TEST(Replicas, RequestsOfOneAffinityGoToOneEngine) {
    Replicas five(testing::simple_profile(), 0, 5);
    for (std::uint64_t id = 1; id <= 10; ++id) five.submit(prompt_of(id, 9), kBegin, "agent 7");
    for (const auto& [id, end] : ends_of(five)) EXPECT_EQ(end, milliseconds(91)) << id;
    std::size_t alone = 0;
    for (int agent = 0; agent < 200; ++agent) {
        Replicas two(testing::simple_profile(), 0, 2);
        two.submit(prompt_of(1, 9), kBegin, "agent 7");
        two.submit(prompt_of(2, 9), kBegin, "agent " + std::to_string(agent));
        alone += ends_of(two)[1] == milliseconds(10) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(alone), 100, 30) << "half of the agents are on the other engine";
}

TEST(Replicas, AnAbortedRequestEmitsNothing) {
    Replicas two(testing::simple_profile(), 0, 2);
    two.submit(prompt_of(1, 9), kBegin, "");
    two.submit(prompt_of(2, 9), kBegin, "");
    two.abort(2);
    two.abort(3);
    EXPECT_THAT(ends_of(two), ElementsAre(Pair(1, milliseconds(10))));
}

TEST(Replicas, TheirStateIsTheSum) {
    Replicas two(testing::simple_profile(), 0, 2);
    for (std::uint64_t id = 1; id <= 3; ++id) two.submit(prompt_of(id, 40), kBegin, "");
    EXPECT_EQ(two.state().waiting, 3);
    two.begin_step();
    EXPECT_EQ(two.state().running, 3);
    EXPECT_EQ(two.state().blocks, 2000);
    EXPECT_EQ(two.state().blocks_used, 3 * 3);
    EXPECT_FALSE(two.reset_prefix_cache()) << "blocks are in use";
    ends_of(two);
    EXPECT_TRUE(two.reset_prefix_cache());
    EXPECT_EQ(two.state().blocks_used, 0);
}

}  // namespace
}  // namespace paretoken::sim
