// AIPerf's profile_export.jsonl: one request per line, with a unit for every value. Lines are read one at a
// time, because such files can be larger than the memory. The server's counts of tokens come before those of
// AIPerf's own tokenizer. Its profile_export_aiperf.json, and the file of GenAI-Perf before it, is a summary.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"
#include "reports/files/interop/readers/foreign_summary.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

double seconds_per(const std::string& unit, const std::string& where) {
    if (unit == "ns") return 1e-9;
    if (unit == "us") return 1e-6;
    if (unit == "ms") return 1e-3;
    if (unit == "sec" || unit == "s" || unit == "seconds") return 1;
    refuse_foreign(where, fmt::format("the unit \"{}\" is not a unit of time", unit));
}

std::optional<double> seconds_in(const Json& metrics, const char* name, const std::string& where) {
    const auto value = number_in(metrics, {name, "value"});
    if (!value) return std::nullopt;
    return *value * seconds_per(text_in(metrics, {name, "unit"}), where);
}

std::optional<std::int64_t> first_count(const Json& metrics, std::initializer_list<const char*> names) {
    for (const char* const name : names)
        if (const auto count = count_in(metrics, {name, "value"})) return count;
    return std::nullopt;
}

double epoch_s(const Json& metadata, const char* key, const std::string& where) {
    const auto ns = number_in(metadata, {key});
    if (!ns || *ns < 0 || *ns > 4e18)
        refuse_foreign(where, fmt::format("\"{}\" is not a time in nanoseconds", key));
    return *ns / 1e9;
}

ForeignRequest aiperf_request(const Json& line, double began, const std::string& where) {
    const Json& metadata = at_path(line, {"metadata"});
    const Json& metrics = at_path(line, {"metrics"});
    ForeignRequest request;
    request.sent_s = epoch_s(metadata, "request_start_ns", where) - began;
    if (number_in(metadata, {"credit_issued_ns"}))
        request.scheduled_s = epoch_s(metadata, "credit_issued_ns", where) - began;
    const Json& end_ns = at_path(metadata, {"request_end_ns"});
    if (end_ns.is_number() && end_ns < at_path(metadata, {"request_start_ns"}))
        refuse_foreign(where, "\"request_end_ns\" is before \"request_start_ns\"; the file is damaged");
    request.latency_s = seconds_in(metrics, "request_latency", where);
    const auto first = seconds_in(metrics, "time_to_first_token", where);
    const Json& gaps = at_path(metrics, {"inter_chunk_latency", "value"});
    if (first && gaps.is_array()) {
        const double unit = seconds_per(text_in(metrics, {"inter_chunk_latency", "unit"}), where);
        request.chunks_s.push_back(*first);
        add_gaps(request.chunks_s, gaps, where, unit);
    } else if (first) {
        request.first_s = first;
        request.last_s = request.latency_s;
    }
    request.input_tokens = first_count(metrics, {"usage_prompt_tokens", "input_sequence_length"});
    request.cached_tokens = first_count(metrics, {"usage_prompt_cache_read_tokens"});
    request.output_tokens = first_count(metrics, {"usage_completion_tokens", "output_sequence_length"});
    request.reasoning_tokens = first_count(metrics, {"usage_reasoning_tokens", "reasoning_token_count"});
    request.cancelled = at_path(metadata, {"was_cancelled"}) == Json(true);
    if (const Json& error = at_path(line, {"error"}); error.is_object() && !request.cancelled) {
        request.failed = true;
        if (const auto code = count_in(error, {"code"}); code && *code < 1000)
            request.http_status = static_cast<int>(*code);
        request.error = text_in(error, {"message"});
        if (request.error.empty()) request.error = text_in(error, {"type"});
        if (request.error.empty()) request.error = "the request failed; the file does not tell why";
    }
    return request;
}

/// Calls `visit` with every request of the measured phase.
template <class Visit>
void for_each_request_line(const fs::path& file, Visit visit) {
    for_each_foreign_line(file, [&](const Json& json, const std::string& where) {
        const std::string phase = text_in(json, {"metadata", "benchmark_phase"});
        if (phase.empty() || phase == "profiling") visit(json, where);
    });
}

/// The first number under the keys that versions of the program write the load under.
std::optional<double> first_number(const Json& from, std::initializer_list<const char*> keys) {
    for (const char* const key : keys)
        if (const auto value = number_in(from, {key})) return value;
    return std::nullopt;
}

