// llama-bench (-o json or jsonl) and llama-batched-bench (--output-format jsonl) of llama.cpp. They time the
// model itself: there are no requests, no tokenizer and no sampling. Each test is a run, whose rates are kept
// as the program reported them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

/// "pp512", "tg128", "pp512+tg128", with the depth of the cache after "@d" if there is one.
std::string llama_test_name(std::int64_t prompt, std::int64_t generated, std::int64_t depth) {
    std::string name;
    if (prompt > 0) name += fmt::format("pp{}", prompt);
    if (generated > 0) name += fmt::format("{}tg{}", name.empty() ? "" : "+", generated);
    if (depth > 0) name += fmt::format("@d{}", depth);
    return name.empty() ? "run" : name;
}

/// Sets the hardware from the names of all GPUs ("A, A"). With the split mode "none" the model is on one.
void set_gpus(ForeignLoad& load, const std::string& names, bool on_one) {
    const std::string first = names.substr(0, names.find(", "));
    std::uint32_t count = 1;
    for (std::size_t at = 0; (at = names.find(", ", at)) != names.npos; ++count) {
        at += 2;
        if (names.substr(at, names.find(", ", at) - at) == first) continue;
        load.metadata["gpu"] = names;  // different ones are no hardware that a card describes
        return;
    }
    load.hardware = first;
    load.hardware_count = on_one ? 1 : count;
}

ForeignRun llama_bench_run(const Json& test, const std::string& where) {
    const std::int64_t prompt = count_in(test, {"n_prompt"}).value_or(0);
    const std::int64_t generated = count_in(test, {"n_gen"}).value_or(0);
    const bool on_gpu = count_in(test, {"n_gpu_layers"}).value_or(1) > 0;
    ForeignLoad load{
        .tool = fmt::format("llama-bench build {}", count_in(test, {"build_number"}).value_or(0)),
        .model = text_in(test, {"model_type"}),
        .server_kind = "llama.cpp",
        .started_at = utc_of_iso(text_in(test, {"test_time"})),
        .concurrency = 1};
    if (on_gpu) set_gpus(load, text_in(test, {"gpu_info"}), text_in(test, {"split_mode"}) == "none");
    constexpr std::array kSettings = {"n_gpu_layers", "flash_attn", "type_k",     "type_v",   "n_batch",
                                      "n_ubatch",     "n_threads",  "split_mode", "cpu_info", "backends"};
    for (const char* const key : kSettings)
        if (const Json& value = at_path(test, {key}); !value.is_null())
            load.metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
    Reported reported{.by = "llama-bench"};
    if (prompt > 0) reported.figures["isl_mean_tokens"] = static_cast<double>(prompt);
    if (generated > 0) reported.figures["osl_mean_tokens"] = static_cast<double>(generated);
    const bool is_decode = prompt == 0;
    const bool is_prefill = generated == 0;
    const std::string rate = is_decode ? "output" : is_prefill ? "input" : "total";
    add_figure(reported, rate + "_tokens_per_s", number_in(test, {"avg_ts"}));
    add_figure(reported, rate + "_std_tok_per_s", number_in(test, {"stddev_ts"}));
    std::vector<double> samples;
    if (const Json& all = at_path(test, {"samples_ts"}); all.is_array())
        for (const Json& sample : all)
            if (const auto value = number_in(sample)) samples.push_back(*value);
    if (!samples.empty()) {
        const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
        reported.figures[rate + "_min_tok_per_s"] = *least;
        reported.figures[rate + "_max_tok_per_s"] = *most;
    }
    ForeignRun run = summary_run(std::move(load), std::move(reported), where);
    run.name = llama_test_name(prompt, generated, count_in(test, {"n_depth"}).value_or(0));
    run.begun.workload.dataset += ", " + run.name;
    run.begun.workload.fingerprint = run.begun.workload.dataset;
    return run;
}

ForeignRun batched_bench_run(const Json& line, const std::string& where) {
    ForeignLoad load{
        .tool = "llama-batched-bench", .server_kind = "llama.cpp", .concurrency = count_in(line, {"pl"})};
    Reported reported{.by = "llama-batched-bench"};
    add_figure(reported, "input_tokens_per_s", number_in(line, {"speed_pp"}));
    add_figure(reported, "output_tokens_per_s", number_in(line, {"speed_tg"}));
    add_figure(reported, "total_tokens_per_s", number_in(line, {"speed"}));
    add_figure(reported, "duration_s", number_in(line, {"t"}));
    ForeignRun run = summary_run(std::move(load), std::move(reported), where);
    const std::string test =
        llama_test_name(count_in(line, {"pp"}).value_or(0), count_in(line, {"tg"}).value_or(0), 0);
    run.name = fmt::format("{}_batch_{}", test, count_in(line, {"pl"}).value_or(0));
    run.begun.workload.dataset += ", " + test;
    run.begun.workload.fingerprint = run.begun.workload.dataset;
    return run;
}

std::vector<ForeignRun> runs_of_lines(const std::filesystem::path& file,
                                      ForeignRun (*run_of)(const Json&, const std::string&)) {
    std::vector<ForeignRun> runs;
    for_each_foreign_object(read_file(file), file.string(), [&](const Json& json, const std::string& where) {
        if (!json.is_array()) return runs.push_back(run_of(json, where));
        for (const Json& test : json) runs.push_back(run_of(test, where));
    });
    if (runs.empty()) refuse_foreign(file.string(), "it holds no test");
    number_equal_names(runs);
    return runs;
}

}  // namespace

bool is_llama_bench(std::string_view text) {
    return (text.starts_with('{') || text.starts_with('[')) && text.find("\"samples_ts\"") != text.npos &&
           text.find("\"n_prompt\"") != text.npos && text.find("\"n_gen\"") != text.npos;
}

std::vector<ForeignRun> llama_bench_runs(const std::filesystem::path& file) {
    return runs_of_lines(file, llama_bench_run);
}

bool is_batched_bench(std::string_view text) {
    return (text.starts_with('{') || text.starts_with('[')) && text.find("\"speed_tg\"") != text.npos &&
           text.find("\"t_pp\"") != text.npos;
}

std::vector<ForeignRun> batched_bench_runs(const std::filesystem::path& file) {
    return runs_of_lines(file, batched_bench_run);
}

}  // namespace paretoken::reports
