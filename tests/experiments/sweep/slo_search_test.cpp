#include "experiments/sweep/slo_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/error.h"
#include "core/spec.h"
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

/// A way in which a search ends, and the option in the command that continues it; no option: no command.
struct Ending {
    const char* name;
    std::vector<std::string> slos;
    std::vector<double> levels = {1, 65536};
    std::uint64_t requests = 600;
    std::uint64_t max_runs = 12;
    std::optional<Duration> max_time = {};
    bool ladder = false;
    const char* option;
};
void PrintTo(const Ending& ending, std::ostream* stream) {
    *stream << ending.name;
}

class EndOfASearch : public VirtualSearch, public ::testing::WithParamInterface<Ending> {
  protected:
    /// Returns the plan that the words of a command give, which changes `plan`.
    static SloSearchPlan plan_in(const std::vector<std::string>& words, SloSearchPlan plan) {
        std::optional<std::uint64_t> max_runs;
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (words[i - 1] == "--max-runs") max_runs = parse_count(words[i]);
            if (words[i - 1] == "--precision") plan.precision = parse_number(words[i]);
            if (words[i - 1] == "--max-time") plan.max_time = parse_duration(words[i]);
            if (words[i - 1] == "--concurrency") plan.sweep.levels = parse_ladder(words[i], Rungs::whole);
        }
        plan.max_runs = max_runs.value_or(plan.max_time ? kNoLimitOnRuns : plan.max_runs);
        return plan;
    }
};

