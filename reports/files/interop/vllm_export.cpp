// Consumers are stricter than the format: every key that ends in "ms" must be a number above zero, and no key
// may be null. A key without a value is therefore left out.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/result/result.h"
#include "core/spec.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "2026-11-21T08:03:25Z" → "20261121-080325"; empty if the time is not known.
std::string vllm_date(const std::string& started_at) {
    std::string digits;
    std::copy_if(started_at.begin(), started_at.end(), std::back_inserter(digits),
                 [](char c) { return c >= '0' && c <= '9'; });
    if (digits.size() != 14) return {};
    return digits.substr(0, 8) + "-" + digits.substr(8);
}

void add_statistics(OrderedJson& json, const char* name, const std::vector<double>& values) {
    const auto spread = spread_of(values);
    if (!spread) return;
    constexpr double kMs = 1e3;
    json[fmt::format("mean_{}_ms", name)] = spread->mean * kMs;
    json[fmt::format("median_{}_ms", name)] = spread->at(.5) * kMs;
    if (spread->deviation > 0) json[fmt::format("std_{}_ms", name)] = spread->deviation * kMs;
    for (const int p : {90, 95, 99}) json[fmt::format("p{}_{}_ms", p, name)] = spread->at(p / 100.0) * kMs;
}

/// The load. The rate is left out if it is not known or not the same throughout; the ramp of a file of vLLM
/// is written as it was read, and the burstiness where the gaps between requests have it.
void add_load(OrderedJson& json, const RunResult& result) {
    const auto planned = [&](const char* field) {
        const auto found = result.plan.find(field);
        return found == result.plan.end() ? std::string() : found->second;
    };
    const std::string text = planned("arrivals");
    const Spec arrivals = text.empty() ? Spec{} : parse_spec(text);
    const bool is_ours = result.provenance.measured_by.empty();
    if (arrivals.name == "ramp" && !is_ours) {
        json["request_rate"] = "inf";
        json["ramp_up_strategy"] = arrivals.text_or("strategy", "linear");
        json["ramp_up_start_rps"] = arrivals.number("from");
        json["ramp_up_end_rps"] = arrivals.number("to");
    } else if (!result.request_rate) {
        if (is_ours || result.concurrency || !planned("request_rate").empty()) json["request_rate"] = "inf";
    } else if (const bool is_poisson = arrivals.name == "poisson", is_gamma = arrivals.name == "gamma";
               is_poisson || is_gamma || arrivals.name == "constant" || arrivals.name.empty()) {
        json["request_rate"] = *result.request_rate;
        const std::string given = planned("burstiness");  // of a file of vLLM, unless it is 1
        if (is_poisson || result.provenance.measured_by.starts_with("vLLM")) json["burstiness"] = 1.0;
        if (is_gamma || !given.empty())
            json["burstiness"] = is_gamma ? arrivals.number("burstiness") : parse_number(given);
    }
    if (result.concurrency) json["max_concurrency"] = *result.concurrency;
}

void add_requests(OrderedJson& json, const std::vector<SentRequest>& requests, const Successes& successes,
                  bool waits_for_slots) {
    for (const char* const key :
         {"input_lens", "output_lens", "start_times", "ttfts", "itls", "latencies", "queue_times", "errors"})
        json[key] = OrderedJson::array();
    for (const auto& [record, gaps_s, tokens_of_events] : requests) {
        const bool ok = record.outcome == Outcome::ok;
        json["input_lens"].push_back(record.usage.prompt.value_or(0));
        json["output_lens"].push_back(ok ? output_tokens_of(record) : 0);
        json["start_times"].push_back(seconds(record.sent->time_since_epoch()));
        json["ttfts"].push_back(record.first_event ? seconds(*record.first_event - *record.sent) : 0.0);
        json["itls"].push_back(gaps_s);
        json["latencies"].push_back(ok && record.finished ? seconds(*record.finished - *record.sent) : 0.0);
        json["queue_times"].push_back(seconds(record.slot_wait));
        json["errors"].push_back(record.error);
    }
    if (!successes.knows_input) json.erase("input_lens");
    if (!successes.knows_output) json.erase("output_lens");
    if (!waits_for_slots) json.erase("queue_times");
}

}  // namespace

std::string vllm_bench_text(const ExportedRun& run) {
    const RunResult& result = run.result;
    std::vector<SentRequest> requests = sent_requests(run.stored);
    std::erase_if(requests, [](const SentRequest& request) {  // for which the format has no word
        const Outcome outcome = request.record.outcome;
        return outcome != Outcome::ok && !is_failure(outcome);
    });
    const Successes successes = successes_of(requests, run.stored);
    const double input = sum_of(successes.input_tokens);
    const double output = sum_of(successes.output_tokens);
    OrderedJson json;
    if (std::string date = vllm_date(result.provenance.started_at); !date.empty())
        json["date"] = std::move(date);
    json["endpoint_type"] = result.workload.endpoint == "completions" ? "openai" : "openai-chat";
    json["backend"] = json["endpoint_type"];
    json["model_id"] = result.provenance.model;
    json["num_prompts"] = requests.size();
    add_load(json, result);
    json["duration"] = successes.duration_s;
    json["completed"] = successes.completed;
    json["failed"] = successes.failed;
    if (successes.knows_input) json["total_input_tokens"] = static_cast<std::int64_t>(input);
    if (successes.knows_output) json["total_output_tokens"] = static_cast<std::int64_t>(output);
    json["request_throughput"] = static_cast<double>(successes.completed) / successes.per_s();
    if (successes.knows_output) json["output_throughput"] = output / successes.per_s();
    if (successes.knows_input && successes.knows_output)
        json["total_token_throughput"] = (input + output) / successes.per_s();
    add_statistics(json, "ttft", successes.ttft);
    add_statistics(json, "tpot", successes.tpot);
    add_statistics(json, "itl", successes.itl);
    add_statistics(json, "e2el", successes.e2e);
    if (!result.provenance.hardware.empty()) json["gpu"] = result.provenance.hardware;
    json["tool"] = "paretoken " + result.provenance.version;
    for (const auto& [key, value] : result.provenance.metadata)
        if (!json.contains(key) && !key.ends_with("ms")) json[key] = value;
    add_requests(json, requests, successes, result.request_rate && result.concurrency);
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
