// genai-bench's file of one scenario at one load. It does not tell when requests were sent, nor when single
// tokens came. Only its summary is known if the list of requests was taken out.
#include <fmt/format.h>

#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

ForeignRequest genai_request(const Json& json, double unit_s) {
    ForeignRequest request;
    const auto time = [&](const char* key) -> std::optional<double> {
        const auto value = number_in(json, {key});
        return value ? std::optional(*value * unit_s) : std::nullopt;
    };
    request.first_s = time("ttft");
    request.latency_s = time("e2e_latency");
    request.last_s = request.latency_s;
    request.input_tokens = count_in(json, {"num_input_tokens"});
    request.output_tokens = count_in(json, {"num_output_tokens"});
    request.reasoning_tokens = count_in(json, {"num_reasoning_tokens"});
    if (const auto code = count_in(json, {"error_code"}); code && *code > 0) {
        request.failed = true;
        if (*code < 1000) request.http_status = static_cast<int>(*code);
        request.error = fmt::format("error {}", *code);
    } else if (!request.latency_s) {
        request.failed = true;
        request.error = "the request failed; the file does not tell why";
    }
    return request;
}

/// The load, with what the metadata beside the file tells.
ForeignLoad genai_load(const std::filesystem::path& file, const Json& json) {
    std::string version;
    ForeignLoad load;
    const Json& all = at_path(json, {"aggregated_metrics"});
    // In an open loop, which counts its arrivals, this key holds the requests per second.
    if (number_in(all, {"arrival_requests_per_second"}) || number_in(all, {"total_arrivals"}))
        load.request_rate = number_in(all, {"num_concurrency"});
    else
        load.concurrency = count_in(all, {"num_concurrency"});
    std::error_code error;
    const std::filesystem::path metadata_file = file.parent_path() / "experiment_metadata.json";
    if (std::filesystem::exists(metadata_file, error)) {
        const Json metadata = foreign_json(read_file(metadata_file), metadata_file.string());
        load.model = text_in(metadata, {"model"});
        version = text_in(metadata, {"benchmark_version"});
    }
    load.tool = fmt::format("genai-bench{}{}", version.empty() ? "" : " ", version);
    return load;
}

/// The failed requests are counted, because the file's "error_rate" is computed before they are known.
ForeignRun genai_summary(const std::filesystem::path& file, const Json& json, double unit_s) {
    const Json& all = at_path(json, {"aggregated_metrics"});
    ForeignLoad load = genai_load(file, json);
    Reported reported{.by = "genai-bench"};
    if (const auto requests = count_in(all, {"num_requests"})) {
        load.requests = static_cast<std::uint64_t>(*requests);
        reported.requests = load.requests;
    }
    if (const auto failed = count_in(all, {"num_error_requests"})) reported.failed = *failed;
    const Json& stats = at_path(all, {"stats"});
    for (const auto& [name, tag] :
         {std::pair{"ttft", "ttft"}, std::pair{"tpot", "tpot"}, std::pair{"e2e_latency", "e2e"}})
        add_statistics(reported, tag, "s", at_path(stats, {name}), unit_s);
    add_statistics(reported, "isl", "tokens", at_path(stats, {"num_input_tokens"}));
    add_statistics(reported, "osl", "tokens", at_path(stats, {"num_output_tokens"}));
    for (const auto& [theirs, ours] :
         {std::pair{"requests_per_second", "requests_per_s"},
          std::pair{"mean_input_throughput_tokens_per_s", "input_tokens_per_s"},
          std::pair{"mean_output_throughput_tokens_per_s", "output_tokens_per_s"},
          std::pair{"mean_total_tokens_throughput_tokens_per_s", "total_tokens_per_s"}})
        add_figure(reported, ours, number_in(all, {theirs}));
    add_figure(reported, "duration_s", number_in(all, {"run_duration"}));
    return summary_run(std::move(load), std::move(reported), file.string());
}

}  // namespace

bool is_genai_bench(std::string_view text) {
    return text.starts_with('{') && text.find("\"aggregated_metrics\"") != text.npos &&
           (text.find("\"individual_request_metrics\"") != text.npos ||
            text.find("\"num_completed_requests\"") != text.npos);
}

std::vector<ForeignRun> genai_bench_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Json json = foreign_json(read_file(file), where);
    const Json& all = at_path(json, {"individual_request_metrics"});
    const double unit_s = text_in(json, {"_time_unit"}) == "ms" ? 1e-3 : 1;
    std::vector<ForeignRun> runs;
    if (!all.is_array() || all.empty()) {
        runs.push_back(genai_summary(file, json, unit_s));
        return runs;
    }
    std::vector<ForeignRequest> requests;
    for (const Json& request : all) requests.push_back(genai_request(request, unit_s));
    runs.push_back(run_without_starts(
        genai_load(file, json), {Fact::event_times, Fact::cached_tokens, Fact::server_counters},
        std::move(requests), number_in(json, {"aggregated_metrics", "run_duration"}), where));
    return runs;
}

}  // namespace paretoken::reports
