// SGLang's bench_serving: one JSON object per line, to which repeated runs are appended. With
// --output-details, it holds the requests, but does not tell when they were sent. Without, only the summary
// is known.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

bool differ(double tokens, double of_texts) {
    constexpr double kMostApart = .05;
    return std::abs(tokens - of_texts) > kMostApart * of_texts;
}

/// Whether "output_lens" are the lengths that were asked for, as they are if the server sent no usage: they
/// then differ from the tokens of the texts.
bool holds_asked_lengths(const Json& result) {
    const auto counted = number_in(result, {"total_output_tokens"});
    const auto of_texts = number_in(result, {"total_output_tokens_retokenized"});
    return counted && of_texts && *of_texts > 0 && differ(*counted, *of_texts);
}

/// Whether requests without an error and without a first token succeeded: the file counts as many successes.
/// A server that sends all tokens at the end leaves these times at zero.
bool succeeded_without_times(const Json& result) {
    const Json& errors = at_path(result, {"errors"});
    if (!errors.is_array()) return false;
    const auto without_error =
        std::ranges::count_if(errors, [](const Json& error) { return text_in(error).empty(); });
    return count_in(result, {"completed"}) == static_cast<std::uint64_t>(without_error);
}

ForeignRequest sglang_request(const Json& result, std::size_t i, bool asked, bool without_times,
                              const std::string& where) {
    ForeignRequest request;
    if (const auto first = number_in(result["ttfts"][i]); first && *first > 0) {
        request.chunks_s.push_back(*first);
        add_gaps(request.chunks_s, result["itls"][i], where);
        request.latency_s = request.chunks_s.back();
    }
    if (const Json& lengths = at_path(result, {"input_lens"}); lengths.is_array() && i < lengths.size())
        request.input_tokens = listed_count(lengths[i], "input_lens", where);
    if (const Json& errors = at_path(result, {"errors"}); errors.is_array() && i < errors.size())
        request.error = text_in(errors[i]);
    request.failed = !request.error.empty() || (request.chunks_s.empty() && !without_times);
    if (request.failed && request.error.empty())
        request.error = "the request failed; the file does not tell why";
    const auto output = listed_count(result["output_lens"][i], "output_lens", where);
    if (!request.failed && !asked) request.output_tokens = output.value_or(0);
    return request;
}

ForeignLoad sglang_load(const Json& result) {
    return {.tool = "SGLang bench_serving",
            .model = text_in(result, {"server_info", "model_path"}),
            .server_kind = text_in(result, {"backend"}).starts_with("sglang") ? "sglang" : "",
            .concurrency = count_in(result, {"max_concurrency"}),
            .request_rate = number_in(result, {"request_rate"}),
            .all_at_once = result.contains("request_rate")};
}

ForeignRun sglang_summary(const Json& result, const std::string& where) {
    Reported reported{.by = "SGLang bench"};
    add_statistics_in_ms(reported, result);
    const auto output = number_in(result, {"total_output_tokens_retokenized"});
    const auto duration = number_in(result, {"duration"});
    const bool asked = holds_asked_lengths(result);
    const auto completed = count_in(result, {"completed"});
    if (completed) reported.requests = *completed;
    for (const auto& [theirs, ours] :
         {std::pair{"request_throughput", "requests_per_s"},
          std::pair{"input_throughput", "input_tokens_per_s"},
          std::pair{"output_throughput", "output_tokens_per_s"},
          std::pair{"total_throughput", "total_tokens_per_s"}, std::pair{"duration", "duration_s"}})
        add_figure(reported, ours, number_in(result, {theirs}));
    if (asked) {  // what follows from the lengths that were asked for is left out or computed anew
        std::erase_if(reported.figures, [](const auto& figure) {
            return figure.first.starts_with("tpot") || figure.first == "output_tokens_per_s" ||
                   figure.first == "total_tokens_per_s";
        });
        if (duration && *duration > 0) {
            add_figure(reported, "output_tokens_per_s", output, 1 / *duration);
            if (const auto input = number_in(result, {"total_input_tokens"}))
                add_figure(reported, "total_tokens_per_s", *output + *input, 1 / *duration);
        }
    }
    if (completed && *completed > 0) {
        const double each = 1 / static_cast<double>(*completed);
        add_figure(reported, "isl_mean_tokens", number_in(result, {"total_input_tokens"}), each);
        add_figure(reported, "osl_mean_tokens", asked ? output : number_in(result, {"total_output_tokens"}),
                   each);
    }
    return summary_run(sglang_load(result), std::move(reported), where);
}

ForeignRun sglang_run(const Json& result, const std::string& where) {
    if (!result.contains("ttfts") && !result.contains("itls")) return sglang_summary(result, where);
    for (const char* const key : {"output_lens", "ttfts", "itls"})
        if (!at_path(result, {key}).is_array() ||
            at_path(result, {key}).size() != at_path(result, {"output_lens"}).size())
            refuse_foreign(
                where, fmt::format("\"{}\" is missing or has another length than \"output_lens\"; repeat the "
                                   "benchmark with --output-details",
                                   key));
    const bool asked = holds_asked_lengths(result);
    const bool without_times = succeeded_without_times(result);
    std::vector<ForeignRequest> requests;
    double chunks = 0;
    for (std::size_t i = 0; i < result["output_lens"].size(); ++i) {
        requests.push_back(sglang_request(result, i, asked, without_times, where));
        if (!requests.back().failed) chunks += static_cast<double>(requests.back().chunks_s.size());
    }
    ForeignRun run = run_without_starts(sglang_load(result), {Fact::cached_tokens, Fact::server_counters},
                                        std::move(requests), number_in(result, {"duration"}), where);
    // Chunks are counted as tokens where the lengths are not those of the answers, unless chunks hold
    // several.
    if (asked && differ(chunks, *number_in(result, {"total_output_tokens_retokenized"})))
        run.begun.unknown_facts.push_back(Fact::output_tokens);
    return run;
}

}  // namespace

bool is_sglang_bench(std::string_view text) {
    return text.starts_with('{') && text.find("\"mean_e2e_latency_ms\"") != text.npos &&
           (text.find("\"total_throughput\"") != text.npos ||
            text.find("\"output_throughput\"") != text.npos);
}

std::vector<ForeignRun> sglang_bench_runs(const std::filesystem::path& file) {
    std::vector<ForeignRun> runs;
    for_each_foreign_object(read_file(file), file.string(), [&](const Json& json, const std::string& where) {
        runs.push_back(sglang_run(json, where));
    });
    number_equal_names(runs);
    return runs;
}

}  // namespace paretoken::reports
