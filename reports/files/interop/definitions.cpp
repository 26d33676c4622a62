#include "reports/files/interop/definitions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "reports/document/table.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kFirstText = "from sending to the first chunk with text";
constexpr std::string_view kSuccesses =
    "It takes the requests of the whole run that succeeded, and leaves failures out. Ours are of the steady "
    "window, and a failed request counts as infinitely slow.";
constexpr std::string_view kRate =
    "its time runs from the first sending to the last answer, with the start and the end of the load; ours "
    "is the steady window";
constexpr std::string_view kMeanOfRequest =
    "it is the mean of one request, so that single long gaps do not show; ours has every gap";
constexpr std::string_view kChunkGaps =
    "it has the gaps of chunks; ours spreads a gap over the tokens that the chunk brought, and leaves out "
    "chunks that came in one read with the one before";
constexpr std::string_view kFirstGroup =
    "it divides by all tokens but one; ours leaves out every token that came with the first read";

ForeignQuantity ttft_of_text() {
    return {"ttft", "TTFT", kFirstText, ""};
}
ForeignQuantity output_rate(std::string_view word) {
    return {"output_tokens_per_s", word, "output tokens of the requests that succeeded, divided by the time",
            kRate};
}
ForeignQuantity request_rate(std::string_view word) {
    return {"requests_per_s", word, "requests that succeeded, divided by the time", kRate};
}

}  // namespace

const std::vector<ForeignDefinitions>& foreign_definitions() {
    static const std::vector<ForeignDefinitions> all = {
        {"vllm",
         "vLLM bench serve",
         {{"ttft", "TTFT", "from sending to the first chunk with `choices`",
           "a first chunk that has only a role counts; ours waits for text"},
          {"itl", "ITL", "gaps between chunks, pooled over all requests", kChunkGaps},
          {"tpot", "TPOT", "(E2E − TTFT) ÷ (tokens − 1) of each request", kFirstGroup},
          {"e2e", "E2EL", "from sending to the last chunk with `choices`",
           "a chunk that only ends the answer counts"},
          output_rate("output_throughput"),
          request_rate("request_throughput")},
         kSuccesses},
        {"sglang",
         "SGLang bench_serving",
         {ttft_of_text(),
          {"itl", "ITL", "gaps between chunks, pooled over all requests", kChunkGaps},
          {"tpot", "TPOT", "(E2E − TTFT) ÷ (tokens − 1) of each request", kFirstGroup},
          {"e2e", "E2E latency", "from sending to the end of the stream",
           "the lines after the last token count"},
          output_rate("output_throughput"),
          request_rate("request_throughput")},
         kSuccesses},
        {"aiperf",
         "AIPerf",
         {ttft_of_text(),
          {"itl", "inter_token_latency", "(request latency − TTFT) ÷ (tokens − 1) of each request",
           kMeanOfRequest},
          {"icl", "inter_chunk_latency", "gaps between chunks with text",
           "chunks that came in one read count"},
          {"e2e", "request_latency", "from sending to the last chunk with text", ""},
          output_rate("output_token_throughput"),
          request_rate("request_throughput")},
         kSuccesses},
        {"guidellm",
         "GuideLLM",
         {ttft_of_text(),
          {"itl", "inter_token_latency_ms",
           "(last − first token) ÷ (tokens − 1) of each request, weighted by tokens", kMeanOfRequest},
          {"tpot", "time_per_output_token_ms",
           "(last token − start) ÷ tokens of each request, weighted by tokens",
           "the time to the first token is in it, and it divides by all tokens"},
          {"e2e", "request_latency", "from sending to the end of the answer",
           "the end marker after the last token counts"},
          output_rate("output_tokens_per_second"),
          request_rate("requests_per_second")},
         "It takes the requests of the whole run that succeeded. Percentiles are by nearest rank, without "
         "interpolation. Ours are of the steady window, and a failed request counts as infinitely slow."},
        {"inference-perf",
         "inference-perf",
         {ttft_of_text(),
          {"itl", "inter_token_latency", "gaps of single tokens; the tokens of one chunk have gaps of 0",
           "the first token of a chunk has the whole gap and the others have 0; ours spreads the gap over "
           "them"},
          {"tpot", "time_per_output_token", "(last − first token) ÷ (tokens − 1) of each request",
           kFirstGroup},
          {"norm_latency", "normalized_time_per_output_token", "E2E ÷ tokens of each request",
           "in an open loop, ours begins when the request was due"},
          {"e2e", "request_latency", "from sending to the end of the answer",
           "the end marker after the last token counts"},
          output_rate("output_tokens_per_sec"),
          request_rate("requests_per_sec")},
         kSuccesses},
        {"llmperf",
         "llmperf",
         {ttft_of_text(),
          {"itl", "inter_token_latency_s", "E2E ÷ tokens of each request",
           "it is the mean of one request with the time to the first token in it"},
          {"e2e", "end_to_end_latency_s", "from sending to the last chunk", ""},
          output_rate("mean_output_throughput_token_per_s"),
          request_rate("num_completed_requests_per_min ÷ 60")},
         kSuccesses},
    };
    return all;
}

