#include "reports/files/interop/foreign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/run/result_of.h"
#include "core/text/byte_order_mark.h"
#include "core/text/content_hash.h"
#include "core/text/natural_order.h"
#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBeginning = std::size_t{256} << 10;

/// The text without a byte order mark and blanks before it.
std::string without_blanks(std::string text) {
    text.erase(0, text.size() - without_byte_order_mark(text).size());
    text.erase(0, std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    return text;
}

/// The first kBeginning bytes, or fewer if they begin with blanks.
std::string beginning_of(const fs::path& file) {
    std::string text(kBeginning, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
    return without_blanks(std::move(text));
}

bool is_json(std::string_view text) {
    return text.starts_with('{') || text.starts_with('[');
}

/// The different keys of a file of JSON, as a text that begins like it: {"backend""completed". At most the
/// first 256 MiB are read.
std::string keys_of(const fs::path& file, char opening) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
    constexpr std::size_t kLongestKey = 100;
    constexpr std::size_t kMostKeys = 10'000;
    std::ifstream in(file, std::ios::binary);
    std::set<std::string> keys;
    std::string word;
    bool in_string = false;
    bool after_string = false;
    std::vector<char> block(kBeginning);
    bool escaped = false;
    for (std::uint64_t bytes = 0; bytes < kMostBytes && in; bytes += block.size()) {
        in.read(block.data(), static_cast<std::streamsize>(block.size()));
        for (std::streamsize i = 0; i < in.gcount(); ++i) {
            const char c = block[static_cast<std::size_t>(i)];
            if (in_string) {
                in_string = escaped || c != '"';
                after_string = !in_string;
                escaped = !escaped && c == '\\';
                if (in_string && word.size() <= kLongestKey) word += c;
            } else if (c == '"') {
                in_string = true;
                word.clear();
            } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
                if (c == ':' && after_string && keys.size() < kMostKeys) keys.insert(word);
                after_string = false;
            }
        }
    }
    std::string text(1, opening);
    for (const std::string& key : keys) text += fmt::format("\"{}\"", key);
    return text;
}

