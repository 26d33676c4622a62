// llm-d's Benchmark Report 0.2.1. Unknown keys are refused by its schema everywhere but in "observability",
// which has our intervals and verdicts.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/result/result.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

void add_statistic(OrderedJson& json, const char* name, const char* units,
                   const std::vector<double>& values) {
    const auto spread = spread_of(values);
    if (!spread) return;
    OrderedJson statistic{
        {"units", units}, {"mean", spread->mean}, {"stddev", spread->deviation}, {"min", spread->least}};
    for (const auto& [key, p] : {std::pair{"p1", .01},
                                 {"p5", .05},
                                 {"p10", .1},
                                 {"p25", .25},
                                 {"p50", .5},
                                 {"p75", .75},
                                 {"p90", .9},
                                 {"p95", .95},
                                 {"p99", .99},
                                 {"p99p9", .999}})
        statistic[key] = spread->at(p);
    statistic["max"] = spread->most;
    json[name] = std::move(statistic);
}

OrderedJson rate(const char* units, double value) {
    return {{"units", units}, {"mean", value}};
}

OrderedJson observability_of(const RunResult& result) {
    OrderedJson metrics = OrderedJson::object();
    for (const MetricSummary& metric : result.metrics)
        for (const PercentileValue& held : metric.percentiles)
            if (held.value && held.ci95 && std::isfinite(held.ci95->high))
                metrics[metric.key][fmt::format("p{:g}", held.p * 100)] = {
                    {"value", *held.value},
                    {"ci95", OrderedJson::array({held.ci95->low, held.ci95->high})},
                    {"certified", held.certified}};
    OrderedJson reasons = OrderedJson::array();
    for (const Reason& reason : result.validity.reasons) reasons.push_back(reason.check);
    return {{"paretoken",
             {{"verdict", std::string(name_of(result.validity.verdict))},
              {"reasons", reasons},
              {"metrics", metrics}}}};
}

/// The load; null if the lengths of prompts are not known, which the schema demands.
OrderedJson load_of(const RunResult& result, const std::vector<double>& input_tokens) {
    const auto lengths = spread_of(input_tokens);
    if (!lengths) return nullptr;
    const bool ours = result.provenance.measured_by.empty();
    OrderedJson standardized{
        {"tool", result.provenance.program()},
        {"tool_version", ours ? result.provenance.version : "unknown"},
        {"source", "unknown"},
        {"input_seq_len",
         {{"distribution", lengths->least == lengths->most ? "fixed" : "other"}, {"value", lengths->mean}}}};
    if (result.concurrency) standardized["concurrency"] = *result.concurrency;
    if (result.request_rate) standardized["rate_qps"] = *result.request_rate;
    return {{"metadata", {{"cfg_id", result.workload.fingerprint}}},
            {"standardized", standardized},
            {"native", {{"config", {{"model", result.provenance.model}}}}}};
}

}  // namespace

std::string benchmark_report_text(const ExportedRun& run) {
    const RunResult& result = run.result;
    const Successes successes = successes_of(sent_requests(run.stored), run.stored);
    const double duration = successes.per_s();
    OrderedJson requests{{"total", result.counts.requests},
                         {"failures", result.counts.failed},
                         {"incomplete", result.counts.cancelled + result.counts.abandoned}};
    add_statistic(requests, "input_length", "count", successes.input_tokens);
    add_statistic(requests, "output_length", "count", successes.output_tokens);
    OrderedJson latency = OrderedJson::object();
    add_statistic(latency, "time_to_first_token", "s", successes.ttft);
    add_statistic(latency, "time_per_output_token", "s/token", successes.tpot);
    add_statistic(latency, "inter_token_latency", "s/token", successes.itl);
    add_statistic(latency, "request_latency", "s", successes.e2e);
    const double input = sum_of(successes.input_tokens);
    const double output = sum_of(successes.output_tokens);
    OrderedJson throughput{
        {"request_rate", rate("queries/s", static_cast<double>(successes.completed) / duration)}};
    if (successes.knows_input) throughput["input_token_rate"] = rate("tokens/s", input / duration);
    if (successes.knows_output) throughput["output_token_rate"] = rate("tokens/s", output / duration);
    if (successes.knows_input && successes.knows_output)
        throughput["total_token_rate"] = rate("tokens/s", (input + output) / duration);
    OrderedJson json{{"version", "0.2.1"}};
    json["run"] = {{"uid", result.provenance.run_id}, {"description", result.provenance.model}};
    if (!result.provenance.started_at.empty()) json["run"]["time"]["start"] = result.provenance.started_at;
    json["run"]["time"]["duration"] = fmt::format("PT{:.3f}S", duration);
    if (OrderedJson load = load_of(result, successes.input_tokens); !load.is_null())
        json["scenario"]["load"] = std::move(load);
    json["results"] = {
        {"request_performance",
         {{"aggregate",
           {{"requests", requests}, {"latency", latency}, {"throughput", std::move(throughput)}}}}},
        {"observability", observability_of(result)}};
    return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