TEST_P(EndOfASearch, prints_a_command_only_if_it_makes_a_run) {
    const Ending& ending = GetParam();
    SloSearchPlan plan = plan_for(ending.slos);
    plan.sweep.levels = ending.levels;
    plan.sweep.asked.stop.requests = ending.requests;
    plan.max_runs = ending.max_time ? kNoLimitOnRuns : ending.max_runs;
    plan.max_time = ending.max_time;
    plan.ladder = ending.ladder;
    invocation_.argv = {"paretoken", "sweep", "sim:llama3-8b-h100-bf16", "--concurrency", "1..4"};
    reports::SweepFile file = searched(plan, "search");
    EXPECT_THAT(file.search->narrow, testing::HasSubstr(ending.option)) << file.search->ended;
    EXPECT_EQ(file.search->narrow.empty(), std::string(ending.option).empty());
    constexpr int kMostFollowed = 3;
    for (int i = 0; i < kMostFollowed && !file.search->narrow.empty(); ++i) {
        const reports::SweepFile before = file;
        std::istringstream line(before.search->narrow);
        invocation_.argv = {std::istream_iterator<std::string>(line), {}};
        plan = plan_in(invocation_.argv, plan);
        file = searched(plan, "search");
        EXPECT_GT(file.points.size(), before.points.size()) << before.search->narrow;
        EXPECT_NE(file.search, before.search);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EndOfASearch,
    testing::Values(
        Ending{.name = "even_the_lowest_level_misses", .slos = {"ttft_p95:0.001"}, .option = ""},
        Ending{.name = "all_levels_pass",
               .slos = {"ttft_p95:5000"},
               .levels = {1, 4},
               .option = "--concurrency 1..32"},
        Ending{.name = "runs_are_used_up", .slos = {"ttft_p95:60"}, .max_runs = 3, .option = "--max-runs 11"},
        Ending{.name = "the_bracket_is_as_narrow_as_asked",
               .slos = {"ttft_p95:60"},
               .max_runs = 30,
               .option = "--precision 1.0"},
        Ending{.name = "the_longest_runs_are_too_short",
               .slos = {"ttft_p99:100000"},
               .requests = 2,
               .max_runs = 40,
               .option = "--max-time"},
        Ending{.name = "time_is_used_up",
               .slos = {"ttft_p95:60"},
               .max_time = std::chrono::seconds(30),
               .option = "--max-time"},
        Ending{.name = "time_of_a_ladder_is_used_up",
               .slos = {"ttft_p99:60"},
               .levels = {1, 2, 4, 8, 16},
               .requests = 60,
               .max_time = std::chrono::seconds(60),
               .ladder = true,
               .option = "--max-time"}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(MayMissByHost, holds_for_a_miss_that_is_not_shown_beside_a_check_of_the_host) {
    RunResult run;
    run.counts.requests = run.counts.ok = run.counts.in_window = 100;
    MetricSummary ttft;
    ttft.key = "ttft_s";
    ttft.n = 100;
    ttft.percentiles = {{.p = .5, .value = .1}, {.p = .95, .value = .6}};
    run.metrics = {ttft};
    const std::vector<Slo> slos = {parse_slo("ttft_p95:500")};
    EXPECT_FALSE(may_miss_by_host(run, slos));
    run.validity = {Verdict::warn, {{Verdict::warn, "hiccups", "the host paused"}}};
    EXPECT_TRUE(may_miss_by_host(run, slos));
    EXPECT_FALSE(may_miss_by_host(run, {parse_slo("ttft_p95:700")})) << "it is within";
    run.metrics.front().percentiles.front().value = .55;  // most requests are over the limit
    EXPECT_FALSE(may_miss_by_host(run, slos)) << "it is shown";
}

TEST_F(VirtualSearch, gives_a_first_run_few_requests_and_a_part_of_the_time) {
    SloSearchPlan plan = plan_for({"ttft_p95:60"});
    plan.sweep.asked.stop = {};
    const auto stop_at = [&](double level, std::uint64_t longer = 1, std::optional<double> rate = 1000) {
        const SearchStep step{level, longer};
        return plan_of_step(plan, step, {.load = level}, rate).stop;
    };
    EXPECT_EQ(stop_at(1).requests, 30U);
    EXPECT_EQ(stop_at(64).requests, 20U * 64);
    EXPECT_FALSE(stop_at(1).duration);
    plan.max_time = std::chrono::seconds(80);
    EXPECT_EQ(stop_at(1).duration, std::chrono::seconds(10));
    EXPECT_EQ(stop_at(1, 4).duration, std::chrono::seconds(40));
    EXPECT_EQ(stop_at(2, 1, 1.25).duration, std::chrono::seconds(20)) << "25 requests at this rate";
    EXPECT_GT(stop_at(1, 1, {}).duration, std::chrono::seconds(26)) << "the first one of all";
    EXPECT_LT(stop_at(2, 1, .01).duration, std::chrono::seconds(27)) << "at most a third";
    plan.ladder = true;
    plan.sweep.levels = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    EXPECT_EQ(stop_at(1).duration, std::chrono::seconds(4));
    EXPECT_GT(stop_at(1).requests, 80U) << "on a ladder the levels are the answer";
    plan.sweep.asked.stop.requests = 500;
    EXPECT_FALSE(stop_at(1).duration) << "the user has said how long a run is";
}

TEST_F(VirtualSearch, is_continued_with_a_precision_that_has_a_level_between_the_two) {
    const SloSearchPlan plan = plan_for({"ttft_p95:60"});
    invocation_.argv = {"paretoken", "sweep", "sim:llama3-8b-h100-bf16", "--out=d", "--precision", "1.1"};
    const auto narrow = [&](double pass) {
        const auto known = [&](const SearchStep& step) -> std::optional<KnownStep> {
            if (step.level == pass + 1) return std::nullopt;
            return KnownStep{{step.level > pass ? SloVerdict::missed : SloVerdict::met, step.level, 1}, 1};
        };
        return narrowing_command(plan,
                                 {.pass = pass, .within = pass, .fail = pass < 2 ? 2 : pass + 2, .runs = 11},
                                 {"d", invocation_, known, 1});
    };
    EXPECT_THAT(narrow(100), testing::EndsWith("--out=d --precision 1.01 --max-runs 19"));
    EXPECT_EQ(narrow(1), "") << "nothing lies between 1 and 2";
    invocation_.argv[1] = "plan";
    EXPECT_EQ(narrow(100), "") << "another command has no such options";
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