const ForeignDefinitions& definitions_named(std::string_view name) {
    std::vector<std::string_view> known;
    for (const ForeignDefinitions& one : foreign_definitions()) {
        if (one.name == name) return one;
        known.push_back(one.name);
    }
    throw UsageError(fmt::format("--definitions {}: expected one of {}", name, fmt::join(known, ", ")));
}

namespace {

/// A value, and how many times it counts.
struct Weighted {
    double value = 0;
    double weight = 1;
};
using Values = std::vector<Weighted>;

/// The times and tokens of a request that succeeded.
struct Timed {
    double ttft_s = 0;
    double last_s = 0;  ///< until the last output
    double end_s = 0;   ///< until the end marker
    double tokens = 0;
    const SentRequest* request = nullptr;
};

std::vector<Timed> timed_requests(const std::vector<SentRequest>& requests) {
    std::vector<Timed> all;
    for (const SentRequest& request : requests) {
        const RequestRecord& record = request.record;
        if (record.outcome != Outcome::ok || !record.first_event || !record.last_event) continue;
        Timed timed{.request = &request};
        timed.ttft_s = seconds(*record.first_event - *record.sent);
        timed.last_s = seconds(*record.last_event - *record.sent);
        timed.end_s = seconds(record.finished.value_or(*record.last_event) - *record.sent);
        timed.tokens = static_cast<double>(output_tokens_of(record));
        all.push_back(timed);
    }
    return all;
}

/// Adds the values of one request; a rule of a program for one quantity.
using Rule = std::function<void(const Timed&, Values&)>;

void add_per_token(const Timed& timed, double span_s, double tokens, double weight, Values& values) {
    if (timed.tokens > 0 && tokens > 0) values.push_back({span_s / tokens, weight});
}

void add_ttft(const Timed& timed, Values& values) {
    values.push_back({timed.ttft_s});
}
void add_last(const Timed& timed, Values& values) {
    values.push_back({timed.last_s});
}
void add_end(const Timed& timed, Values& values) {
    values.push_back({timed.end_s});
}
void add_gaps(const Timed& timed, Values& values) {
    for (const double gap : timed.request->gaps_s) values.push_back({gap});
}
/// (last − first) ÷ (tokens − 1)
void add_decode_mean(const Timed& timed, Values& values) {
    add_per_token(timed, timed.last_s - timed.ttft_s, timed.tokens - 1, 1, values);
}
void add_end_decode_mean(const Timed& timed, Values& values) {
    add_per_token(timed, timed.end_s - timed.ttft_s, timed.tokens - 1, 1, values);
}
void add_weighted_decode_mean(const Timed& timed, Values& values) {
    add_per_token(timed, timed.last_s - timed.ttft_s, timed.tokens - 1, timed.tokens - 1, values);
}
void add_weighted_mean_with_ttft(const Timed& timed, Values& values) {
    add_per_token(timed, timed.last_s, timed.tokens, timed.tokens, values);
}
void add_mean_with_ttft(const Timed& timed, Values& values) {
    add_per_token(timed, timed.last_s, timed.tokens, 1, values);
}
void add_end_mean(const Timed& timed, Values& values) {
    add_per_token(timed, timed.end_s, timed.tokens, 1, values);
}
/// Gaps of single tokens: the first token of a chunk has the gap, the others have 0.
void add_token_gaps(const Timed& timed, Values& values) {
    const std::vector<std::uint32_t>& tokens = timed.request->tokens;
    if (tokens.empty()) return;
    if (tokens[0] > 1) values.push_back({0, static_cast<double>(tokens[0] - 1)});
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens[i] == 0) continue;
        values.push_back({timed.request->gaps_s[i - 1]});
        if (tokens[i] > 1) values.push_back({0, static_cast<double>(tokens[i] - 1)});
    }
}

