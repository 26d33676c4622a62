#include "reports/files/interop/foreign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/run/result_of.h"
#include "core/text/byte_order_mark.h"
#include "core/text/content_hash.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

std::string beginning_of(const fs::path& file) {
    constexpr std::size_t kEnough = std::size_t{256} << 10;
    std::string text(kEnough, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
    text.erase(0, text.size() - without_byte_order_mark(text).size());
    text.erase(0, std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    return text;
}

/// Files that repeat what another file of the same tool holds.
bool repeats_others(const fs::path& file) {
    const std::string name = file.filename().string();
    std::error_code error;
    if (name == "profile_export_aiperf.json" &&
        fs::exists(file.parent_path() / "profile_export.jsonl", error))
        return true;
    constexpr std::string_view kLlmperf = "_summary.json";
    if (name.ends_with(kLlmperf) &&
        fs::exists(file.parent_path() /
                       (name.substr(0, name.size() - kLlmperf.size()) + "_individual_responses.json"),
                   error))
        return true;
    if (name.find(".partial.stage_") != name.npos &&
        fs::exists(file.parent_path() / "per_request_lifecycle_metrics.json", error))
        return true;
    return name == "warmup.json" || name.ends_with(".failure.json") || name.ends_with("_aggregate.json") ||
           std::ranges::any_of(file, [](const fs::path& part) { return part == "phases"; });
}

/// What a file is that begins with these bytes, and what to do; empty if they tell nothing.
std::string_view kind_of_bytes(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kKinds = {{
        {"\x1f\x8b", "it is compressed; `gunzip -k` unpacks it"},
        {"\x28\xb5\x2f\xfd", "it is compressed; `zstd -d` unpacks it"},
        {"\xfd\x37zXZ", "it is compressed; `unxz -k` unpacks it"},
        {"BZh", "it is compressed; `bunzip2 -k` unpacks it"},
        {"PK\x03\x04", "it is an archive; `unzip` unpacks it"},
        {"\xff\xfe", "its text is in UTF-16; save it as UTF-8"},
        {"\xfe\xff", "its text is in UTF-16; save it as UTF-8"},
        {"<", "it is a page or XML; give the JSON file of the same benchmark"},
        {"[", "it is a list; give the files of the single runs, or the directory that they are in"},
    }};
    for (const auto& [bytes, what] : kKinds)
        if (text.starts_with(bytes)) return what;
    return "";
}

/// Why there is no foreign file at `path`, as a clause.
std::string why_none(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return "there is no such file or directory";
    if (fs::is_directory(path, error)) return "it has no result file of another load generator";
    if (!fs::is_regular_file(path, error)) return "it is not a regular file; save what it gives in one";
    const std::string name = path.filename().string();
    if (name == "run.json" || name == "sweep.json" || name == "gate.json")
        return "it is a result of this program; give the directory that it is in";
    if (name.ends_with("_aggregate.json") || name.ends_with("_collated.json"))
        return "it has only aggregates over runs; give the files of the single runs";
    if (name.ends_with(".csv")) return "it is a table; give the JSON file of the same benchmark";
    const std::string text = beginning_of(path);
    if (text.empty()) return "it is empty";
    if (const std::string_view what = kind_of_bytes(text); !what.empty()) return std::string(what);
    return "it has no results of another load generator that are known";
}

/// Throws a UsageError if the times of a request cannot be true. `where` names its file.
void check_times(const RequestRecord& record, const std::string& where) {
    static constexpr Duration kLongestRun =
        std::chrono::days(31);  // a longer one needs a file for each month
    constexpr Duration kRounding = std::chrono::milliseconds(1);
    constexpr Duration kOtherClock = std::chrono::seconds(1);  // gaps may be summed from rounded values
    const auto refuse = [&](const std::string& what) {
        throw UsageError(fmt::format("{}: request {} {}; the file is damaged", where, record.index, what));
    };
    const TimePoint sent = record.sent.value_or(TimePoint{});
    const auto is_outside = [](TimePoint time) {
        return time > TimePoint{} + kLongestRun || time < TimePoint{} - kLongestRun;
    };
    if (is_outside(sent)) refuse("was sent more than 31 days after or before the first one");
    if (is_outside(record.closed) || is_outside(record.last_event.value_or(sent)))
        refuse("ends more than 31 days after the start of the run");
    if (is_outside(record.scheduled)) refuse("was due more than 31 days before or after the run");
    if (record.closed < sent) refuse("ends before it was sent");
    if (record.scheduled > sent + kOtherClock) refuse("was sent before it was due");
    if (!record.first_event) return;
    const Duration first = *record.first_event - sent;
    const Duration last = record.last_event.value_or(*record.first_event) - sent;
    const Duration end = record.closed - sent;
    if (first < Duration{}) refuse("has its first token before it was sent");
    if (record.outcome != Outcome::ok) return;
    if (first > end + kRounding)
        refuse(fmt::format("has its first token {:.6g} s after it was sent, and its end after {:.6g} s",
                           seconds(first), seconds(end)));
    if (last > end + kOtherClock)
        refuse(fmt::format("has its last token {:.6g} s after it was sent, and its end after {:.6g} s",
                           seconds(last), seconds(end)));
}

}  // namespace

std::vector<ForeignRun> foreign_runs_in(const ForeignFormat& format, const fs::path& file) {
    std::vector<ForeignRun> runs = format.runs_in(file);
    for (ForeignRun& run : runs)
        run.for_each_request = [requests = std::move(run.for_each_request),
                                where = file.string()](const auto& visit) {
            requests([&](RequestRecord&& record) {
                check_times(record, where);
                record.scheduled = std::min(record.scheduled, record.sent.value_or(record.scheduled));
                visit(std::move(record));
            });
        };
    return runs;
}

const std::vector<ForeignFormat>& foreign_formats() {
    static const std::vector<ForeignFormat> all = {
        {"vllm-bench", "vLLM bench serve", is_vllm_bench, vllm_bench_runs},
        {"sglang-bench", "SGLang bench_serving", is_sglang_bench, sglang_bench_runs},
        {"aiperf", "AIPerf", is_aiperf, aiperf_runs},
        {"guidellm", "GuideLLM", is_guidellm, guidellm_runs},
        {"inference-perf", "inference-perf", is_inference_perf, inference_perf_runs},
        {"genai-bench", "genai-bench", is_genai_bench, genai_bench_runs},
        {"inference-benchmarker", "inference-benchmarker", is_inference_benchmarker,
         inference_benchmarker_runs},
        {"benchmark-report", "Benchmark Report", is_benchmark_report, benchmark_report_runs},
        {"llmperf", "llmperf", is_llmperf, llmperf_runs},
        {"evalscope", "evalscope perf", is_evalscope, evalscope_runs},
        {"endpoints", "MLCommons endpoints", is_endpoints, endpoints_runs},
        {"llama-bench", "llama-bench", is_llama_bench, llama_bench_runs},
        {"batched-bench", "llama-batched-bench", is_batched_bench, batched_bench_runs},
        {"inferencex", "InferenceX", is_inferencex, inferencex_runs},
    };
    return all;
}

const ForeignFormat* foreign_format_of(const fs::path& file) {
    std::error_code error;
    constexpr std::array<std::string_view, 5> kEndings = {".json", ".jsonl", ".yaml", ".yml", ".db"};
    const std::string ending = file.extension().string();
    if (!fs::is_regular_file(file, error) || std::ranges::find(kEndings, ending) == kEndings.end())
        return nullptr;
    const std::string text = beginning_of(file);
    for (const ForeignFormat& format : foreign_formats())
        if (format.recognises(text)) return &format;
    return nullptr;
}

std::vector<fs::path> foreign_files(const fs::path& path) {
    std::error_code error;
    if (foreign_format_of(path) != nullptr) return {path};
    if (!fs::is_directory(path, error)) return {};
    std::vector<fs::path> found;
    for (const auto& entry :
         fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error))
        if (!repeats_others(entry.path()) && foreign_format_of(entry.path()) != nullptr)
            found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

void write_foreign_run(const ForeignRun& run, const fs::path& directory, const ImportOptions& options) {
    Recorded recorded{.begun = run.begun};
    Provenance& provenance = recorded.begun.provenance;
    if (!options.hardware.empty()) {
        provenance.hardware = options.hardware;
        provenance.hardware_count = options.hardware_count;
    }
    for (const auto& [key, value] : options.metadata) provenance.metadata[key] = value;
    ensure_directory(directory);
    RecordWriter writer(record_files_in(directory), TimePoint{}, {.waits = true});
    ContentHash content;  // equal files give equal ids, so that no run is counted twice
    content.add(provenance.measured_by + provenance.model);
    run.for_each_request([&](RequestRecord&& record) {
        content.add(fmt::format("{} {} {}\n", record.index, record.closed.time_since_epoch().count(),
                                record.usage.completion.value_or(-1)));
        writer.record(std::move(record));
    });
    if (run.begun.reported) {
        for (const auto& [key, value] : run.begun.plan) content.add(key + value);
        for (const auto& [key, value] : run.begun.reported->figures)
            content.add(fmt::format("{} {}\n", key, value));
    }
    provenance.run_id = content.text() + content_hash(content.text());
    for (const std::string& lost : writer.finish()) throw RuntimeError(lost);
    write_begun(directory, recorded.begun, {});
    write_ended(directory, recorded);
    StoredRun stored = read_recorded(directory);
    write_run(directory, result_of(stored.recorded, stored.judging));
}

std::vector<fs::path> import_runs(const fs::path& path, const fs::path& directory,
                                  const ImportOptions& options) {
    const std::vector<fs::path> files = foreign_files(path);
    if (files.empty()) {
        std::vector<std::string_view> tools;
        for (const ForeignFormat& format : foreign_formats()) tools.push_back(format.tool);
        throw UsageError(fmt::format("{}: {}. Results of these are read, as JSON, JSONL, YAML or SQLite: {}",
                                     path.string(), why_none(path), fmt::join(tools, ", ")));
    }
    std::vector<std::pair<std::string, ForeignRun>> runs;
    for (const fs::path& file : files)
        for (ForeignRun& run : foreign_runs_in(*foreign_format_of(file), file)) {
            std::string name = run.name;
            if (files.size() > 1)
                name =
                    (fs::relative(file.parent_path(), path) / file.stem() / name).lexically_normal().string();
            runs.emplace_back(std::move(name), std::move(run));
        }
    std::vector<fs::path> written;
    for (auto& [name, run] : runs) {
        written.push_back(runs.size() == 1 ? directory : directory / name);
        write_foreign_run(run, written.back(), options);
    }
    return written;
}

}  // namespace paretoken::reports
