#include "core/run/benchmark_rules.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>

#include "core/text/number_text.h"

namespace paretoken {
namespace {

std::string of_plan(const RunResult& run, const std::string& field) {
    const auto found = run.plan.find(field);
    return found == run.plan.end() ? std::string() : found->second;
}

std::string stated(const RunResult& run, const std::string& field) {
    const std::string value = of_plan(run, field);
    return fmt::format("{} is {}", field, value.empty() ? "not given" : value);
}

struct Found {
    bool kept = false;
    std::string text = {};
};

struct Rule {
    std::string_view name;
    std::string_view wanted;
    Found (*check)(const RunResult&);
};

Found is_closed_loop(const RunResult& run) {
    return {of_plan(run, "arrivals") == "at_once" && run.classes.size() < 2,
            run.concurrency ? fmt::format("concurrency {}", *run.concurrency) : stated(run, "arrivals")};
}

/// Whether users neither think nor hang up, and no recorded pause is scaled or cut by itself.
Found has_recorded_pauses(const RunResult& run) {
    for (const std::string field : {"think_time", "cancel", "idle_cap", "tool_time"})
        if (!of_plan(run, field).empty()) return {false, stated(run, field)};
    const std::string scale = of_plan(run, "tool_scale");
    return {scale.empty() || scale == "1", stated(run, "tool_scale")};
}

Found lasts(const RunResult& run, double least_s) {
    return {run.window.run_s >= least_s, fmt::format("it lasted {} s", number_text(run.window.run_s))};
}

Found has_dataset(const RunResult& run, std::string_view name) {
    const std::string dataset = of_plan(run, "dataset");
    return {dataset.substr(0, dataset.find(':')) == name, stated(run, "dataset")};
}

Found has(const RunResult& run, const std::string& field, std::string_view value) {
    return {of_plan(run, field) == value, stated(run, field)};
}

constexpr Rule kComplete{"complete", "not interrupted", [](const RunResult& run) {
                             return Found{!run.partial, run.partial ? "interrupted" : "complete"};
                         }};

constexpr double kMostFailed = .1;

constexpr std::array kAgentx{
    Rule{"dataset", "a trace in Weka's form", [](const RunResult& run) { return has_dataset(run, "weka"); }},
    Rule{"load", "one fixed number of live jobs", is_closed_loop},
    Rule{"duration", "at least 900 s", [](const RunResult& run) { return lasts(run, 900); }},
    Rule{"seed", "42", [](const RunResult& run) { return has(run, "seed", "42"); }},
    Rule{"answers", "of the recorded length (ignore_eos)",
         [](const RunResult& run) { return has(run, "ignore_eos", "true"); }},
    Rule{"streaming", "every answer is streamed",
         [](const RunResult& run) {
             return Found{run.counts.unstreamed == 0, fmt::format("{} were not", run.counts.unstreamed)};
         }},
    Rule{"start",
         "slots begin inside their first job, at 0.25 to 0.75 of it, after ten turns of one token each",
         [](const RunResult& run) { return has(run, "start_inside", "0.25..0.75+10"); }},
    Rule{"pauses", "as recorded", has_recorded_pauses},
    Rule{"idle", "pauses of the idle system are cut to 10 s",
         [](const RunResult& run) { return has(run, "idle_system_cap", "10s"); }},
    Rule{"idle_job", "pauses of an idle job are cut to 300 s",
         [](const RunResult& run) { return has(run, "idle_job_cap", "300s"); }},
    Rule{"failures", "at most 10 % of the requests",
         [](const RunResult& run) {
             const auto all = static_cast<double>(run.counts.requests);
             return Found{static_cast<double>(run.counts.failed) <= kMostFailed * all,
                          fmt::format("{} of {} failed", run.counts.failed, run.counts.requests)};
         }},
    kComplete,
};

/// Returns the number N in a dataset's description: "…,jobs=N" or "…,conversations=N".
std::uint64_t jobs_in(const std::string& description) {
    std::uint64_t jobs = 0;
    const std::size_t at = description.rfind('=') + 1;
    std::from_chars(description.data() + at, description.data() + description.size(), jobs);
    return jobs;
}

Found plays_whole_passes(const RunResult& run) {
    const std::uint64_t all = jobs_in(run.workload.dataset);
    if (!run.jobs || all == 0) return {false, "the run has no results of jobs"};
    const std::uint64_t played = run.jobs->ok + run.jobs->failed + run.jobs->unfinished;
    return {run.jobs->unfinished == 0 && played % all == 0,
            fmt::format("{} of {} trajectories a pass, {} unfinished", played, all, run.jobs->unfinished)};
}

constexpr std::array kMlperfAgentic{
    Rule{"dataset", "MLPerf's agentic rows",
         [](const RunResult& run) { return has_dataset(run, "mlperf_agentic"); }},
    Rule{"load", "one fixed number of live trajectories", is_closed_loop},
    Rule{"passes", "whole passes over all trajectories", plays_whole_passes},
    Rule{"duration", "at least 600 s", [](const RunResult& run) { return lasts(run, 600); }},
    Rule{"history", "the recorded answers",
         [](const RunResult& run) { return has(run, "replies", "recorded"); }},
    Rule{"pauses", "as recorded",
         [](const RunResult& run) {
             for (const std::string cap : {"idle_job_cap", "idle_system_cap"})
                 if (!of_plan(run, cap).empty()) return Found{false, stated(run, cap)};
             return has_recorded_pauses(run);
         }},
    Rule{"answers", "may end by themselves",
         [](const RunResult& run) { return has(run, "ignore_eos", "false"); }},
    Rule{"output", "355 to 475 tokens per turn on average",
         [](const RunResult& run) {
             const double mean = run.workload.achieved_output_tokens.value_or(0);
             return Found{mean >= 355 && mean <= 475, fmt::format("{} on average", number_text(mean))};
         }},
    Rule{"salt", "after the system prompt, so that trajectories of a pass share it",
         [](const RunResult& run) { return has(run, "salt_prompts", "true"); }},
    kComplete,
};

struct Benchmark {
    std::string_view name;
    std::span<const Rule> rules;
    std::string_view not_checked;
};

constexpr std::array kKnown{
    Benchmark{kBenchmarks[0], kAgentx,
              "that the file is one of the benchmark's corpora, at most 1 % of context overflows, the budget "
              "of the cache, ten requests of one token per slot before the measurement"},
    Benchmark{kBenchmarks[1], kMlperfAgentic,
              "the model, the 613 trajectories, the quality of the answers, at most 8,192 new tokens, and at "
              "least 7 points"},
};

const Benchmark* benchmark_named(std::string_view name) {
    for (const Benchmark& benchmark : kKnown)
        if (benchmark.name == name) return &benchmark;
    return nullptr;
}

}  // namespace

std::optional<BenchmarkRules> benchmark_rules_of(const RunResult& result) {
    const Benchmark* const benchmark = benchmark_named(of_plan(result, "rules"));
    if (benchmark == nullptr) return std::nullopt;
    BenchmarkRules rules{.benchmark = std::string(benchmark->name),
                         .kept = true,
                         .not_checked = std::string(benchmark->not_checked)};
    for (const Rule& rule : benchmark->rules) {
        Found found = rule.check(result);
        rules.kept = rules.kept && found.kept;
        rules.rules.push_back(
            {std::string(rule.name), std::string(rule.wanted), found.kept, std::move(found.text)});
    }
    return rules;
}

}  // namespace paretoken
