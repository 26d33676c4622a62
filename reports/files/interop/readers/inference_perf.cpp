// inference-perf's per_request_lifecycle_metrics.json: an array of requests. The server's count of tokens is
// used; the file's own counts, and the times derived from them, come from a tokenizer of the client.

#include <algorithm>
#include <memory>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"

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
    request.cached_tokens = count_in(usage, {"prompt_tokens_details", "cached_tokens"});
    request.output_tokens = count_in(usage, {"completion_tokens"});
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
    return text.starts_with('[') && text.find("\"start_time\"") != text.npos &&
           text.find("\"request_metrics\"") != text.npos;
}

std::vector<ForeignRun> inference_perf_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const auto requests = std::make_shared<const Json>(foreign_json(read_file(file), where));
    if (!requests->is_array() || requests->empty()) refuse_foreign(where, "it holds no request");
    ForeignLoad load{
        .tool = "inference-perf", .model = inference_perf_model(*requests), .requests = requests->size()};
    // The load of a stage stands in a file beside it.
    if (std::error_code error;
        std::filesystem::exists(file.parent_path() / "stage_0_lifecycle_metrics.json", error) &&
        !std::filesystem::exists(file.parent_path() / "stage_1_lifecycle_metrics.json", error)) {
        const std::filesystem::path stage = file.parent_path() / "stage_0_lifecycle_metrics.json";
        const Json summary = foreign_json(read_file(stage), stage.string());
        load.request_rate = number_in(summary, {"load_summary", "requested_rate"});
        load.concurrency = count_in(summary, {"load_summary", "concurrency"});
    }
    load = with_real_limits(std::move(load));
    ForeignRun run{.name = load_name(load),
                   .begun = begun_of(load, {Fact::cached_tokens, Fact::server_counters})};
    run.for_each_request = [requests, where](const auto& visit) {
        double began = required_time((*requests)[0], {"start_time"}, where);
        for (const Json& request : *requests)
            began = std::min(began, required_time(request, {"start_time"}, where));
        std::uint64_t index = 0;
        for (const Json& request : *requests)
            visit(record_of(index++, inference_perf_request(request, began, where)));
    };
    std::vector<ForeignRun> runs;
    runs.push_back(std::move(run));
    return runs;
}

}  // namespace paretoken::reports
