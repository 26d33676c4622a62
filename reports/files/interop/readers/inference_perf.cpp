// inference-perf's per_request_lifecycle_metrics.json: an array of requests. The server's count of tokens is
// used; the file's own counts, and the times derived from them, come from a tokenizer of the client.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/stable_sort.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

/// "HTTP Error 503" → 503
std::optional<int> inference_perf_status(const std::string& error_type) {
    constexpr std::string_view kPrefix = "HTTP Error ";
    if (!error_type.starts_with(kPrefix)) return std::nullopt;
    const int status = std::atoi(error_type.c_str() + kPrefix.size());
    return status >= 100 && status < 1000 ? std::optional(status) : std::nullopt;
}

std::optional<std::int64_t> cached_tokens_in(const Json& usage) {
    const auto cached = count_in(usage, {"prompt_tokens_details", "cached_tokens"});
    return cached ? cached : count_in(usage, {"cache_read_input_tokens"});
}

ForeignRequest inference_perf_request(const Json& json, double began, const std::string& where) {
    const double start = required_time(json, {"start_time"}, where);
    ForeignRequest request;
    request.sent_s = start - began;
    request.latency_s = required_time(json, {"end_time"}, where) - start;
    const Json& response = at_path(json, {"info", "response_metrics"});
    if (const Json& times = at_path(response, {"chunk_times"}); times.is_array())
        for (const Json& time : times)
            request.chunks_s.push_back(required_time(time, "chunk_times", where) - start);
    std::ranges::sort(request.chunks_s);
    const Json& usage = at_path(response, {"server_usage"});
    request.input_tokens = count_in(usage, {"prompt_tokens"});
    request.cached_tokens = cached_tokens_in(usage);
    request.output_tokens = count_in(usage, {"completion_tokens"});
    if (const auto input = count_in(usage, {"input_tokens"})) {  // as servers of Anthropic's protocol count
        request.input_tokens = *input + request.cached_tokens.value_or(0) +
                               count_in(usage, {"cache_creation_input_tokens"}).value_or(0);
        request.output_tokens = count_in(usage, {"output_tokens"});
    }
    if (!request.input_tokens)
        request.input_tokens = count_in(json, {"info", "request_metrics", "text", "input_tokens"});
    if (const Json& error = at_path(json, {"error"}); error.is_object()) {
        request.failed = true;
        request.error = text_in(error, {"error_type"});
        request.http_status = inference_perf_status(request.error);
        if (request.error.empty()) request.error = "the request failed; the file does not tell why";
    }
    return request;
}

std::string inference_perf_model(const Json& requests) {
    for (const Json& request : requests) {
        const Json body = Json::parse(text_in(request, {"request"}), nullptr, false);
        if (std::string model = text_in(body, {"model"}); !model.empty()) return model;
    }
    return {};
}

}  // namespace

bool is_inference_perf(std::string_view text) {
    const bool requests = text.starts_with('[') && text.find("\"start_time\"") != text.npos &&
                          text.find("\"request_metrics\"") != text.npos;
    return requests || (text.starts_with('{') && text.find("\"schedule_delay\"") != text.npos &&
                        text.find("\"successes\"") != text.npos);
}

bool inference_perf_repeats(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    const auto is_beside = [&](const char* other) {
        std::error_code error;
        return std::filesystem::exists(file.parent_path() / other, error);
    };
    return name.ends_with("_lifecycle_metrics.json") &&
           (is_beside("per_request_lifecycle_metrics.json") ||
            (name.starts_with("summary_") && is_beside("stage_0_lifecycle_metrics.json"))) &&
           !name.starts_with("per_request");
}

