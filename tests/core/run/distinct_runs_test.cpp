#include "core/run/distinct_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunResult run_with(const std::string& id) {
    RunResult run;
    run.provenance.run_id = id;
    return run;
}

TEST(DistinctRuns, takes_runs_with_equal_figures_if_their_ids_differ) {
    DistinctRuns runs;
    runs.add(run_with("1"), "a");
    EXPECT_NO_THROW(runs.add(run_with("2"), "b"));
    EXPECT_TRUE(runs.holds(run_with("2")));
    EXPECT_FALSE(runs.holds(run_with("3")));
}

TEST(DistinctRuns, refuses_a_copy_and_names_both_directories) {
    DistinctRuns runs;
    runs.add(run_with("1"), "a");
    EXPECT_THAT([&] { runs.add(run_with("1"), "copy"); },
                ::testing::ThrowsMessage<UsageError>(AllOf(HasSubstr("copy is the same run as a"))));
    EXPECT_THAT([&] { runs.add(run_with("1"), "a"); },
                ::testing::ThrowsMessage<UsageError>(HasSubstr("a is given more than once")));
}

TEST(DistinctRuns, compares_results_without_an_id_by_their_origin_plan_and_figures) {
    RunResult first;
    first.provenance.started_at = "2026-11-21T09:38:00Z";
    first.provenance.command = "paretoken sweep";
    first.plan = {{"concurrency", "1"}};
    RunResult second = first;
    EXPECT_EQ(identity_of(first), identity_of(second));
    second.plan["concurrency"] = "2";
    EXPECT_NE(identity_of(first), identity_of(second)) << "points of a sweep have one command";
}

TEST(DistinctRuns, takes_results_that_do_not_say_where_they_are_from) {
    DistinctRuns runs;
    runs.add({}, "a");
    EXPECT_NO_THROW(runs.add({}, "b"));
    EXPECT_FALSE(runs.holds({}));
}

}  // namespace
}  // namespace paretoken
