// GuideLLM's benchmarks.json. Each benchmark in it is a run at another load. It has no times of single
// tokens.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

/// The kinds of requests, as the file groups them. Incomplete ones were cut off at the end of the level.
constexpr const char* kKinds[] = {"successful", "errored", "incomplete"};

/// A time of a request. Versions before 0.4 have other names for them, beside the request's other values.
const Json& guidellm_time(const Json& request, const char* name, const char* before) {
    const Json& now = at_path(request, {"info", "timings", name});
    return now.is_null() ? at_path(request, {before}) : now;
}

const Json& guidellm_start_of(const Json& request) {
    return guidellm_time(request, "request_start", "start_time");
}

double guidellm_start(const Json& request, const std::string& where) {
    return required_time(guidellm_start_of(request), "request_start", where);
}

/// A count under its name, or under that of versions before 0.4.
std::optional<std::int64_t> guidellm_count(const Json& request, const char* block, const char* before) {
    const auto now = count_in(request, {block, "total_tokens"});
    return now ? now : count_in(request, {before});
}

ForeignRequest guidellm_request(const Json& json, std::string_view kind, double began,
                                const std::string& where) {
    const double start = guidellm_start(json, where);
    const auto since = [&](const char* key, const char* before) -> std::optional<double> {
        const auto at = number_in(guidellm_time(json, key, before));
        return at ? std::optional(*at - start) : std::nullopt;
    };
    ForeignRequest request;
    request.sent_s = start - began;
    if (const auto due = number_in(json, {"info", "timings", "targeted_start"}))
        request.scheduled_s = *due - began;
    request.first_s = since("first_token_iteration", "first_token_time");
    request.last_s = since("last_token_iteration", "last_token_time");
    request.latency_s = since("request_end", "end_time");
    request.input_tokens = guidellm_count(json, "input_metrics", "prompt_tokens");
    request.cached_tokens = count_in(json, {"input_metrics", "cached_tokens"});
    request.output_tokens = guidellm_count(json, "output_metrics", "output_tokens");
    request.failed = kind == "errored";
    request.cancelled = kind == "incomplete";
    if (request.failed) {
        request.error = text_in(json, {"info", "error"});
        if (request.error.empty()) request.error = "the request failed; the file does not tell why";
    }
    return request;
}

ForeignLoad guidellm_load(const Json& file, const Json& benchmark) {
    const std::string version = text_in(file, {"metadata", "guidellm_version"});
    ForeignLoad load{.tool = fmt::format("GuideLLM{}{}", version.empty() ? "" : " ", version)};
    const char* const settings = benchmark.contains("config") ? "config" : "args";
    const Json& strategy = at_path(benchmark, {settings, "strategy"});
    const std::string type = text_in(strategy, {"type_"});
    load.started_at = utc_of_epoch(number_in(benchmark, {"start_time"}).value_or(0));
    if (type == "synchronous") {
        load.concurrency = 1;
    } else if (type == "concurrent" || type == "throughput") {
        load.concurrency = count_in(strategy, {"streams"});
        if (!load.concurrency) load.concurrency = count_in(strategy, {"max_concurrency"});
        load.all_at_once = type == "throughput";
    } else {
        load.request_rate = number_in(strategy, {"rate"});
        load.concurrency = count_in(strategy, {"max_concurrency"});
        if (load.request_rate && (type == "constant" || type == "poisson"))
            load.arrivals = fmt::format("{}:rate={:g}", type, *load.request_rate);
    }
    const Json& requests = at_path(benchmark, {"requests", "successful"});
    if (requests.is_array() && !requests.empty()) {
        const Json arguments = Json::parse(text_in(requests[0], {"request_args"}), nullptr, false);
        load.model = text_in(arguments, {"body", "model"});
    }
    if (load.model.empty()) load.model = text_in(benchmark, {settings, "backend", "model"});
    if (load.model.empty()) load.model = text_in(benchmark, {"worker", "backend_model"});
    return load;
}

/// Whether a level has a request that was sent; one without has no times.
bool has_requests(const Json& benchmark) {
    for (const char* const kind : kKinds)
        for (const Json& request : at_path(benchmark, {"requests", kind}))
            if (number_in(guidellm_start_of(request))) return true;
    return false;
}

ForeignRun guidellm_run(const Json& file, const Json& benchmark, const std::string& where) {
    const auto groups = std::make_shared<const Json>(at_path(benchmark, {"requests"}));
    ForeignLoad load = guidellm_load(file, benchmark);
    load = with_real_limits(std::move(load));
    ForeignRun run{.name = load_name(load),
                   .begun = begun_of(load, {Fact::event_times, Fact::server_counters})};
    run.for_each_request = [groups, where](const auto& visit) {
        std::vector<std::pair<std::string_view, const Json*>> all;
        for (const char* const kind : kKinds)
            for (const Json& request : at_path(*groups, {kind}))
                if (number_in(guidellm_start_of(request))) all.emplace_back(kind, &request);
        std::ranges::sort(all, [&](const auto& a, const auto& b) {
            return guidellm_start(*a.second, where) < guidellm_start(*b.second, where);
        });
        const double began = guidellm_start(*all.front().second, where);
        for (std::size_t i = 0; i < all.size(); ++i)
            visit(record_of(i, guidellm_request(*all[i].second, all[i].first, began, where)));
    };
    return run;
}

}  // namespace

bool is_guidellm(std::string_view text) {
    return text.starts_with('{') && (text.find("\"guidellm_version\"") != text.npos ||
                                     text.find("\"generative_benchmark\"") != text.npos);
}

std::vector<ForeignRun> guidellm_runs(const std::filesystem::path& file) {
    const std::string where = file.string();
    const Json json = foreign_json(read_file(file), where);
    if (const Json& version = at_path(json, {"metadata", "version"});
        !version.is_null() && version != 1 && version != 2)
        refuse_foreign(where, fmt::format("version {} of GuideLLM's files is not known; 1 and 2 are read",
                                          version.dump()));
    const Json& benchmarks = at_path(json, {"benchmarks"});
    if (!benchmarks.is_array() || benchmarks.empty()) refuse_foreign(where, "it holds no benchmark");
    std::vector<ForeignRun> runs;
    std::string left_out;  // levels without a request, by their names
    for (const Json& benchmark : benchmarks) {
        if (!at_path(benchmark, {"requests"}).is_object())
            refuse_foreign(where, "a benchmark has no \"requests\"");
        if (has_requests(benchmark))
            runs.push_back(guidellm_run(json, benchmark, where));
        else
            left_out +=
                (left_out.empty() ? "" : ", ") + load_name(with_real_limits(guidellm_load(json, benchmark)));
    }
    if (runs.empty()) refuse_foreign(where, "it holds no request that was sent");
    if (!left_out.empty())
        for (ForeignRun& run : runs)
            run.begun.provenance.metadata["levels_without_requests"] =
                fmt::format("{} of {}: {}", benchmarks.size() - runs.size(), benchmarks.size(), left_out);
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
