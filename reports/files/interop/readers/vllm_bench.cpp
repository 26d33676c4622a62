// vLLM's `bench serve --save-result`. With --save-detailed, the file has arrays with a value per request, in
// the order in which the requests were sent. Failed requests are in them with an output length of 0. Without,
// only its summary is known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
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

/// The times of the chunks of request i, since it was sent.
std::vector<double> vllm_chunks(const Json& result, std::size_t i, const std::string& where) {
    std::vector<double> chunks;
    const auto first = number_in(result["ttfts"][i]);
    if (!first || *first <= 0) return chunks;
    chunks.push_back(*first);
    add_gaps(chunks, result["itls"][i], where);
    return chunks;
}

/// The value of request i in the array `key`; null if there is none.
const Json& element(const Json& result, const char* key, std::size_t i) {
    static const Json kNone;
    const auto found = result.find(key);
    return found == result.end() || !found->is_array() || i >= found->size() ? kNone : (*found)[i];
}

ForeignRequest vllm_request(const Json& result, std::size_t i, double began, bool closed_loop,
                            const std::string& where) {
    ForeignRequest request;
    if (const auto start = number_in(element(result, "start_times", i))) {
        // A closed loop's request waits for a slot on purpose; that of an open loop was due before it waited.
        const double waited = closed_loop ? 0 : number_in(element(result, "queue_times", i)).value_or(0);
        request.sent_s = *start - began;
        request.scheduled_s = request.sent_s - waited;
        request.slot_wait_s = waited;  // the file has no other delay of sending
    }
    request.chunks_s = vllm_chunks(result, i, where);
    request.latency_s = number_in(element(result, "latencies", i));
    request.input_tokens = listed_count(element(result, "input_lens", i), "input_lens", where);
    const std::int64_t output =
        listed_count(element(result, "output_lens", i), "output_lens", where).value_or(0);
    request.error = text_in(element(result, "errors", i));
    request.failed =
        !request.error.empty() ||
        (output <= 0 && (request.latency_s ? *request.latency_s <= 0 : request.chunks_s.empty()));
    if (request.failed) {
        request.latency_s.reset();
        if (request.error.empty()) request.error = "the request failed; the file does not tell why";
    } else {
        request.output_tokens = output;
    }
    return request;
}

/// The keys that are not settings of the server, which --metadata and `vllm bench sweep` add.
constexpr std::string_view kOwnKeys =
    " date endpoint_type backend label model_id tokenizer_id num_prompts request_rate burstiness "
    "max_concurrency duration completed failed total_input_tokens total_output_tokens "
    "request_throughput request_goodput output_throughput total_token_throughput "
    "max_output_tokens_per_s max_concurrent_requests rtfx run_number gpu tool ramp_up_strategy "
    "ramp_up_start_rps ramp_up_end_rps spec_decode_num_drafts spec_decode_draft_tokens "
    "spec_decode_accepted_tokens ";

/// Sets a rate that rises with the number of requests (--ramp-up-strategy), which the file has beside a rate
/// of "inf". Returns false if there is none.
bool set_ramp(const Json& result, ForeignLoad& load) {
    const auto from = number_in(result, {"ramp_up_start_rps"});
    const auto to = number_in(result, {"ramp_up_end_rps"});
    if (!from || !to || !(*from > 0) || !(*to > 0)) return false;
    const bool exponential = text_in(result, {"ramp_up_strategy"}) == "exponential";
    load.arrivals =
        fmt::format("ramp:from={:g},{}to={:g}", *from, exponential ? "strategy=exponential," : "", *to);
    load.stationary = *from == *to;
    const double growth = std::log(*to / *from);
    load.request_rate = load.stationary ? *from  // the mean over time
                        : exponential   ? *from * growth / (1 - *from / *to)
                                        : (*to - *from) / growth;
    return true;
}

/// The load, without the details of requests.
ForeignLoad vllm_load(const Json& result) {
    ForeignLoad load{.tool = "vLLM bench serve",
                     .model = text_in(result, {"model_id"}),
                     .requests = static_cast<std::uint64_t>(count_in(result, {"num_prompts"}).value_or(0))};
    load.server_kind = text_in(result, {"backend"}).starts_with("vllm") ? "vllm" : "";
    load.endpoint = text_in(result, {"endpoint_type"});
    load.started_at = utc_of_vllm_date(text_in(result, {"date"}));
    load.concurrency = count_in(result, {"max_concurrency"});
    load.request_rate = number_in(result, {"request_rate"});
    load.burstiness = number_in(result, {"burstiness"});
    load.all_at_once = !set_ramp(result, load) && result.contains("request_rate");
    load.hardware = text_in(result, {"gpu"});
    load.metadata = other_values_in(result, kOwnKeys);
    return with_real_limits(std::move(load));
}

