#include "core/run/benchmark_rules.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

RunResult agentx_run() {
    RunResult run;
    run.plan = {{"rules", "agentx"},        {"dataset", "weka:t=job"},
                {"arrivals", "at_once"},    {"seed", "42"},
                {"ignore_eos", "true"},     {"start_inside", "0.25..0.75+10"},
                {"idle_system_cap", "10s"}, {"idle_job_cap", "300s"}};
    run.concurrency = 16;
    run.window.run_s = 3600;
    run.counts.requests = 100;
    run.counts.failed = 10;
    return run;
}

RunResult mlperf_run() {
    RunResult run;
    run.plan = {{"rules", "mlperf-agentic"}, {"dataset", "mlperf_agentic"}, {"arrivals", "at_once"},
                {"replies", "recorded"},     {"ignore_eos", "false"},       {"salt_prompts", "true"}};
    run.concurrency = 16;
    run.window.run_s = 1200;
    run.workload.dataset = "mlperf_agentic:path=rows.jsonl,jobs=613";
    run.workload.achieved_output_tokens = 400;
    run.jobs.emplace();
    run.jobs->ok = 2 * 613 - 3;
    run.jobs->failed = 3;
    return run;
}

/// Returns the names of the rules that were not kept.
std::vector<std::string> broken(const RunResult& run) {
    std::vector<std::string> names;
    const auto rules = benchmark_rules_of(run);
    for (const RuleResult& rule : rules->rules)
        if (!rule.kept) names.push_back(rule.name);
    EXPECT_EQ(rules->kept, names.empty());
    return names;
}

using Names = std::vector<std::string>;

TEST(BenchmarkRules, OfAgentxAreKeptByARunThatKeepsThem) {
    EXPECT_EQ(broken(agentx_run()), Names{});
}

TEST(BenchmarkRules, EachRuleOfAgentxIsNamedByItselfWhenItIsBroken) {
    const auto after = [](auto change) {
        RunResult run = agentx_run();
        change(run);
        return broken(run);
    };
    EXPECT_EQ(after([](RunResult& r) { r.plan["dataset"] = "agents"; }), Names{"dataset"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["arrivals"] = "poisson:rate=1"; }), Names{"load"});
    EXPECT_EQ(after([](RunResult& r) { r.window.run_s = 899; }), Names{"duration"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["seed"] = "0"; }), Names{"seed"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["ignore_eos"] = "false"; }), Names{"answers"});
    EXPECT_EQ(after([](RunResult& r) { r.counts.unstreamed = 1; }), Names{"streaming"});
    EXPECT_EQ(after([](RunResult& r) { r.plan.erase("start_inside"); }), Names{"start"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["tool_scale"] = "0.5"; }), Names{"pauses"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["idle_cap"] = "60s"; }), Names{"pauses"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["tool_time"] = "5s"; }), Names{"pauses"});
    EXPECT_EQ(after([](RunResult& r) { r.plan.erase("idle_system_cap"); }), Names{"idle"});
    EXPECT_EQ(after([](RunResult& r) { r.plan["idle_job_cap"] = "60s"; }), Names{"idle_job"});
    EXPECT_EQ(after([](RunResult& r) { r.counts.failed = 11; }), Names{"failures"});
    EXPECT_EQ(after([](RunResult& r) { r.partial = true; }), Names{"complete"});
}

TEST(BenchmarkRules, OfMlperfAskForWholePassesAndASalt) {
    EXPECT_EQ(broken(mlperf_run()), Names{});
    RunResult bare = mlperf_run();
    bare.plan.erase("salt_prompts");
    EXPECT_EQ(broken(bare), Names{"salt"});
    RunResult cut = mlperf_run();
    cut.jobs->unfinished = 1;
    EXPECT_EQ(broken(cut), Names{"passes"});
    RunResult live = mlperf_run();
    live.plan["replies"] = "live";
    EXPECT_EQ(broken(live), Names{"history"});
    RunResult brief = mlperf_run();
    brief.workload.achieved_output_tokens = 354;
    EXPECT_EQ(broken(brief), Names{"output"});
}

TEST(BenchmarkRules, AreAbsentUnlessThePlanNamesABenchmark) {
    EXPECT_FALSE(benchmark_rules_of(RunResult{}).has_value());
}

}  // namespace
}  // namespace paretoken
