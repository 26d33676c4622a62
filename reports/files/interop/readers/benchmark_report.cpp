// llm-d's Benchmark Report 0.1, 0.2 and 0.2.1, as JSON or YAML. It is the summary of a run that another
// program measured.
#include <fmt/format.h>

#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_summary.h"
#include "reports/files/interop/readers/yaml.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

/// The factor from a statistic's unit to seconds or tokens. Throws UsageError for a unit of another kind.
double scale_of_units(const Json& statistic, const std::string& where) {
    const std::string units = text_in(statistic, {"units"});
    if (units == "ms" || units == "ms/token") return 1e-3;
    if (units == "s" || units == "s/token" || units == "count" || units.empty()) return 1;
    refuse_foreign(where,
                   fmt::format("the unit \"{}\" is not one of s, ms, s/token, ms/token and count", units));
}

void add_statistic(Reported& reported, std::string_view tag, std::string_view unit, const Json& statistic,
                   const std::string& where) {
    if (statistic.is_object())
        add_statistics(reported, tag, unit, statistic, scale_of_units(statistic, where));
}

/// A rate of version 0.1, which is a number, or of later ones, which is a statistic.
std::optional<double> rate_in(const Json& throughput, const char* before, const char* now) {
    if (const auto value = number_in(throughput, {before})) return value;
    return number_in(throughput, {now, "mean"});
}

/// Adds what a part of the stack tells: its model and its accelerators, which are counted for each replica.
void add_stack(ForeignLoad& load, const Json& part) {
    if (load.model.empty()) load.model = text_in(part, {"model", "name"});
    const std::string accelerator = text_in(part, {"accelerator", "model"});
    if (accelerator.empty()) return;
    if (load.hardware.empty()) load.hardware_count = 0;
    if (load.hardware.find(accelerator) == std::string::npos)
        load.hardware += (load.hardware.empty() ? "" : " + ") + accelerator;
    load.hardware_count += static_cast<std::uint32_t>(count_in(part, {"accelerator", "count"}).value_or(1) *
                                                      count_in(part, {"replicas"}).value_or(1));
}

ForeignLoad report_load(const Json& report, const std::string& version) {
    const Json& standard = at_path(report, {"scenario", "load", "standardized"});
    std::string tool = text_in(standard, {"tool"});
    if (tool.empty()) tool = text_in(report, {"scenario", "load", "name"});
    if (std::string of = text_in(standard, {"tool_version"}); !tool.empty() && !of.empty()) tool += " " + of;
    ForeignLoad load{.tool = tool.empty() ? fmt::format("Benchmark Report {}", version)
                                          : fmt::format("{} (Benchmark Report {})", tool, version)};
    load.concurrency = count_in(standard, {"concurrency"});
    load.request_rate = number_in(standard, {"rate_qps"});
    load.model = text_in(report, {"scenario", "model", "name"});
    if (const Json& stack = at_path(report, {"scenario", "stack"}); stack.is_array())
        for (const Json& part : stack) add_stack(load, at_path(part, {"standardized"}));
    load.started_at = utc_of_iso(text_in(report, {"run", "time", "start"}));
    return load;
}

ForeignRun report_run(const Json& report, const std::string& where) {
    const Json& told = at_path(report, {"version"});  // YAML without quotes makes 0.2 a number
    const std::string version = told.is_string() ? told.get<std::string>() : told.dump();
    if (version != "0.1" && version != "0.2" && version != "0.2.1")
        refuse_foreign(where,
                       fmt::format("Benchmark Report {} is not known; 0.1, 0.2 and 0.2.1 are read", version));
    const Json& all = version == "0.1" ? at_path(report, {"metrics"})
                                       : at_path(report, {"results", "request_performance", "aggregate"});
    if (!all.is_object()) refuse_foreign(where, "it has no performance of requests");
    ForeignLoad load = report_load(report, version);
    Reported reported{.by = load.tool};
    if (const auto total = count_in(all, {"requests", "total"})) {
        load.requests = static_cast<std::uint64_t>(*total);
        reported.requests = load.requests;
    }
    if (const auto failed = count_in(all, {"requests", "failures"})) reported.failed = *failed;
    add_statistic(reported, "isl", "tokens", at_path(all, {"requests", "input_length"}), where);
    add_statistic(reported, "osl", "tokens", at_path(all, {"requests", "output_length"}), where);
    for (const auto& [name, tag] :
         {std::pair{"time_to_first_token", "ttft"}, std::pair{"time_per_output_token", "tpot"},
          std::pair{"normalized_time_per_output_token", "ntpot"}, std::pair{"inter_token_latency", "itl"},
          std::pair{"request_latency", "e2e"}})
        add_statistic(reported, tag, "s", at_path(all, {"latency", name}), where);
    const Json& throughput = at_path(all, {"throughput"});
    add_figure(reported, "output_tokens_per_s",
               rate_in(throughput, "output_tokens_per_sec", "output_token_rate"));
    add_figure(reported, "input_tokens_per_s",
               rate_in(throughput, "input_tokens_per_sec", "input_token_rate"));
    add_figure(reported, "total_tokens_per_s",
               rate_in(throughput, "total_tokens_per_sec", "total_token_rate"));
    add_figure(reported, "requests_per_s", rate_in(throughput, "requests_per_sec", "request_rate"));
    return summary_run(std::move(load), std::move(reported), where);
}

}  // namespace

bool is_benchmark_report(std::string_view text) {
    const bool json = text.starts_with('{') && text.find("\"version\"") != text.npos;
    const bool yaml = text.find("version:") != text.npos;
    if (!json && !yaml) return false;
    return text.find("request_performance") != text.npos ||
           (text.find("total_tokens_per_sec") != text.npos && text.find("scenario") != text.npos);
}

// inference-perf writes a report of each stage beside the requests.
bool benchmark_report_repeats(const std::filesystem::path& file) {
    std::error_code error;
    return file.filename().string().find(".partial.stage_") != std::string::npos &&
           std::filesystem::exists(file.parent_path() / "per_request_lifecycle_metrics.json", error);
}

std::vector<ForeignRun> benchmark_report_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    std::string text = read_file(file);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string::npos && text[first] == '{';
    std::vector<ForeignRun> runs;
    runs.push_back(
        report_run(json ? foreign_json(std::move(text), where) : foreign_yaml(text, where), where));
    return runs;
}

}  // namespace paretoken::reports