ForeignRun vllm_summary(const Json& result, const std::string& where) {
    Reported reported{.by = "vLLM bench"};
    add_statistics_in_ms(reported, result);
    if (reported.figures.empty() || result.contains("total_input_sequences"))
        refuse_foreign(
            where,
            "it has neither times of single requests nor a summary of them (results of pooling models "
            "are not read); repeat the benchmark with --save-result --save-detailed");
    const auto completed = count_in(result, {"completed"});
    const auto sent = count_in(result, {"num_prompts"});
    if (const auto failed = count_in(result, {"failed"}))
        reported.failed = *failed;
    else if (sent && completed && *sent >= *completed)  // of a version that does not write the failures
        reported.failed = *sent - *completed;
    if (completed) reported.requests = *completed + reported.failed.value_or(0);
    add_figure(reported, "requests_per_s", number_in(result, {"request_throughput"}));
    add_figure(reported, "output_tokens_per_s", number_in(result, {"output_throughput"}));
    add_figure(reported, "total_tokens_per_s", number_in(result, {"total_token_throughput"}));
    add_figure(reported, "duration_s", number_in(result, {"duration"}));
    if (completed && *completed > 0) {
        const double each = 1 / static_cast<double>(*completed);
        add_figure(reported, "isl_mean_tokens", number_in(result, {"total_input_tokens"}), each);
        add_figure(reported, "osl_mean_tokens", number_in(result, {"total_output_tokens"}), each);
    }
    return summary_run(vllm_load(result), std::move(reported), where);
}

constexpr std::array kLists = {"output_lens", "ttfts", "itls", "start_times"};

/// Refuses lists of different lengths, and a number of failures that is not theirs. Older versions write no
/// "start_times".
void check_arrays(const Json& result, const std::string& where) {
    for (const char* const key : kLists) {
        if (!result.contains(key)) continue;
        const Json& array = result[key];
        if (!array.is_array())
            refuse_foreign(where, fmt::format("\"{}\" is no list; the file is damaged", key));
        if (array.size() != at_path(result, {"output_lens"}).size())
            refuse_foreign(
                where, fmt::format("\"{}\" has {} values and \"output_lens\" {}; the file is damaged", key,
                                   array.size(), at_path(result, {"output_lens"}).size()));
    }
    if (result["output_lens"].empty()) refuse_foreign(where, "it holds no request");
    std::int64_t failed = 0;
    std::int64_t perhaps = 0;  // with an error and output, or, as a stream that broke off, with neither
    const auto held = static_cast<std::int64_t>(result["output_lens"].size());
    for (std::int64_t i = 0; i < held; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const ForeignRequest request = vllm_request(result, at, 0, true, where);
        const bool has_output = count_in(element(result, "output_lens", at)).value_or(0) > 0;
        (request.failed && !has_output ? failed : perhaps) += request.failed || !has_output ? 1 : 0;
    }
    const auto told = count_in(result, {"failed"});
    if (told && (*told < failed || *told > failed + perhaps))
        refuse_foreign(
            where, fmt::format("\"failed\" is {}, and {} of its requests failed; the file is damaged", *told,
                               failed));
    const auto completed = count_in(result, {"completed"});
    if (told && completed && *told + *completed != held)
        refuse_foreign(
            where, fmt::format("\"completed\" is {} and \"failed\" {} of {} requests; the file is damaged",
                               *completed, *told, held));
}

ForeignRun vllm_run(Json json, const std::string& where) {
    if (!json.contains("output_lens") || !json.contains("ttfts") || !json.contains("itls"))
        return vllm_summary(json, where);
    check_arrays(json, where);
    const std::size_t held = json["output_lens"].size();
    const ForeignLoad load = vllm_load(json);
    if (!json.contains("start_times")) {
        std::vector<ForeignRequest> requests;
        for (std::size_t i = 0; i < held; ++i) requests.push_back(vllm_request(json, i, 0, true, where));
        return run_without_starts(load, {Fact::cached_tokens, Fact::server_counters}, std::move(requests),
                                  number_in(json, {"duration"}), where);
    }
    const auto result = std::make_shared<const Json>(std::move(json));
    ForeignRun run{.name = load_name(load),
                   .begun = begun_of(load, {Fact::cached_tokens, Fact::server_counters})};
    const bool closed = !load.request_rate;
    run.for_each_request = [result, held, closed, where](const auto& visit) {
        double began = 0;
        for (std::size_t i = 0; i < held; ++i) {
            const double start = required_time((*result)["start_times"][i], "start_times", where);
            began = i == 0 ? start : std::min(began, start);
        }
        for (std::size_t i = 0; i < held; ++i)
            visit(record_of(i, vllm_request(*result, i, began, closed, where)));
    };
    return run;
}

}  // namespace

bool is_vllm_bench(std::string_view text) {
    return text.starts_with('{') && text.find("\"request_throughput\"") != text.npos &&
           text.find("\"model_id\"") != text.npos && text.find("\"completed\"") != text.npos;
}

bool vllm_bench_repeats(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name == "warmup.json" || name.ends_with(".failure.json");
}

std::vector<ForeignRun> vllm_bench_runs(const std::filesystem::path& file) {
    std::vector<ForeignRun> runs;
    for_each_foreign_object(read_file(file), file.string(), [&](Json json, const std::string& where) {
        // Runs of a sweep are numbered; the warm-up has the number -1.
        if (number_in(json, {"run_number"}).value_or(0) >= 0)
            runs.push_back(vllm_run(std::move(json), where));
    });
    if (runs.empty()) refuse_foreign(file.string(), "it holds no run besides a warm-up");
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