namespace {

/// The load that the summary of a stage tells.
ForeignLoad load_of_stage(const Json& summary, ForeignLoad load) {
    load.request_rate = number_in(summary, {"load_summary", "requested_rate"});
    load.concurrency = count_in(summary, {"load_summary", "concurrency"});
    load.requests = static_cast<std::uint64_t>(count_in(summary, {"load_summary", "count"}).value_or(0));
    return with_real_limits(std::move(load));
}

/// The load of each stage, from the files beside that of the requests, and how many requests it had.
std::vector<ForeignLoad> stages_beside(const std::filesystem::path& file, const ForeignLoad& common) {
    std::vector<ForeignLoad> stages;
    for (std::error_code error;;) {
        const std::filesystem::path stage =
            file.parent_path() / fmt::format("stage_{}_lifecycle_metrics.json", stages.size());
        if (!std::filesystem::exists(stage, error)) return stages;
        stages.push_back(load_of_stage(foreign_json(read_file(stage), stage.string()), common));
    }
}

/// The summary of a stage, or of all of them. Its tokens are those of a tokenizer of the client.
ForeignRun inference_perf_summary(const Json& summary, const std::string& where) {
    ForeignLoad load = load_of_stage(summary, {.tool = "inference-perf"});
    Reported reported{.by = load.tool};
    const auto ok = count_in(summary, {"successes", "count"});
    const auto failed = count_in(summary, {"failures", "count"});
    if (ok && failed) {
        reported.requests = static_cast<std::uint64_t>(*ok + *failed);
        reported.failed = static_cast<std::uint64_t>(*failed);
    }
    const Json& of = at_path(summary, {"successes"});
    for (const auto& [name, tag] :
         {std::pair{"time_to_first_token", "ttft"}, std::pair{"time_per_output_token", "tpot"},
          std::pair{"normalized_time_per_output_token", "ntpot"}, std::pair{"inter_token_latency", "itl"},
          std::pair{"request_latency", "e2e"}})
        add_statistics(reported, tag, "s", at_path(of, {"latency", name}));
    add_statistics(reported, "isl", "tokens", at_path(of, {"prompt_len"}));
    add_statistics(reported, "osl", "tokens", at_path(of, {"output_len"}));
    for (const auto& [name, key] : {std::pair{"requests_per_sec", "requests_per_s"},
                                    std::pair{"input_tokens_per_sec", "input_tokens_per_s"},
                                    std::pair{"output_tokens_per_sec", "output_tokens_per_s"},
                                    std::pair{"total_tokens_per_sec", "total_tokens_per_s"}})
        add_figure(reported, key, number_in(of, {"throughput", name}));
    return summary_run(std::move(load), std::move(reported), where);
}

ForeignRun run_of_stage(const ForeignLoad& load, std::vector<const Json*> requests,
                        std::shared_ptr<const Json> file, const std::string& where) {
    ForeignRun run{.name = load_name(load), .begun = begun_of(load, {Fact::server_counters})};
    if (std::ranges::none_of(requests, [](const Json* request) {
            const Json& usage = at_path(*request, {"info", "response_metrics", "server_usage"});
            return cached_tokens_in(usage).has_value();
        }))
        run.begun.unknown_facts.push_back(Fact::cached_tokens);
    run.for_each_request = [requests = std::move(requests), file = std::move(file),
                            where](const auto& visit) {
        const double began = required_time(*requests.front(), {"start_time"}, where);
        std::uint64_t index = 0;
        for (const Json* const request : requests)
            visit(record_of(index++, inference_perf_request(*request, began, where)));
    };
    return run;
}

}  // namespace

// The requests do not name their stage. Stages follow one another, so that the number of requests of each
// tells where it begins.
std::vector<ForeignRun> inference_perf_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const auto json = std::make_shared<const Json>(foreign_json(read_file(file), where));
    std::vector<ForeignRun> runs;
    if (json->is_object()) {
        runs.push_back(inference_perf_summary(*json, where));
        return runs;
    }
    if (!json->is_array() || json->empty()) refuse_foreign(where, "it holds no request");
    std::vector<std::pair<double, const Json*>> sorted;
    for (const Json& request : *json)
        sorted.emplace_back(required_time(request, {"start_time"}, where), &request);
    sort_stably(sorted, {}, [](const auto& of) { return of.first; });
    const ForeignLoad common{
        .tool = "inference-perf", .model = inference_perf_model(*json), .requests = json->size()};
    std::vector<ForeignLoad> stages = stages_beside(file, common);
    if (stages.empty()) stages.push_back(common);
    if (stages.size() == 1) stages.front().requests = sorted.size();
    std::uint64_t counted = 0;
    for (const ForeignLoad& stage : stages) counted += stage.requests;
    if (counted != sorted.size())
        refuse_foreign(
            where, fmt::format("it holds {} requests and the files of its {} stages {}, so that it is not "
                               "known which load each had; give a directory without other files",
                               sorted.size(), stages.size(), counted));
    auto next = sorted.begin();
    for (const ForeignLoad& stage : stages) {
        std::vector<const Json*> requests;
        for (std::uint64_t i = 0; i < stage.requests; ++i) requests.push_back((next++)->second);
        if (!requests.empty()) runs.push_back(run_of_stage(stage, std::move(requests), json, where));
    }
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
