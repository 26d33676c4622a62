#pragma once
// Made-up runs for tests of `paretoken gate`, which compares runs of a candidate with runs of a baseline.
// Every metric of a run is a fixed typical value times a factor.
#include <map>
#include <string>
#include <vector>

#include "core/random.h"
#include "reports/analysis/gate/decision/decision.h"

namespace paretoken::reports::sample {

/// Factors by the name of a metric in a policy: "ttft", "itl", "output_tokens_per_s" …; 1 if it is not named.
using Factors = std::map<std::string, double>;

inline double factor(const Factors& factors, const std::string& name) {
    const auto found = factors.find(name);
    return found == factors.end() ? 1 : found->second;
}

inline MetricSummary spread(const std::string& key, double typical) {
    MetricSummary summary{
        .key = key, .n = 400, .mean = typical * 1.1, .std = {}, .min = {}, .max = {}, .percentiles = {}};
    for (const auto& [p, times] :
         std::vector<std::pair<double, double>>{{.5, 1}, {.9, 1.4}, {.95, 1.6}, {.99, 2}})
        summary.percentiles.push_back({.p = p,
                                       .value = typical * times,
                                       .ci95 = Interval{typical * times * .99, typical * times * 1.01},
                                       .certified = true,
                                       .decided = Interval{typical * times * .98, typical * times * 1.02}});
    return summary;
}

inline GateRun gate_run(const Factors& factors, const std::string& directory = "run") {
    GateRun run;
    run.directory = directory;
    RunResult& r = run.result;
    r.workload.fingerprint = "9f86d081884c7d65";
    r.provenance.model = "llama";
    r.provenance.hardware = "h100-sxm";
    r.plan = {{"concurrency", "8"}, {"isl", "512"}};
    r.counts.requests = r.counts.ok = 400;
    for (const auto& [tag, unit, typical] :
         std::vector<std::tuple<std::string, std::string, double>>{{"ttft", "s", .2},
                                                                   {"itl", "s", .012},
                                                                   {"tpot", "s", .012},
                                                                   {"e2e", "s", 1.7},
                                                                   {"stall", "s", .05}})
        r.metrics.push_back(spread(tag + "_" + unit, typical * factor(factors, tag)));
    r.metrics.push_back(spread("output_tokens_tok", 128 * factor(factors, "output_length")));
    const double throughput = 4000 * factor(factors, "output_tokens_per_s");
    r.throughput.set(figure::kOutputTokens, throughput, Interval{throughput * .99, throughput * 1.01});
    run.finish_reasons = {{"length", 400}};
    return run;
}

/// `n` runs, named by `name` and a number. In each run, each factor except "output_length" is multiplied by
/// its own random factor, whose logarithm is normal with the standard deviation `noise`.
inline std::vector<GateRun> gate_runs(std::size_t n, const Factors& factors, double noise, std::uint64_t seed,
                                      const std::string& name = "run") {
    std::vector<GateRun> runs;
    for (std::size_t i = 0; i < n; ++i) {
        Random random(derived_seed(seed, name, i));
        Factors drawn;
        for (const std::string metric : {"ttft", "itl", "tpot", "e2e", "stall", "output_tokens_per_s"})
            drawn[metric] = factor(factors, metric) * std::exp(noise * random.normal());
        drawn["output_length"] = factor(factors, "output_length");
        runs.push_back(gate_run(drawn, name + std::to_string(i)));
    }
    return runs;
}

}  // namespace paretoken::reports::sample