/// Whether a file in a directory is looked into: one that is named by itself always is.
bool may_hold_results(const fs::path& file) {
    constexpr std::array<std::string_view, 8> kEndings = {".json", ".jsonl", ".ndjson", ".yaml",
                                                          ".yml",  ".db",    ".txt",    ""};
    std::string ending = file.extension().string();
    std::ranges::transform(ending, ending.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return std::ranges::find(kEndings, ending) != kEndings.end();
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

/// What a file of a known program is whose results are in another file, and what to do; empty if it is none.
std::string_view kind_of_keys(std::string_view text) {
    constexpr std::array<std::array<std::string_view, 3>, 4> kKinds = {{
        {"\"benchmark_version\"", "\"traffic_scenario\"",
         "it describes an experiment of genai-bench; give the file of each scenario, which is beside it"},
        {"\"Total Requests\"", "\"Avg Latency (s)\"",
         "it is a summary of evalscope perf; give benchmark_data.db, which is beside it"},
        {"\"Percentiles\"", "\"TTFT (ms)\"",
         "it has percentiles of evalscope perf; give benchmark_data.db, which is beside it"},
        {"\"benchmarks\"", "\"guidellm",
         "it is a file of GuideLLM without requests; give benchmarks.json, as JSON"},
    }};
    for (const auto& [key, other, what] : kKinds)
        if (text.find(key) != text.npos && text.find(other) != text.npos) return what;
    return "";
}

/// Why there is no foreign file at `path`, as a clause.
std::string why_none(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return "there is no such file or directory";
    if (fs::is_directory(path, error)) {
        for (const auto& entry :
             fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error))
            if (entry.is_regular_file(error) && may_hold_results(entry.path()))
                if (const std::string_view what = kind_of_keys(beginning_of(entry.path())); !what.empty())
                    return fmt::format("it has no result file of another load generator; of {}: {}",
                                       fs::relative(entry.path(), path).string(), what);
        return "it has no result file of another load generator";
    }
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
    if (const std::string_view what = kind_of_keys(text); !what.empty()) return std::string(what);
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
        {"vllm-bench", "vLLM bench serve", is_vllm_bench, vllm_bench_runs, vllm_bench_repeats},
        {"sglang-bench", "SGLang bench_serving", is_sglang_bench, sglang_bench_runs},
        {"aiperf", "AIPerf", is_aiperf, aiperf_runs, aiperf_repeats},
        {"guidellm", "GuideLLM", is_guidellm, guidellm_runs},
        {"inference-perf", "inference-perf", is_inference_perf, inference_perf_runs, inference_perf_repeats},
        {"genai-bench", "genai-bench", is_genai_bench, genai_bench_runs},
        {"inference-benchmarker", "inference-benchmarker", is_inference_benchmarker,
         inference_benchmarker_runs},
        {"benchmark-report", "Benchmark Report", is_benchmark_report, benchmark_report_runs,
         benchmark_report_repeats},
        {"llmperf", "llmperf", is_llmperf, llmperf_runs, llmperf_repeats},
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
    if (!fs::is_regular_file(file, error)) return nullptr;
    std::string text = beginning_of(file);
    const auto recognised = [&]() -> const ForeignFormat* {
        const auto& all = foreign_formats();
        const auto found =
            std::ranges::find_if(all, [&](const ForeignFormat& format) { return format.recognises(text); });
        return found == all.end() ? nullptr : &*found;
    };
    const ForeignFormat* format = recognised();
    if (format != nullptr || text.size() < kBeginning || !is_json(text)) return format;
    text = keys_of(file, text.front());  // long lists may come before the keys that tell the format
    return recognised();
}

std::vector<fs::path> foreign_files(const fs::path& path) {
    std::error_code error;
    if (foreign_format_of(path) != nullptr) return {path};
    if (!fs::is_directory(path, error)) return {};
    std::vector<fs::path> found;
    for (const auto& entry :
         fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error)) {
        if (!may_hold_results(entry.path())) continue;
        const ForeignFormat* const format = foreign_format_of(entry.path());
        if (format != nullptr && (format->repeats_others == nullptr || !format->repeats_others(entry.path())))
            found.push_back(entry.path());
    }
    std::ranges::sort(found, NaturalLess(), [](const fs::path& one) { return one.string(); });
    return found;
}