void add_load(ForeignLoad& load, const Json& from) {
    if (!load.concurrency) load.concurrency = count_in(from, {"concurrency"});
    if (!load.request_rate) load.request_rate = first_number(from, {"rate", "request_rate"});
    if (const std::string type = text_in(from, {"type"});
        load.request_rate && (type == "constant" || type == "poisson"))
        load.arrivals = fmt::format("{}:rate={:g}", type, *load.request_rate);
}

/// The phase that is measured: the last one of the kind "profiling" or, in versions that write no kinds, the
/// last one that is not named as a warm-up; null if there is none.
const Json& measured_phase(const Json& phases) {
    static const Json kNone;
    const Json* measured = &kNone;
    if (!phases.is_array()) return kNone;
    for (const Json& phase : phases) {
        const std::string kind = text_in(phase, {"kind"});
        if (kind.empty() ? text_in(phase, {"name"}) != "warmup" : kind == "profiling") measured = &phase;
    }
    return *measured;
}

/// The load that a summary tells. Later versions of AIPerf have phases, earlier ones "loadgen"; GenAI-Perf
/// has a stimulus of perf_analyzer.
ForeignLoad load_of_summary(const Json& summary) {
    const Json& input = at_path(summary, {"input_config"});
    const Json& stimulus = at_path(input, {"perf_analyzer", "stimulus"});
    ForeignLoad load{.tool = stimulus.is_object() ? "GenAI-Perf" : "AIPerf"};
    if (const std::string version = text_in(summary, {"aiperf_version"}); !version.empty())
        load.tool += " " + version;
    if (const Json& models = at_path(input, {"models", "items"}); models.is_array() && !models.empty())
        load.model = text_in(models[0], {"name"});
    for (const Json* const names :
         {&at_path(input, {"endpoint", "model_names"}), &at_path(input, {"model_names"})})
        if (load.model.empty() && names->is_array() && !names->empty()) load.model = text_in((*names)[0]);
    add_load(load, measured_phase(at_path(input, {"phases"})));
    add_load(load, at_path(input, {"loadgen"}));
    add_load(load, stimulus);
    load.endpoint = text_in(input, {"endpoint", "type"});
    load.interrupted = at_path(summary, {"was_cancelled"}) == Json(true);
    return with_real_limits(std::move(load));
}

/// The file beside `file` that has another ending: "a_aiperf.json" for "a.jsonl".
fs::path with_ending(const fs::path& file, std::string_view from, std::string_view to) {
    std::string name = file.filename().string();
    if (!name.ends_with(from)) return {};
    name.replace(name.size() - from.size(), from.size(), to);
    return file.parent_path() / name;
}

constexpr std::string_view kRequests = ".jsonl";
/// Endings of the summary of requests in a file that ends in kRequests, as different versions write them.
constexpr std::array<std::string_view, 2> kSummaries = {"_aiperf.json", ".json"};

/// Whether a file of AIPerf is a summary; the first line of one with requests has the start of a request.
bool holds_summary(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line.find("\"request_start_ns\"") == line.npos;
}

bool is_aiperf_summary(std::string_view text) {
    return text.find("\"input_config\"") != text.npos && text.find("\"request_throughput\"") != text.npos &&
           text.find("\"unit\"") != text.npos && text.find("\"ci_low\"") == text.npos;
}

/// The load, from the summary beside a file of requests if there is one.
ForeignLoad aiperf_load(const fs::path& file) {
    for (const std::string_view ending : kSummaries) {
        const fs::path beside = with_ending(file, kRequests, ending);
        std::error_code error;
        if (beside.empty() || !fs::is_regular_file(beside, error)) continue;
        const std::string text = read_file(beside);
        if (is_aiperf_summary(text)) return load_of_summary(foreign_json(text, beside.string()));
    }
    return {.tool = "AIPerf"};
}

/// The factor from a block's unit to seconds or tokens, or per second.
double scale_of_block(const Json& block, const std::string& where) {
    const std::string unit = text_in(block, {"unit"});
    if (unit == "tokens" || unit == "requests" || unit.find('/') != unit.npos) return 1;
    return seconds_per(unit, where);
}

