#include "experiments/sweep/slo_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "experiments/session.h"
#include "experiments/sweep/answer.h"
#include "reports/files/run_directory.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

/// Returns the exit code of a search: that of the error that require_shown() throws, or ok.
ExitCode code_of(const reports::SweepFile& file) {
    try {
        require_shown(file, {}, *file.search, 1.1);
    } catch (const Error& error) {
        return error.code();
    }
    return ExitCode::ok;
}

class VirtualSearch : public VirtualExperiment {
  protected:
    static PlanTexts load() {
        return {{"url", {"sim:llama3-8b-h100-bf16"}},
                {"virtual", {"true"}},
                {"isl", {"512"}},
                {"osl", {"32"}},
                {"num_prompts", {"600"}}};
    }
    SloSearchPlan plan_for(const std::vector<std::string>& slos, Axis axis = Axis::concurrency) const {
        SloSearchPlan plan{
            .sweep = {.asked = with_dataset(plan_of(load())), .axis = axis, .levels = {1, 65536}}};
        plan.sweep.asked.slos = slos;
        return plan;
    }
    reports::SweepFile searched(const SloSearchPlan& plan, const std::string& name) {
        SweepPlan listed = plan.sweep;
        listed.levels.clear();
        reports::SweepFile file = resumed(fresh_sweep(listed, invocation_), directory_ / name).file;
        std::filesystem::create_directories(directory_ / name);
        const auto target = open_target(plan.sweep.asked, {}, watcher_, stop_.get_token());
        search_levels(*target, plan, file, directory_ / name, {invocation_, watcher_, stop_.get_token()});
        return file;
    }
    Invocation invocation_{{"paretoken"}, "paretoken sweep"};
};

TEST_F(VirtualSearch, brackets_the_knee_that_every_whole_level_shows) {
    const SloSearchPlan plan = plan_for({"ttft_p95:60", "tpot_p95:9"});
    const reports::SweepFile file = searched(plan, "search");
    ASSERT_TRUE(file.search);
    ASSERT_TRUE(file.search->pass) << file.search->ended;
    ASSERT_TRUE(file.search->fail);
    EXPECT_LE(file.search->runs, 12U);
    EXPECT_EQ(file.points.size(), file.search->runs);
    EXPECT_FALSE(file.search->binding.empty());
    // A level that certainly passes is at or below every level that certainly fails.
    for (const double level : {*file.search->pass, *file.search->fail}) {
        PlanTexts texts = load();
        texts["concurrency"] = {std::to_string(static_cast<int>(level))};
        texts["num_prompts"] = {"4000"};
        texts["seed"] = {"99"};
        const Measured longer = measured(texts, "at" + texts["concurrency"].front());
        EXPECT_EQ(verdict_on_all(longer.result, parse_slos(plan.sweep.asked.slos)),
                  level == *file.search->pass ? SloVerdict::met : SloVerdict::missed)
            << level;
    }
    EXPECT_EQ(code_of(file), ExitCode::ok);
}

TEST_F(VirtualSearch, of_a_rate_stops_where_the_server_does_not_keep_up) {
    SloSearchPlan plan = plan_for({"ttft_p90:1000000"}, Axis::request_rate);
    plan.sweep.asked.targets = {"sim:llama3-8b-h100-bf16?max_num_seqs=4"};
    plan.sweep.levels = {2, 65536};
    plan.max_runs = 16;
    const reports::SweepFile file = searched(plan, "rate");
    ASSERT_TRUE(file.search->pass) << file.search->ended;
    ASSERT_TRUE(file.search->fail);
    EXPECT_THAT(file.search->binding,
                testing::StartsWith("the server does not keep up with the arrivals (served "));
    const double capacity = 4 / (32 * 7.6e-3);  // requests/s: slots over the time of an answer
    EXPECT_LT(*file.search->pass, capacity);
    EXPECT_GT(*file.search->fail, 0.9 * capacity);
}

TEST_F(VirtualSearch, takes_a_run_that_ended_as_diverging_for_one_that_misses) {
    SloSearchPlan plan = plan_for({"ttft_p95:500"}, Axis::request_rate);
    plan.sweep.asked.targets = {"sim:llama3-8b-h100-bf16?max_num_seqs=4"};
    plan.sweep.asked.stop.requests = 2000;
    plan.sweep.levels = {32, 65536};
    plan.max_runs = 1;
    const reports::SweepFile file = searched(plan, "diverging");
    ASSERT_TRUE(file.search->fail);
    const auto failed = std::find_if(file.points.begin(), file.points.end(),
                                     [&](const auto& point) { return point.load == *file.search->fail; });
    ASSERT_NE(failed, file.points.end());
    const RunResult run = reports::read_run_directory(directory_ / "diverging" / failed->directory);
    ASSERT_TRUE(run.stop);
    EXPECT_EQ(run.stop->rule, "diverging");
    EXPECT_THAT(file.search->binding,
                testing::StartsWith("the server does not keep up with the arrivals (served "));
}

