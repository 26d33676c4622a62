// llmperf's *_individual_responses.json: an array of requests. It does not tell when requests were sent. Its
// "inter-token latency" has the first token's time in it and is left out; its tokens are those of a Llama
// tokenizer. Its *_summary.json is a summary.
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

ForeignRequest llmperf_request(const Json& json) {
    ForeignRequest request;
    request.latency_s = number_in(json, {"end_to_end_latency_s"});
    request.input_tokens = count_in(json, {"number_input_tokens"});
    request.output_tokens = count_in(json, {"number_output_tokens"});
    if (const Json& code = at_path(json, {"error_code"}); !code.is_null()) {
        request.failed = true;
        if (const auto status = count_in(code); status && *status >= 100 && *status < 1000)
            request.http_status = static_cast<int>(*status);
        request.error = text_in(json, {"error_msg"});
        if (request.error.empty()) request.error = fmt::format("error {}", code.dump());
        request.latency_s.reset();
        request.output_tokens.reset();
        return request;
    }
    request.first_s = number_in(json, {"ttft_s"});
    request.last_s = request.latency_s;
    return request;
}

/// The load that a summary tells.
ForeignLoad llmperf_load(const Json& summary) {
    const std::string version = text_in(summary, {"version"});
    ForeignLoad load{.tool = fmt::format("llmperf{}{}", version.empty() ? "" : " ", version),
                     .length_source = "a Llama tokenizer"};
    load.model = text_in(summary, {"model"});
    load.concurrency = count_in(summary, {"num_concurrent_requests"});
    return load;
}

constexpr std::string_view kOfRequests = "_individual_responses.json";
constexpr std::string_view kOfSummary = "_summary.json";

/// The file beside `file` with the ending `to` instead of `from`; empty if there is none.
std::filesystem::path file_beside(const std::filesystem::path& file, std::string_view from,
                                  std::string_view to) {
    std::string name = file.filename().string();
    if (!name.ends_with(from)) return {};
    name.replace(name.size() - from.size(), from.size(), to);
    std::error_code error;
    const std::filesystem::path beside = file.parent_path() / name;
    return std::filesystem::exists(beside, error) ? beside : std::filesystem::path();
}

/// The summary beside a file of requests; null if there is none.
Json llmperf_summary_beside(const std::filesystem::path& file) {
    const std::filesystem::path summary = file_beside(file, kOfRequests, kOfSummary);
    return summary.empty() ? Json(nullptr) : foreign_json(read_file(summary), summary.string());
}

/// A figure in a summary, whose keys are flat: "results_ttft_s_quantiles_p95".
void add_llmperf_statistics(Reported& reported, const Json& summary, std::string_view theirs,
                            std::string_view tag, std::string_view unit) {
    for (const auto& [key, value] : summary.items()) {
        const std::string prefix = fmt::format("results_{}_", theirs);
        if (!key.starts_with(prefix)) continue;
        std::string_view statistic = std::string_view(key).substr(prefix.size());
        constexpr std::string_view kQuantiles = "quantiles_";
        if (statistic.starts_with(kQuantiles)) statistic.remove_prefix(kQuantiles.size());
        if (const std::string name = statistic_named(statistic); !name.empty())
            add_figure(reported, fmt::format("{}_{}_{}", tag, name, unit), number_in(value));
    }
}

ForeignRun llmperf_summary(const Json& summary, const std::string& where) {
    Reported reported{.by = "llmperf"};
    if (const auto started = count_in(summary, {"results_num_requests_started"}))
        reported.requests = static_cast<std::uint64_t>(*started);
    if (const auto errors = count_in(summary, {"results_number_errors"}))
        reported.failed = static_cast<std::uint64_t>(*errors);
    add_llmperf_statistics(reported, summary, "ttft_s", "ttft", "s");
    add_llmperf_statistics(reported, summary, "inter_token_latency_s", "itl", "s");
    add_llmperf_statistics(reported, summary, "end_to_end_latency_s", "e2e", "s");
    add_llmperf_statistics(reported, summary, "number_input_tokens", "isl", "tokens");
    add_llmperf_statistics(reported, summary, "number_output_tokens", "osl", "tokens");
    add_figure(reported, "output_tokens_per_s",
               number_in(summary, {"results_mean_output_throughput_token_per_s"}));
    add_figure(reported, "requests_per_s", number_in(summary, {"results_num_completed_requests_per_min"}),
               1.0 / 60);
    return summary_run(llmperf_load(summary), std::move(reported), where);
}

}  // namespace

bool is_llmperf(std::string_view text) {
    const bool requests = text.starts_with('[') && text.find("\"ttft_s\"") != text.npos &&
                          text.find("\"end_to_end_latency_s\"") != text.npos;
    return requests || (text.starts_with('{') && text.find("\"results_ttft_s_mean\"") != text.npos);
}

bool llmperf_repeats(const std::filesystem::path& file) {
    return !file_beside(file, kOfSummary, kOfRequests).empty();
}

std::vector<ForeignRun> llmperf_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Json json = foreign_json(read_file(file), where);
    std::vector<ForeignRun> runs;
    if (json.is_object()) {
        runs.push_back(llmperf_summary(json, where));
        return runs;
    }
    if (!json.is_array() || json.empty()) refuse_foreign(where, "it holds no request");
    std::vector<ForeignRequest> requests;
    for (const Json& request : json) requests.push_back(llmperf_request(request));
    const Json summary = llmperf_summary_beside(file);
    std::optional<double> duration_s;
    const auto rate = number_in(summary, {"results_num_completed_requests_per_min"});
    const auto completed = number_in(summary, {"results_num_completed_requests"});
    if (rate && completed && *rate > 0) duration_s = *completed / *rate * 60;
    runs.push_back(run_without_starts(llmperf_load(summary),
                                      {Fact::event_times, Fact::cached_tokens, Fact::server_counters},
                                      std::move(requests), duration_s, where));
    return runs;
}

}  // namespace paretoken::reports
