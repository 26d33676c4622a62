#include "loadgen/load/job_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/random.h"
#include "tests/support/random_jobs.h"

namespace paretoken::loadgen {
namespace {

using datasets::JobGraph;
using datasets::JobTurn;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobProgress progress_of(JobGraph graph) {
    return JobProgress(std::make_shared<const JobGraph>(std::move(graph)));
}

/// A main agent (turns 0, 1 and 4) that starts two others (turns 2 and 3) and waits for both.
JobGraph two_helpers() {
    return {{{.agent = 0},
             {.agent = 0, .number = 1, .after = {0}, .history = 0},
             {.agent = 1, .after = {1}},
             {.agent = 2, .after = {1}},
             {.agent = 0, .number = 2, .after = {1, 2, 3}, .history = 1}}};
}

TEST(JobProgress, AJoinIsReleasedOnceByTheLastOfThoseItWaitsFor) {
    JobProgress job = progress_of(two_helpers());
    EXPECT_THAT(job.with_the_first(), IsEmpty());
    EXPECT_THAT(job.ended(0, true), ElementsAre(1U));
    EXPECT_THAT(job.ended(1, true), ElementsAre(2U, 3U));
    EXPECT_THAT(job.ended(3, true), IsEmpty());
    EXPECT_THAT(job.ended(3, true), IsEmpty()) << "an end that is reported again releases nothing";
    EXPECT_THAT(job.ended(2, true), ElementsAre(4U));
    EXPECT_FALSE(job.is_over());
    EXPECT_THAT(job.ended(4, true), IsEmpty());
    EXPECT_TRUE(job.is_over());
}

TEST(JobProgress, AJoinIsDueAfterTheLatestEndInWhateverOrderEndsAreReported) {
    const auto at = [](int s) { return TimePoint(std::chrono::seconds(s)); };
    JobProgress job = progress_of(two_helpers());
    job.ended(0, true, at(1));
    job.ended(1, true, at(2));
    job.ended(3, true, at(9));
    EXPECT_THAT(job.ended(2, false, at(5)), ElementsAre(4U));
    EXPECT_EQ(job.latest_end_before(4), at(9));
    JobProgress skipped = progress_of({{{.agent = 0},
                                        {.agent = 1},
                                        {.agent = 0, .number = 1, .after = {0}, .history = 0},
                                        {.agent = 2, .after = {1, 2}}}});
    skipped.ended(0, false, at(7));
    EXPECT_THAT(skipped.ended(1, true, at(3)), ElementsAre(3U));
    EXPECT_EQ(skipped.latest_end_before(3), at(7)) << "that of the turn because of which one was skipped";
}

TEST(JobProgress, AHelperThatFailsReleasesTheJoin) {
    JobProgress job = progress_of(two_helpers());
    job.ended(0, true);
    job.ended(1, true);
    EXPECT_THAT(job.ended(2, false), IsEmpty());
    EXPECT_THAT(job.ended(3, false), ElementsAre(4U)) << "the main agent hears of both failures";
}

TEST(JobProgress, AnAgentEndsWithItsFailedTurnAndStartsNoOthers) {
    JobProgress job = progress_of(two_helpers());
    job.ended(0, true);
    EXPECT_THAT(job.ended(1, false), IsEmpty()) << "no answer asks for the helpers";
    EXPECT_TRUE(job.is_over());
}

TEST(JobProgress, AForkOfAFailedTurnIsSkippedAndAnotherCauseDoesNotSaveIt) {
    JobProgress job = progress_of({{{.agent = 0},
                                    {.agent = 1},
                                    {.agent = 2, .after = {0, 1}, .history = 0},
                                    {.agent = 3, .after = {0, 1}}}});
    EXPECT_THAT(job.with_the_first(), ElementsAre(1U));
    EXPECT_THAT(job.ended(0, false), IsEmpty());
    EXPECT_THAT(job.ended(1, true), ElementsAre(3U)) << "a spawn needs one cause, a fork its history";
    EXPECT_THAT(job.ended(3, true), IsEmpty());
    EXPECT_TRUE(job.is_over());
}

TEST(JobProgress, ALongConversationThatFailsAtOnceIsOver) {
    JobProgress job = progress_of(datasets::conversation_of(65'535));
    EXPECT_THAT(job.ended(0, false), IsEmpty());
    EXPECT_TRUE(job.is_over());
}

/// Whether `turn` may be sent, from what became of the turns before it: 1 sent and well, 0 sent and failed,
/// −1 skipped.
bool may_be_sent(const JobGraph& graph, std::uint32_t turn, const std::vector<int>& fates) {
    const JobTurn& of = graph.turns[turn];
    bool any = of.after.empty();
    for (const std::uint32_t other : of.after) {
        any |= fates[other] == 1;
        const bool needed = of.history == other || graph.turns[other].agent == of.agent;
        if (needed && fates[other] != 1) return false;
    }
    return any;
}

TEST(JobProgress, EveryTurnOfARandomJobIsReleasedOrSkippedOnceWhateverFails) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Random random(seed);
        const JobGraph graph = paretoken::testing::random_job(random);
        JobProgress job = progress_of(graph);
        std::vector<std::uint32_t> running = job.with_the_first();
        running.push_back(0);
        std::set<std::uint32_t> released(running.begin(), running.end());
        ASSERT_EQ(released.size(), running.size());
        std::vector<int> fates(graph.turns.size(), -1);
        while (!running.empty()) {
            EXPECT_FALSE(job.is_over());
            std::swap(running[random.below(running.size())], running.back());
            const std::uint32_t turn = running.back();
            running.pop_back();
            const bool ok = random.below(4) > 0;
            fates[turn] = ok ? 1 : 0;
            for (const std::uint32_t next : job.ended(turn, ok)) {
                EXPECT_TRUE(released.insert(next).second) << "released twice";
                for (const std::uint32_t other : graph.turns[next].after)
                    EXPECT_EQ(std::count(running.begin(), running.end(), other), 0) << "released too early";
                running.push_back(next);
            }
        }
        EXPECT_TRUE(job.is_over()) << "seed " << seed;
        for (std::uint32_t turn = 0; turn < graph.turns.size(); ++turn)
            EXPECT_EQ(released.contains(turn), may_be_sent(graph, turn, fates)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace paretoken::loadgen