TEST_F(VirtualSearch, names_failed_requests_as_the_reason_of_a_run_that_decides_no_slo) {
    const SloSearchPlan plan = plan_for({"ttft_p95:500"});
    RunResult few;
    few.validity = {Verdict::invalid, {{Verdict::invalid, "errors", "30 % of the requests failed"}}};
    EXPECT_EQ(verdict_on_all(few, parse_slos(plan.sweep.asked.slos)), SloVerdict::missed);
    EXPECT_EQ(binding_of(few, plan.sweep.asked), "too many requests fail");
}

TEST_F(VirtualSearch, leaves_the_command_that_narrows_its_bracket) {
    SloSearchPlan plan = plan_for({"ttft_p95:60"});
    invocation_.argv = {"paretoken", "sweep", "sim:llama3-8b-h100-bf16", "--out=d", "--precision", "1.1"};
    reports::SweepSearch found{.pass = 100, .fail = 108, .runs = 11};
    EXPECT_EQ(narrowing_command(plan, found, "d", invocation_),
              "paretoken sweep sim:llama3-8b-h100-bf16 --out=d --precision 1.025 --max-runs 19");
    found.fail = 140;
    EXPECT_EQ(narrowing_command(plan, found, "d", invocation_),
              "paretoken sweep sim:llama3-8b-h100-bf16 --out=d --precision 1.1 --max-runs 19");
    found.fail = 101;
    EXPECT_EQ(narrowing_command(plan, found, "d", invocation_), "") << "nothing lies between";
}

TEST_F(VirtualSearch, goes_on_with_what_an_earlier_one_has_measured) {
    const SloSearchPlan plan = plan_for({"ttft_p95:60"});
    const reports::SweepFile first = searched(plan, "search");
    const auto written = std::filesystem::last_write_time(directory_ / "search" / "c0001" / "run.json");
    const reports::SweepFile again = searched(plan, "search");
    EXPECT_EQ(again.search, first.search);
    EXPECT_EQ(again.points, first.points);
    EXPECT_EQ(std::filesystem::last_write_time(directory_ / "search" / "c0001" / "run.json"), written);
}

TEST_F(VirtualSearch, that_goes_on_keeps_a_load_that_an_earlier_one_confirmed) {
    SloSearchPlan plan = plan_for({"ttft_p95:100"});
    plan.max_runs = 5;
    const auto before = searched(plan, "kept").search->pass;
    ASSERT_TRUE(before);
    plan.max_runs = 8;
    const reports::SweepSearch after = *searched(plan, "kept").search;
    ASSERT_TRUE(after.pass);
    EXPECT_GE(*after.pass, *before);
}

TEST_F(VirtualSearch, that_finds_nothing_says_so_with_its_exit_code) {
    const reports::SweepFile file = searched(plan_for({"ttft_p95:0.001"}), "hopeless");
    EXPECT_FALSE(file.search->pass);
    EXPECT_EQ(file.search->fail, 1);
    EXPECT_EQ(file.search->binding, "ttft_p95:0.001");
    EXPECT_EQ(code_of(file), ExitCode::gate_failed);
    reports::SweepFile once = file;
    once.search->within = 8;  // neither shown nor refuted
    EXPECT_EQ(code_of(once), ExitCode::gate_inconclusive);
    once.search->pass = 4;
    EXPECT_EQ(code_of(once), ExitCode::gate_inconclusive) << "twice as much may be possible";
    once.search->pass = 7.5;
    EXPECT_EQ(code_of(once), ExitCode::ok) << "next to it";
    reports::SweepFile below = file;  // a level below the failed one has too little evidence
    below.search->fail = 2;
    below.points = {{.load = 1, .slo = SloVerdict::insufficient}, {.load = 2, .slo = SloVerdict::missed}};
    EXPECT_EQ(code_of(below), ExitCode::gate_inconclusive);
    reports::SweepFile unknown = file;
    unknown.search.emplace().slos = {"ttft_p99:1"};
    EXPECT_EQ(code_of(unknown), ExitCode::gate_inconclusive);
}

}  // namespace
}  // namespace paretoken::experiments