void write_foreign_run(const ForeignRun& run, const fs::path& directory, const ImportOptions& options) {
    Recorded recorded{.begun = run.begun};
    recorded.observed.interrupted = run.interrupted;
    Provenance& provenance = recorded.begun.provenance;
    if (!options.hardware.empty()) {
        provenance.hardware = options.hardware;
        provenance.hardware_count = options.hardware_count;
    }
    for (const auto& [key, value] : options.metadata) provenance.metadata[key] = without_secrets(key, value);
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

namespace {

using NamedRuns = std::vector<std::pair<fs::path, ForeignRun>>;  // by directory, relative to that of all

/// The runs at `path`, below `prefix`. A single run has the name `prefix`.
NamedRuns named_runs_at(const fs::path& path, const fs::path& prefix) {
    const std::vector<fs::path> files = foreign_files(path);
    if (files.empty()) {
        std::vector<std::string_view> tools;
        for (const ForeignFormat& format : foreign_formats()) tools.push_back(format.tool);
        throw UsageError(fmt::format("{}: {}. Results of these are read, as JSON, JSONL, YAML or SQLite: {}",
                                     path.string(), why_none(path), fmt::join(tools, ", ")));
    }
    NamedRuns runs;
    for (const fs::path& file : files)
        for (ForeignRun& run : foreign_runs_in(*foreign_format_of(file), file)) {
            const fs::path below =
                files.size() > 1 ? fs::relative(file.parent_path(), path) / file.stem() : fs::path();
            runs.emplace_back(prefix / below / run.name, std::move(run));
        }
    if (runs.size() == 1) runs.front().first = prefix;
    return runs;
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// Appends "-2", "-3", … to the names of runs that an earlier run has, or that lie in one another.
void make_distinct(NamedRuns& runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::string name = runs[i].first.lexically_normal().string();
        if (name.ends_with('/')) name.pop_back();  // of a run without a name
        fs::path tried = name;
        const auto begin = runs.begin();
        const auto end = begin + static_cast<std::ptrdiff_t>(i);
        const auto clashes = [&](const auto& other) {
            return lies_in(tried, other.first) || lies_in(other.first, tried);
        };
        // A name below that of another run lies there with every number at its end.
        const bool is_below = std::any_of(begin, end, [&](const auto& other) {
            return lies_in(fs::path(name).parent_path(), other.first);
        });
        const std::size_t at = is_below ? std::min(name.find('/'), name.size()) : name.size();
        for (int n = 2; std::any_of(begin, end, clashes); ++n)
            tried = fmt::format("{}-{}{}", name.substr(0, at), n, name.substr(at));
        runs[i].first = tried;
    }
}

/// Names for paths: the names of the files, or, if some are equal, the paths below their common directory.
std::vector<fs::path> prefixes_of(const std::vector<fs::path>& paths) {
    if (paths.size() == 1) return {fs::path()};
    std::vector<fs::path> whole;
    for (const fs::path& path : paths) {
        const fs::path normal = (fs::absolute(path) / "").lexically_normal().parent_path();
        whole.push_back(normal.parent_path() / normal.stem());
    }
    std::vector<fs::path> names;
    for (const fs::path& path : whole) names.push_back(path.filename());
    std::vector<fs::path> sorted = names;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) == sorted.end()) return names;
    fs::path common = whole.front().parent_path();
    const auto is_outside = [&](const fs::path& path) { return !lies_in(path.parent_path(), common); };
    while (std::ranges::any_of(whole, is_outside)) common = common.parent_path();
    for (std::size_t i = 0; i < whole.size(); ++i) names[i] = whole[i].lexically_relative(common);
    return names;
}

/// A directory inside `directory`, which holds results until they are complete and is removed in any case.
/// `directory` is removed as well if it did not exist before and nothing was moved into it.
class Unfinished {
  public:
    explicit Unfinished(fs::path directory)
        : directory_(std::move(directory)), existed_(fs::exists(directory_)) {
        ensure_directory(path());
    }
    ~Unfinished() {
        std::error_code ignored;
        fs::remove_all(path(), ignored);
        if (!existed_) fs::remove(directory_, ignored);  // fails unless it is empty
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    fs::path path() const { return directory_ / ".incomplete"; }

    void move_into_place() const {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(path())) {
            fs::rename(entry.path(), directory_ / entry.path().filename(), error);
            if (error)
                throw RuntimeError(fmt::format("cannot write {}: {}", directory_.string(), error.message()));
        }
    }

  private:
    fs::path directory_;
    bool existed_;
};

}  // namespace

std::vector<fs::path> import_runs(const std::vector<fs::path>& paths, const fs::path& directory,
                                  const ImportOptions& options) {
    NamedRuns runs;
    const std::vector<fs::path> prefixes = prefixes_of(paths);
    for (std::size_t i = 0; i < paths.size(); ++i)
        std::ranges::move(named_runs_at(paths[i], prefixes[i]), std::back_inserter(runs));
    make_distinct(runs);
    if (fs::exists(directory) && !(fs::is_directory(directory) && fs::is_empty(directory)))
        throw UsageError(
            fmt::format("{} exists and is not an empty directory; choose another name", directory.string()));
    const Unfinished unfinished(directory);
    std::vector<fs::path> written;
    for (const auto& [name, run] : runs) {
        write_foreign_run(run, unfinished.path() / name, options);
        if (!options.shown.empty())
            show_as(unfinished.path() / name,
                    name.empty() ? options.shown : (fs::path(options.shown) / name).string());
        written.push_back(name.empty() ? directory : directory / name);
    }
    unfinished.move_into_place();
    return written;
}

std::vector<fs::path> import_runs(const fs::path& path, const fs::path& directory,
                                  const ImportOptions& options) {
    return import_runs(std::vector{path}, directory, options);
}

}  // namespace paretoken::reports
