#include <nlohmann/json.hpp>

#include "core/result/result.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

void add_block(OrderedJson& json, const char* name, const char* unit, const std::vector<double>& values,
               double scale) {
    const auto spread = spread_of(values);
    if (!spread) return;
    OrderedJson block{{"unit", unit}, {"avg", spread->mean * scale}};
    for (const int p : {1, 5, 10, 25, 50, 75, 90, 95, 99})
        block["p" + std::to_string(p)] = spread->at(p / 100.0) * scale;
    block["min"] = spread->least * scale;
    block["max"] = spread->most * scale;
    block["std"] = spread->deviation * scale;
    block["count"] = values.size();
    json[name] = std::move(block);
}

OrderedJson scalar(const char* unit, double value) {
    return {{"unit", unit}, {"avg", value}};
}

}  // namespace

std::string aiperf_text(const ExportedRun& run) {
    const RunResult& result = run.result;
    const Successes successes = successes_of(sent_requests(run.stored), run.stored);
    constexpr double kMs = 1e3;
    OrderedJson json{{"schema_version", "1.4"}};
    json["request_throughput"] =
        scalar("requests/sec", static_cast<double>(successes.completed) / successes.per_s());
    if (successes.knows_output)
        json["output_token_throughput"] =
            scalar("tokens/sec", sum_of(successes.output_tokens) / successes.per_s());
    json["request_count"] = scalar("requests", static_cast<double>(successes.completed));
    if (successes.failed > 0)
        json["error_request_count"] = scalar("requests", static_cast<double>(successes.failed));
    add_block(json, "time_to_first_token", "ms", successes.ttft, kMs);
    add_block(json, "inter_token_latency", "ms", successes.tpot, kMs);
    add_block(json, "request_latency", "ms", successes.e2e, kMs);
    add_block(json, "input_sequence_length", "tokens", successes.input_tokens, 1);
    add_block(json, "output_sequence_length", "tokens", successes.output_tokens, 1);
    OrderedJson phase{{"name", "profiling"}, {"kind", "profiling"}, {"requests", result.counts.requests}};
    if (result.request_rate)
        phase["type"] = "request_rate";
    else if (result.concurrency)
        phase["type"] = "concurrency";
    if (result.concurrency) phase["concurrency"] = *result.concurrency;
    if (result.request_rate) phase["rate"] = *result.request_rate;
    const bool streamed = successes.completed == 0 || !successes.ttft.empty();
    json["input_config"] = {
        {"models", {{"items", OrderedJson::array({{{"name", result.provenance.model}}})}}},
        {"endpoint", {{"type", result.workload.endpoint}, {"streaming", streamed}}},
        {"phases", OrderedJson::array({phase})},
    };
    json["run_info"] = {{"cli_command", "paretoken " + result.provenance.version}};
    if (!result.provenance.started_at.empty()) json["start_time"] = result.provenance.started_at;
    return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