const std::map<std::pair<std::string_view, std::string_view>, Rule>& rules() {
    static const std::map<std::pair<std::string_view, std::string_view>, Rule> all = {
        {{"vllm", "itl"}, add_gaps},
        {{"vllm", "tpot"}, add_decode_mean},
        {{"vllm", "e2e"}, add_last},
        {{"sglang", "itl"}, add_gaps},
        {{"sglang", "tpot"}, add_end_decode_mean},
        {{"sglang", "e2e"}, add_end},
        {{"aiperf", "itl"}, add_decode_mean},
        {{"aiperf", "icl"}, add_gaps},
        {{"aiperf", "e2e"}, add_last},
        {{"guidellm", "itl"}, add_weighted_decode_mean},
        {{"guidellm", "tpot"}, add_weighted_mean_with_ttft},
        {{"guidellm", "e2e"}, add_end},
        {{"inference-perf", "itl"}, add_token_gaps},
        {{"inference-perf", "tpot"}, add_decode_mean},
        {{"inference-perf", "norm_latency"}, add_end_mean},
        {{"inference-perf", "e2e"}, add_end},
        {{"llmperf", "itl"}, add_mean_with_ttft},
        {{"llmperf", "e2e"}, add_last},
    };
    return all;
}

/// A percentile by linear interpolation (numpy's), where a value counts as many times as its weight, or by
/// nearest rank.
double weighted_percentile(const Values& sorted, double total, double p, bool nearest) {
    const double at = nearest ? p * total : p * (total - 1);
    const auto value_at = [&](double rank) {  // of the value number `rank` from 0
        double before = 0;
        for (const Weighted& one : sorted) {
            before += one.weight;
            if (rank < before) return one.value;
        }
        return sorted.back().value;
    };
    if (nearest) return value_at(std::max(0.0, std::ceil(at) - 1));
    const double low = std::floor(at);
    return value_at(low) + (at - low) * (value_at(low + 1) - value_at(low));
}

DefinedValues values_of(Values values, bool nearest) {
    if (values.empty()) return {};
    std::ranges::sort(values, {}, &Weighted::value);
    double total = 0;
    double sum = 0;
    for (const Weighted& one : values) {
        total += one.weight;
        sum += one.weight * one.value;
    }
    if (!(total > 0)) return {};
    return {.n = static_cast<std::uint64_t>(total),
            .mean = sum / total,
            .p50 = weighted_percentile(values, total, .5, nearest),
            .p99 = weighted_percentile(values, total, .99, nearest)};
}

/// Our statistics of a metric, or our figure as a mean.
DefinedValues our_values(const RunResult& result, std::string_view key) {
    if (figure_named(key) != nullptr) return {.mean = result.throughput.at(key)};
    const Metric* const known = metric_named(key);
    const MetricSummary* const metric = known == nullptr ? nullptr : result.metric(key_of(*known));
    if (metric == nullptr) return {};
    const auto at = [&](double p) {
        const PercentileValue* const held = metric->at(p);
        return held == nullptr ? std::nullopt : held->value;
    };
    return {.n = metric->n, .mean = metric->mean, .p50 = at(.5), .p99 = at(.99)};
}

DefinedValues their_values(const ForeignDefinitions& definitions, std::string_view key,
                           const std::vector<Timed>& requests, const Successes& successes) {
    if (key == "output_tokens_per_s" && !successes.knows_output) return {};
    if (key == "output_tokens_per_s")
        return {.n = requests.size(), .mean = sum_of(successes.output_tokens) / successes.per_s()};
    if (key == "requests_per_s")
        return {.n = requests.size(), .mean = static_cast<double>(successes.completed) / successes.per_s()};
    const auto found = rules().find({definitions.name, key});
    const Rule rule = found == rules().end() ? Rule(add_ttft) : found->second;
    Values values;
    for (const Timed& request : requests) rule(request, values);
    return values_of(std::move(values), definitions.name == "guidellm");
}

