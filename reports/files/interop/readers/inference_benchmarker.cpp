// The file of Hugging Face's inference-benchmarker: a summary of each load. Its inter-token latency is the
// mean of each request. The name of the host in it is not read.

#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

ForeignRun benchmarker_run(const Json& file, const Json& result, const std::string& where) {
    ForeignLoad load{.tool = "inference-benchmarker", .model = text_in(file, {"config", "model_name"})};
    if (load.model.empty()) load.model = text_in(file, {"config", "tokenizer"});
    load.started_at = utc_of_iso(text_in(file, {"start_time"}));
    if (text_in(result, {"executor_type"}) == "ConstantArrivalRate")
        load.request_rate = number_in(result, {"config", "rate"});
    else
        load.concurrency = count_in(result, {"config", "max_vus"});
    load.requests = static_cast<std::uint64_t>(count_in(result, {"total_requests"}).value_or(0));
    Reported reported{.by = load.tool, .requests = load.requests};
    if (const auto failed = count_in(result, {"failed_requests"})) reported.failed = *failed;
    for (const auto& [block, tag] :
         {std::pair{"time_to_first_token_ms", "ttft"}, std::pair{"inter_token_latency_ms", "itl"},
          std::pair{"e2e_latency_ms", "e2e"}})
        add_statistics(reported, tag, "s", at_path(result, {block}), 1e-3);
    add_figure(reported, "output_tokens_per_s", number_in(result, {"token_throughput_secs"}));
    add_figure(reported, "requests_per_s", number_in(result, {"request_rate"}));
    add_figure(reported, "duration_s", number_in(result, {"duration_ms"}), 1e-3);
    if (const auto ok = number_in(result, {"successful_requests"}); ok && *ok > 0) {
        add_figure(reported, "osl_mean_tokens", number_in(result, {"total_tokens"}), 1 / *ok);
        add_figure(reported, "isl_mean_tokens", number_in(result, {"total_tokens_sent"}), 1 / *ok);
    }
    return summary_run(std::move(load), std::move(reported), where);
}

}  // namespace

bool is_inference_benchmarker(std::string_view text) {
    return text.starts_with('{') && text.find("\"token_throughput_secs\"") != text.npos &&
           text.find("\"executor_type\"") != text.npos;
}

std::vector<ForeignRun> inference_benchmarker_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Json json = foreign_json(read_file(file), where);
    const Json& results = at_path(json, {"results"});
    std::vector<ForeignRun> runs;
    if (results.is_array())
        for (const Json& result : results)
            if (text_in(result, {"id"}) != "warmup") runs.push_back(benchmarker_run(json, result, where));
    if (runs.empty()) refuse_foreign(where, "it holds no result besides a warm-up");
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
