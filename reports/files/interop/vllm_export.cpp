// Consumers are stricter than the format: every key that ends in "ms" must be a number above zero, and no key
// may be null. A key without a value is therefore left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reports/files/interop/run_export.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "2026-11-21T08:03:25Z" → "20261121-080325"
std::string vllm_date(const std::string& started_at) {
    std::string digits;
    std::copy_if(started_at.begin(), started_at.end(), std::back_inserter(digits),
                 [](char c) { return c >= '0' && c <= '9'; });
    if (digits.size() != 14) return "19700101-000000";
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

/// The gaps between the events of each request, by its index.
std::map<std::uint64_t, std::vector<double>> gaps_by_request(const StoredRun& stored) {
    std::map<std::uint64_t, std::vector<double>> gaps;
    if (!stored.recorded.events) return gaps;
    stored.recorded.events->for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
        if (key.warmup) return;
        std::vector<double>& all = gaps[key.index];
        for (std::size_t i = 1; i < events.size(); ++i)
            all.push_back(seconds(events[i].time - events[i - 1].time));
    });
    return gaps;
}

void add_requests(OrderedJson& json, const StoredRun& stored) {
    const auto gaps = gaps_by_request(stored);
    std::vector<RequestRecord> records;
    for (const RequestRecord& record : stored.recorded.observed.records)
        if (!record.warmup && record.sent) records.push_back(record);
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return *a.sent < *b.sent; });
    for (const char* const key :
         {"input_lens", "output_lens", "start_times", "ttfts", "itls", "latencies", "errors"})
        json[key] = OrderedJson::array();
    for (const RequestRecord& record : records) {
        const bool ok = record.outcome == Outcome::ok;
        const auto found = gaps.find(record.index);
        json["input_lens"].push_back(record.usage.prompt.value_or(0));
        json["output_lens"].push_back(ok ? output_tokens_of(record) : 0);
        json["start_times"].push_back(seconds(record.sent->time_since_epoch()));
        json["ttfts"].push_back(record.first_event ? seconds(*record.first_event - *record.sent) : 0.0);
        json["itls"].push_back(found == gaps.end() ? std::vector<double>() : found->second);
        json["latencies"].push_back(ok && record.finished ? seconds(*record.finished - *record.sent) : 0.0);
        json["errors"].push_back(record.error);
    }
}

}  // namespace

std::string vllm_bench_text(const ExportedRun& run) {
    const RunResult& result = run.result;
    const Successes successes = successes_of(run);
    const auto sum = [](const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0);
    };
    const double input = sum(successes.input_tokens);
    const double output = sum(successes.output_tokens);
    const double duration = successes.duration_s > 0 ? successes.duration_s : 1;
    const auto completed = static_cast<double>(successes.ttft.size());
    OrderedJson json;
    json["date"] = vllm_date(result.provenance.started_at);
    json["endpoint_type"] = result.workload.endpoint == "completions" ? "openai" : "openai-chat";
    json["backend"] = json["endpoint_type"];
    json["model_id"] = result.provenance.model;
    json["num_prompts"] = result.counts.requests;
    if (result.request_rate) {
        json["request_rate"] = *result.request_rate;
    } else {
        json["request_rate"] = "inf";
    }
    json["burstiness"] = 1.0;
    if (result.concurrency) json["max_concurrency"] = *result.concurrency;
    json["duration"] = successes.duration_s;
    json["completed"] = successes.ttft.size();
    json["failed"] = successes.failed;
    json["total_input_tokens"] = static_cast<std::int64_t>(input);
    json["total_output_tokens"] = static_cast<std::int64_t>(output);
    json["request_throughput"] = completed / duration;
    json["output_throughput"] = output / duration;
    json["total_token_throughput"] = (input + output) / duration;
    add_statistics(json, "ttft", successes.ttft);
    add_statistics(json, "tpot", successes.tpot);
    add_statistics(json, "itl", successes.itl);
    add_statistics(json, "e2el", successes.e2e);
    if (!result.provenance.hardware.empty()) json["gpu"] = result.provenance.hardware;
    json["tool"] = "paretoken " + result.provenance.version;
    for (const auto& [key, value] : result.provenance.metadata)
        if (!json.contains(key) && !key.ends_with("ms")) json[key] = value;
    add_requests(json, run.stored);
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