std::vector<std::string> notes_on_run(const RunResult& result, const std::vector<SentRequest>& requests) {
    std::vector<std::string> notes;
    std::uint64_t chunks = 0;
    std::uint64_t several = 0;
    for (const SentRequest& request : requests)
        for (const std::uint32_t tokens : request.tokens) {
            ++chunks;
            several += tokens > 1;
        }
    if (chunks > 0)
        notes.push_back(fmt::format("{} of {} chunks had several tokens.", several, chunks));
    else
        notes.emplace_back("The times of chunks were not kept (--events), so that their gaps are not known.");
    if (result.counts.failed > 0)
        notes.push_back(
            fmt::format("{} of {} requests failed.", result.counts.failed, result.counts.requests));
    notes.push_back(fmt::format("Our window is {:.3g} s of a run of {:.3g} s.",
                                result.window.end_s - result.window.begin_s, result.window.run_s));
    return notes;
}

}  // namespace

DefinedRun defined_run(const ExportedRun& run, const ForeignDefinitions& definitions) {
    const std::vector<SentRequest> requests = sent_requests(run.stored);
    const std::vector<Timed> timed = timed_requests(requests);
    const Successes successes = successes_of(requests, run.stored);
    DefinedRun defined{.definitions = &definitions, .notes = notes_on_run(run.result, requests)};
    for (const ForeignQuantity& quantity : definitions.quantities)
        defined.rows.push_back({.quantity = quantity,
                                .theirs = their_values(definitions, quantity.key, timed, successes),
                                .ours = our_values(run.result, quantity.key)});
    return defined;
}

std::string definitions_text(const DefinedRun& run) {
    Table table{{{"", Align::left},
                 {"", Align::left},
                 {"mean", Align::right},
                 {"p50", Align::right},
                 {"p99", Align::right}},
                {}};
    for (const DefinedRow& row : run.rows) {
        const bool is_rate = figure_named(row.quantity.key) != nullptr;
        const double scale = is_rate ? 1 : 1e3;
        const auto add = [&](const std::string& name, const std::string& whose, const DefinedValues& values) {
            table.rows.push_back({name, whose, significant(values.mean, scale, 4),
                                  is_rate ? "" : significant(values.p50, scale, 4),
                                  is_rate ? "" : significant(values.p99, scale, 4)});
        };
        add(fmt::format("{}{}", row.quantity.key, is_rate ? "" : ", ms"), "ours", row.ours);
        add("", std::string(row.quantity.word), row.theirs);
    }
    std::string text =
        fmt::format("By the definitions of {}, beside ours\n\n{}\n", run.definitions->title, text_of(table));
    for (const DefinedRow& row : run.rows)
        if (!row.quantity.why.empty())
            text +=
                paragraph(fmt::format("{}: {}; {}.", row.quantity.word, row.quantity.how, row.quantity.why));
    text += paragraph(std::string(run.definitions->population));
    for (const std::string& note : run.notes) text += paragraph(note);
    return text;
}

std::string definitions_json(const DefinedRun& run) {
    using Json = nlohmann::ordered_json;
    const auto json_of_values = [](const DefinedValues& values) {
        Json json{{"n", values.n}};
        if (values.mean) json["mean"] = *values.mean;
        if (values.p50) json["p50"] = *values.p50;
        if (values.p99) json["p99"] = *values.p99;
        return json;
    };
    Json json{{"definitions", run.definitions->name}, {"program", run.definitions->title}};
    json["rows"] = Json::array();
    for (const DefinedRow& row : run.rows)
        json["rows"].push_back({{"figure", row.quantity.key},
                                {"word", row.quantity.word},
                                {"how", row.quantity.how},
                                {"why", row.quantity.why},
                                {"ours", json_of_values(row.ours)},
                                {"theirs", json_of_values(row.theirs)}});
    json["population"] = run.definitions->population;
    json["notes"] = run.notes;
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
