#include "reports/pages/inferencex.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cards/gpu.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::ordered_json;

std::string metadata_of(const Provenance& from, const char* name, const std::string& otherwise) {
    const auto found = from.metadata.find(name);
    return found == from.metadata.end() ? otherwise : found->second;
}

/// A value of the metadata, as a number if it is a whole number, else as text; `otherwise` if it is absent.
Json whole_of(const Provenance& from, const char* name, std::uint32_t otherwise) {
    const auto found = from.metadata.find(name);
    if (found == from.metadata.end()) return otherwise;
    const std::string& text = found->second;
    const bool is_whole = !text.empty() && text.size() < 7 &&
                          std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    return is_whole ? Json(std::stoul(text)) : Json(text);
}

bool is_true(const Provenance& from, const char* name) {
    const std::string text = metadata_of(from, name, "false");
    return text == "true" || text == "1";
}

std::string hardware_of(const Configuration& configuration, const Provenance& from) {
    if (const auto gpu = cards::find_gpu(from.hardware)) return gpu->name;
    return from.hardware.empty() ? configuration.hardware : from.hardware;
}

std::string precision_of(const Configuration& configuration, const Provenance& from) {
    if (from.model_card) return from.model_card->weights;
    return configuration.precision;
}

std::string framework_of(const RunResult& run) {
    if (run.server && !run.server->engine.empty()) return run.server->engine;
    return run.provenance.server_kind;
}

std::string speculation_of(const Provenance& from) {
    const auto drafts = from.simulator.find("drafts");
    return drafts != from.simulator.end() && drafts->second > 0 ? "draft" : "none";
}

Json length_of(const std::optional<double>& wanted, const std::optional<double>& achieved) {
    const auto length = wanted ? wanted : achieved;
    return length ? Json(std::llround(*length)) : Json();
}

/// The value, or null if the percentile falls among failures or was not measured.
Json number_of(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
}

struct Percentile {
    std::string_view name;
    double p;
};
constexpr std::array kPercentilesOfRows{Percentile{"median", .5}, Percentile{"p75", .75},
                                        Percentile{"p90", .9}, Percentile{"p95", .95},
                                        Percentile{"p99", .99}};

void add_times(Json& row, const RunResult& run, const char* key, const std::string& name) {
    const MetricSummary* const metric = run.metric(key);
    if (metric == nullptr) return;
    row["mean_" + name] = number_of(metric->mean);
    for (const auto& [label, p] : kPercentilesOfRows) {
        const PercentileValue* const held = metric->at(p);
        row[std::string(label) + "_" + name] = held != nullptr ? number_of(held->value) : Json();
    }
}

/// Adds the tokens per second of a user while the answer streams: the time per output token, inverted.
void add_interactivity(Json& row) {
    for (const std::string_view label : {"mean", "median", "p75", "p90", "p95", "p99"}) {
        const auto tpot = row.find(std::string(label) + "_tpot");
        if (tpot == row.end()) continue;
        const bool is_known = tpot->is_number() && tpot->get<double>() > 0;
        row[std::string(label) + "_intvty"] = is_known ? Json(1 / tpot->get<double>()) : Json();
    }
}

Json row_of(const Configuration& configuration, const ReportPoint& point) {
    const RunResult& run = point.result;
    const Provenance& from = run.provenance;
    const std::uint32_t gpus = std::max<std::uint32_t>(1, from.hardware_count);
    const auto per_gpu = [&](std::string_view figure) {
        const auto rate = run.throughput.at(figure);
        return rate ? Json(*rate / gpus) : Json();
    };
    Json row = {{"hw", hardware_of(configuration, from)},
                {"conc", *run.concurrency},
                {"model", from.model},
                {"framework", metadata_of(from, "framework", framework_of(run))},
                {"precision", metadata_of(from, "precision", precision_of(configuration, from))},
                {"spec_decoding", metadata_of(from, "spec_decoding", speculation_of(from))},
                {"disagg", is_true(from, "disagg")},
                {"isl", length_of(run.workload.wanted_input_tokens, run.workload.achieved_input_tokens)},
                {"osl", length_of(run.workload.wanted_output_tokens, run.workload.achieved_output_tokens)},
                {"tp", whole_of(from, "tp", gpus)},
                {"pp", whole_of(from, "pp", 1)},
                {"ep", whole_of(from, "ep", 1)},
                {"dp_attention", is_true(from, "dp_attention")},
                {"tput_per_gpu", per_gpu(figure::kTotalTokens)},
                {"output_tput_per_gpu", per_gpu(figure::kOutputTokens)},
                {"input_tput_per_gpu", per_gpu(figure::kInputTokens)}};
    add_times(row, run, "ttft_s", "ttft");
    add_times(row, run, "tpot_s", "tpot");
    add_times(row, run, "itl_s", "itl");
    add_times(row, run, "e2e_s", "e2el");
    add_interactivity(row);
    return row;
}

}  // namespace

// Where the metadata lack them, `tp` is the number of GPUs, `pp` and `ep` are 1, `dp_attention` and `disagg`
// are false, `spec_decoding` is "none" (or "draft" for a simulated server with draft tokens), `precision` is
// the number format of the weights, and `framework` is the name of the engine.
std::string inferencex_report(const ReportModel& model) {
    Json rows = Json::array();
    for (const Configuration& configuration : model.configurations)
        for (const ReportPoint& point : configuration.points)
            if (!point.open_loop && point.result.concurrency &&
                point.result.validity.verdict != Verdict::invalid)
                rows.push_back(row_of(configuration, point));
    return rows.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