ForeignRun aiperf_summary(const Json& summary, const std::string& where) {
    const std::string schema = text_in(summary, {"schema_version"});
    if (!schema.empty() && !schema.starts_with("1."))
        refuse_foreign(where,
                       fmt::format("schema_version {} of AIPerf is not known; 1.0 to 1.5 are read", schema));
    ForeignLoad load = load_of_summary(summary);
    Reported reported{.by = load.tool.substr(0, load.tool.find(' '))};
    const auto ok = count_in(summary, {"request_count", "avg"});
    const std::int64_t failed = count_in(summary, {"error_request_count", "avg"}).value_or(0);
    if (ok) {
        reported.requests = *ok + failed;
        reported.failed = failed;  // the file has this count only if there were failures
        load.requests = *reported.requests;
    }
    for (const auto& [name, key] :
         {std::pair{"time_to_first_token", "ttft_{}_s"}, std::pair{"inter_token_latency", "itl_{}_s"},
          std::pair{"inter_chunk_latency", "icl_{}_s"}, std::pair{"request_latency", "e2e_{}_s"},
          std::pair{"input_sequence_length", "isl_{}_tokens"},
          std::pair{"output_sequence_length", "osl_{}_tokens"}}) {
        const Json& block = at_path(summary, {name});
        if (!block.is_object()) continue;
        const std::string_view form = key;
        add_statistics(reported, form.substr(0, form.find('_')), form.substr(form.rfind('_') + 1), block,
                       scale_of_block(block, where));
    }
    for (const auto& [name, key] : {std::pair{"request_throughput", "requests_per_s"},
                                    std::pair{"output_token_throughput", "output_tokens_per_s"},
                                    std::pair{"total_token_throughput", "total_tokens_per_s"}})
        add_figure(reported, key, number_in(summary, {name, "avg"}));
    if (const Json& duration = at_path(summary, {"benchmark_duration"}); duration.is_object())
        add_figure(reported, "duration_s", number_in(duration, {"avg"}), scale_of_block(duration, where));
    load.started_at = utc_of_iso(text_in(summary, {"start_time"}));
    return summary_run(std::move(load), std::move(reported), where);
}

}  // namespace

bool is_aiperf(std::string_view text) {
    const bool has_requests =
        text.find("\"request_start_ns\"") != text.npos && text.find("\"metrics\"") != text.npos;
    return text.starts_with('{') && (has_requests || is_aiperf_summary(text));
}

// A phase has a directory of its own below "phases", beside the files of the whole run.
bool aiperf_repeats(const fs::path& file) {
    std::error_code error;
    const fs::path phases = file.parent_path().parent_path();
    if (phases.filename() == "phases" && fs::exists(phases.parent_path() / file.filename(), error))
        return true;
    for (const std::string_view ending : kSummaries) {
        const fs::path beside = with_ending(file, ending, kRequests);
        if (!beside.empty() && fs::is_regular_file(beside, error) && !holds_summary(beside)) return true;
    }
    return false;
}

std::vector<ForeignRun> aiperf_runs(const fs::path& file) {
    std::vector<ForeignRun> runs;
    if (holds_summary(file)) {
        runs.push_back(aiperf_summary(foreign_json(read_file(file), file.string()), file.string()));
        return runs;
    }
    double began = std::numeric_limits<double>::infinity();
    bool knows_chunks = true;
    bool counts_by_usage = true;
    std::set<std::size_t> ids;  // hashes, because there may be many
    for_each_request_line(file, [&](const Json& line, const std::string& where) {
        const std::string id = text_in(line, {"metadata", "x_request_id"});
        if (!id.empty() && !ids.insert(std::hash<std::string>()(id)).second)
            refuse_foreign(where,
                           fmt::format("the request {} is in the file twice; leave one of them out", id));
        counts_by_usage =
            counts_by_usage && (!at_path(line, {"metrics", "output_sequence_length"}).is_object() ||
                                at_path(line, {"metrics", "usage_completion_tokens"}).is_object());
        began = std::min(began, epoch_s(at_path(line, {"metadata"}), "request_start_ns", where));
        knows_chunks = knows_chunks && (!at_path(line, {"metrics", "time_to_first_token"}).is_object() ||
                                        at_path(line, {"metrics", "inter_chunk_latency"}).is_object());
    });
    if (!(began < std::numeric_limits<double>::infinity()))
        refuse_foreign(file.string(), "it holds no request");
    ForeignLoad load = aiperf_load(file);
    load.started_at = utc_of_epoch(began);
    load.length_source = counts_by_usage ? "usage" : "AIPerf's tokenizer";
    ForeignRun run{.name = load_name(load),
                   .begun = begun_of(load, {Fact::server_counters}),
                   .interrupted = load.interrupted};
    if (!knows_chunks) run.begun.unknown_facts.push_back(Fact::event_times);
    run.for_each_request = [file, began](const auto& visit) {
        std::uint64_t index = 0;
        for_each_request_line(file, [&](const Json& line, const std::string& where) {
            visit(record_of(index++, aiperf_request(line, began, where)));
        });
    };
    runs.push_back(std::move(run));
    return runs;
}

}  // namespace paretoken::reports
