#include "experiments/first_look/first_look.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "experiments/session.h"
#include "reports/files/run_directory.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

class FirstLookRuns : public VirtualExperiment {
  protected:
    reports::FirstLook looked(FirstLookPlan plan) {
        const auto target = open_target(opening_plan(plan), {}, watcher_, stop_.get_token());
        return first_look(*target, plan, directory_ / "look",
                          {{{"paretoken"}, "paretoken try"}, watcher_, stop_.get_token()});
    }
    static FirstLookPlan plan() {
        return {.asked = plan_of({{"url", {"sim:llama3-8b-h100-bf16?jitter=0"}}, {"virtual", {"true"}}})};
    }
};

TEST_F(FirstLookRuns, OnePersonIsMeasuredAtAllDepthsAndThenMorePeople) {
    const reports::FirstLook look = looked(plan());
    ASSERT_EQ(look.depths.size(), 5u);
    for (std::size_t i = 1; i < look.depths.size(); ++i) {
        EXPECT_GT(*look.depths[i].first_token_s, *look.depths[i - 1].first_token_s);
        EXPECT_LE(*look.depths[i].generation_tok_per_s, *look.depths[i - 1].generation_tok_per_s);
    }
    const auto half = reports::people_at_half_speed(look.crowds);
    ASSERT_TRUE(half);
    EXPECT_GT(*half, 32);
}

TEST_F(FirstLookRuns, TheSpeedsAreThoseOfTheRunsInTheSweep) {
    const reports::FirstLook look = looked(plan());
    const reports::SweepFile file = reports::read_sweep(directory_ / "look");
    ASSERT_EQ(file.points.size(), look.depths.size() + look.crowds.size() - 1);
    const reports::SweepPoint& first = file.points.front();
    EXPECT_EQ(first.cell, (Cell{{"isl", "128"}}));
    const RunResult run = reports::read_run_directory(directory_ / "look" / first.directory);
    EXPECT_EQ(reports::speed_at_depth(run, 128, 128), look.depths.front());
    double before = 0;
    for (const reports::SweepPoint& point : file.points) {
        EXPECT_EQ(point.state, reports::PointState::done);
        if (point.cell == first.cell) {
            EXPECT_GT(point.load, before);
            before = point.load;
        }
    }
}

TEST_F(FirstLookRuns, TheLoadsFitIntoTheTime) {
    FirstLookPlan short_plan = plan();
    short_plan.time = std::chrono::seconds(6);
    const reports::FirstLook look = looked(short_plan);
    double took_s = 0;
    for (const reports::SweepPoint& point : reports::read_sweep(directory_ / "look").points)
        took_s += reports::read_run_directory(directory_ / "look" / point.directory).window.run_s;
    EXPECT_LE(took_s, 6.5);
    EXPECT_TRUE(look.out_of_time);
    EXPECT_FALSE(look.depths.empty());
}

TEST_F(FirstLookRuns, DepthsThatTheContextDoesNotHoldAreLeftOut) {
    FirstLookPlan deep = plan();
    deep.depths = {64, 100'000'000};
    EXPECT_EQ(looked(deep).depths.size(), 1u);
}

}  // namespace
}  // namespace paretoken::experiments
