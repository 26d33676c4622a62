// genai-bench's file of one scenario at one load. It does not tell when requests were sent, nor when single
// tokens came.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/foreign_json.h"
#include "reports/files/interop/foreign_load.h"
#include "reports/files/interop/foreign_readers.h"
#include "reports/files/interop/foreign_request.h"

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

}  // namespace

bool is_genai_bench(std::string_view text) {
    return text.starts_with('{') && text.find("\"aggregated_metrics\"") != text.npos &&
           text.find("\"individual_request_metrics\"") != text.npos;
}

std::vector<ForeignRun> genai_bench_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Json json = foreign_json(read_file(file), where);
    const Json& all = at_path(json, {"individual_request_metrics"});
    if (!all.is_array() || all.empty()) refuse_foreign(where, "it holds no request");
    const double unit_s = text_in(json, {"_time_unit"}) == "ms" ? 1e-3 : 1;
    auto requests = std::make_shared<std::vector<ForeignRequest>>();
    for (const Json& request : all) requests->push_back(genai_request(request, unit_s));

    ForeignLoad load{.tool = "genai-bench (without the times of sending)",
                     .concurrency = count_in(json, {"aggregated_metrics", "num_concurrency"}),
                     .requests = requests->size()};
    std::error_code error;
    const std::filesystem::path metadata_file = file.parent_path() / "experiment_metadata.json";
    if (std::filesystem::exists(metadata_file, error)) {
        const Json metadata = foreign_json(read_file(metadata_file), metadata_file.string());
        load.model = text_in(metadata, {"model"});
        load.tool = fmt::format("genai-bench {} (without the times of sending)",
                                text_in(metadata, {"benchmark_version"}));
    }
    place_in_slots(*requests, load.concurrency, number_in(json, {"aggregated_metrics", "run_duration"}));
    load = with_real_limits(std::move(load));
    ForeignRun run{.name = load_name(load),
                   .begun = begun_of(load, {Fact::event_times, Fact::cached_tokens, Fact::server_counters})};
    run.for_each_request = [requests](const auto& visit) {
        for (std::size_t i = 0; i < requests->size(); ++i) visit(record_of(i, (*requests)[i]));
    };
    std::vector<ForeignRun> runs;
    runs.push_back(std::move(run));
    return runs;
}

}  // namespace paretoken::reports
