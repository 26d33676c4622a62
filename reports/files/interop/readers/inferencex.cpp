// Rows of InferenceX (formerly InferenceMAX): one object per run, with rates per GPU and times in seconds.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

void add_row_statistics(Reported& reported, const Json& row) {
    constexpr std::pair<std::string_view, std::string_view> kTags[] = {
        {"ttft", "ttft_{}_s"},
        {"tpot", "tpot_{}_s"},
        {"itl", "itl_{}_s"},
        {"e2el", "e2e_{}_s"},
        {"intvty", "interactivity_{}_tok_per_s"}};
    for (const auto& [key, value] : row.items()) {
        const std::size_t end = key.find('_');
        if (end == std::string::npos) continue;
        const std::string statistic = statistic_named(std::string_view(key).substr(0, end));
        for (const auto& [theirs, ours] : kTags)
            if (!statistic.empty() && std::string_view(key).substr(end + 1) == theirs)
                add_figure(reported, fmt::format(fmt::runtime(ours), statistic), number_in(value));
    }
}

ForeignRun inferencex_run(const Json& row, const std::string& where) {
    ForeignLoad load{.tool = "InferenceX", .model = text_in(row, {"model"})};
    if (load.model.empty()) load.model = text_in(row, {"infmax_model_prefix"});
    load.server_kind = text_in(row, {"framework"});
    load.concurrency = count_in(row, {"conc"});
    Reported reported{.by = load.tool};
    add_row_statistics(reported, row);
    add_figure(reported, "total_tokens_per_s_per_gpu", number_in(row, {"tput_per_gpu"}));
    add_figure(reported, "output_tokens_per_s_per_gpu", number_in(row, {"output_tput_per_gpu"}));
    add_figure(reported, "input_tokens_per_s_per_gpu", number_in(row, {"input_tput_per_gpu"}));
    add_figure(reported, "isl_mean_tokens", number_in(row, {"isl"}));
    add_figure(reported, "osl_mean_tokens", number_in(row, {"osl"}));
    auto gpus = count_in(row, {"tp"}).value_or(1) * count_in(row, {"pp"}).value_or(1);
    std::optional<std::int64_t> decoding = gpus;  // GPUs by which the rate of output was divided
    if (at_path(row, {"disagg"}) == Json(true)) decoding.reset();
    if (const auto prefill = count_in(row, {"num_prefill_gpu"})) {  // of a row of several machines
        const auto decode = count_in(row, {"num_decode_gpu"});
        gpus = std::max<std::int64_t>(1, *prefill + decode.value_or(0));
        decoding = decode && *decode > 0 ? decode : std::nullopt;
    }
    if (const auto per_gpu = reported.at("output_tokens_per_s_per_gpu"); per_gpu && decoding)
        reported.figures["output_tokens_per_s"] = *per_gpu * static_cast<double>(*decoding);
    ForeignRun run = summary_run(std::move(load), std::move(reported), where);
    run.begun.provenance.hardware = text_in(row, {"hw"});
    run.begun.provenance.hardware_count =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(gpus, 1, 1'000'000));
    for (const char* const key : {"precision", "spec_decoding"})
        if (std::string value = text_in(row, {key}); !value.empty())
            run.begun.provenance.metadata[key] = std::move(value);
    return run;
}

}  // namespace

bool is_inferencex(std::string_view text) {
    return (text.starts_with('{') || text.starts_with('[')) && text.find("\"tput_per_gpu\"") != text.npos &&
           text.find("\"hw\"") != text.npos && text.find("\"conc\"") != text.npos;
}

std::vector<ForeignRun> inferencex_runs(const std::filesystem::path& file) {
    std::vector<ForeignRun> runs;
    for_each_foreign_object(read_file(file), file.string(), [&](const Json& json, const std::string& where) {
        if (!json.is_array()) return runs.push_back(inferencex_run(json, where));
        for (const Json& row : json) runs.push_back(inferencex_run(row, where));
    });
    if (runs.empty()) refuse_foreign(file.string(), "it holds no row");
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
