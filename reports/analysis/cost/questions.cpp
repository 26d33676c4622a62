#include "reports/analysis/cost/questions.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "reports/analysis/cost/formula.h"

namespace {

/// A number in words, for which a format states decimals.
struct Shown {
    double value;
};

}  // namespace

template <>
struct fmt::formatter<Shown> {
    std::optional<int> decimals = {};
    constexpr auto parse(format_parse_context& context) {
        auto at = context.begin();
        if (at != context.end() && *at != '}') decimals = *at++ - '0';
        return at;
    }
    auto format(const Shown& shown, format_context& context) const {
        if (!decimals || (shown.value > 0 && shown.value < std::pow(10.0, 1 - *decimals)))
            return fmt::format_to(context.out(), "{:.3g}", shown.value);
        return fmt::format_to(context.out(), "{:.{}f}", shown.value, *decimals);
    }
};

namespace paretoken::reports {
namespace {

using enum CostInput::Takes;
using Api = cards::ApiPrice;

constexpr CostInput kUsdPerHour{"usd_per_h", "Price of the whole deployment per hour"};
constexpr CostInput kRate{"tokens_per_s", "Tokens per second of the whole deployment", positive};
constexpr CostInput kHit{"hit", "Share of input tokens that come from a cache", share, 0};
constexpr CostInput kBase{
    "base", "Dollars per million input tokens that are not cached", amount, {}, [](const Api& api) {
        return std::optional(api.input);
    }};
constexpr CostInput kRead{
    "read", "Dollars per million tokens read from the cache", amount, {}, [](const Api& api) {
        return api.cache_read;
    }};
constexpr CostInput kWrite{
    "write", "Dollars per million tokens written to the cache", amount, {}, [](const Api& api) {
        return api.cache_write;
    }};

/// The sizes of a model's cache, for the question `kv`.
void add_kv(CostGiven& given) {
    given.numbers["kv_bytes"] = {cards::kv_bytes_per_token(*given.model)};
    given.numbers["sequence_bytes"] = {
        cards::kv_bytes_per_sequence(*given.model, given.numbers.at("context").value)};
}

}  // namespace

const std::vector<CostQuestion>& cost_questions() {
    // clang-format off: one line per input and formula
    static const std::vector<CostQuestion> kRows = {
        {"per-million",
         "Price of a million tokens from a price per hour",
         {kUsdPerHour, kRate},
         {{"usd_per_m", "usd_per_h / 3600 * 1e6 / tokens_per_s"}},
         {{"", "${usd_per_m:4} per million tokens"}}},
        {"break-even",
         "Tokens per second at which a million tokens costs a given price",
         {kUsdPerHour, {"target_usd_per_m", "Dollars per million tokens to reach", positive}},
         {{"rate", "usd_per_h / 3600 * 1e6 / target_usd_per_m"}},
         {{"", "{rate:1} tok/s"}}},
        {"split",
         "Prices of fresh input, cached input and output tokens that together cover the cost",
         {kUsdPerHour,
          {"tokens_per_s", "Input and output tokens per second together", positive},
          {"ratio", "Price of an output token ÷ price of a fresh input token", amount, 4},
          kHit,
          {"cached_ratio", "Price of a cached input token ÷ price of a fresh one", amount, .1},
          {"mix", "Ratio of input tokens to output tokens", ratio, 8}},
         {{"weight", "(mix * (1 - hit + cached_ratio * hit) + ratio) / (1 + mix)"},
          {"fresh", "usd_per_h / 3600 * 1e6 / (weight * tokens_per_s)"},
          {"cached", "cached_ratio * fresh"},
          {"output", "ratio * fresh"}},
         {{"", "fresh ${fresh:4}, cached ${cached:4}, output ${output:4} per million"}},
         {{"weight <= 0", "no token has a price: give a --ratio above 0"}}},
        {"kv",
         "Bytes of a model's KV cache per token and per sequence",
         {{"context", "Number of tokens of one sequence", amount, 4096}},
         {{"bytes_per_token", "kv_bytes"}, {"gib_per_sequence", "sequence_bytes / 1024^3"}},
         {{"", "{bytes_per_token:0} bytes per token, {gib_per_sequence:2} GiB per sequence of {context:0}"}},
         {},
         add_kv},
        {"decode-floor",
         "Shortest possible time of a decode step: bytes of the weights ÷ memory bandwidth",
         {{"billion_parameters", "Parameters that a step reads, in billions"},
          {"bits", "Bits of each parameter", positive, 16},
          {"gb_per_s", "Memory bandwidth of all GPUs", positive}},
         {{"step_ms", "billion_parameters * bits / 8 / gb_per_s * 1000"}},
         {{"", "{step_ms:1} ms per step"}}},
        {"speculation",
         "Tokens per pass and speed-up of speculative decoding",
         {{"drafts", "Number of tokens drafted per pass"},
          {"acceptance", "Probability that a draft is right", share},
          {"draft_cost", "Time of one drafted token ÷ time of a pass", amount, 0}},
         {{"tokens_per_pass",
           "if(acceptance < 1, (1 - acceptance^(drafts + 1)) / (1 - acceptance), drafts + 1)"},
          {"speedup", "tokens_per_pass / (drafts * draft_cost + 1)"}},
         {{"speedup > 1", "{tokens_per_pass:4} tokens per pass, {speedup:3} times as fast"},
          {"", "{tokens_per_pass:4} tokens per pass, {speedup:3} times as fast",
           "speculation does not pay"}}},
        {"prompt-cache",
         "Number of requests from which caching their common prompt is cheaper",
         {kWrite, kRead, kBase},
         {{"requests", "(write - read) / (base - read)"}, {"paying", "max(1, ceil(requests))"}},
         {{"requests > 0", "break-even at {requests:4} requests", "caching pays from {paying:0} requests on"},
          {"", "no break-even",
           "a write costs no more than a read, so that caching pays from 1 requests on"}},
         {{"read >= base", "--read must be below --base: such a cache never pays"}}},
        {"shared-prefix",
         "A day's bill for a prefix that many requests share, with and without a cache",
         {{"requests", "Requests per day that begin with the prefix"},
          {"tokens", "Tokens of the prefix"},
          kWrite,
          kRead,
          kBase,
          {"ttl_s", "Seconds that the cache keeps the prefix; 3600 with an hour's writes", positive, 300}},
         {{"without", "requests * tokens * base / 1e6"},
          {"writes", "min(requests, ceil(86400 / ttl_s))"},
          {"one_write", "(write + (requests - 1) * read) * tokens / 1e6"},
          {"most_writes", "(writes * write + (requests - writes) * read) * tokens / 1e6"}},
         {{"",
           "${without:2} a day without the cache, ${one_write:4} with one write, ${most_writes:4} with "
           "{writes:0} writes"}},
         {{"requests < 1", "--requests must be at least 1"}}},
        {"hit-rate",
         "Cache hit rate computed from the token counts that an API reports",
         {{"fresh", "Input tokens that were neither read from the cache nor written to it"},
          {"writes", "Input tokens written to the cache"},
          {"reads", "Input tokens read from the cache"}},
         {{"percent", "100 * reads / (fresh + writes + reads)"}},
         {{"", "{percent:1} %"}},
         {{"fresh + writes + reads <= 0", "--fresh + --writes + --reads must be above 0"}}},
        {"cascade",
         "Mean price if a share of the requests is passed on to a more expensive model",
         {{"cheap", "Price of the cheap model"},
          {"dear", "Price of the expensive model"},
          {"escalated", "Share of requests that are passed on to the expensive model", share},
          {"pays_both", "The cheap model answers the escalated requests first, and is paid for them", flag,
           0}},
         {{"usd", "(1 - escalated * (1 - pays_both)) * cheap + escalated * dear"},
          {"times_cheaper", "dear / usd"}},
         {{"", "${usd:2}, {times_cheaper:3} times cheaper"}},
         {{"usd <= 0", "the price must be above 0"}}},
        {"capacity",
         "Number of GPUs for a request rate if each serves one request at a time (Little's law)",
         {{"requests_per_s", "Requests per second"},
          {"input", "Input tokens of each request"},
          {"output", "Output tokens of each request"},
          kHit,
          {"prefill_ms_per_1k", "Time of the prefill of 1000 tokens in ms"},
          {"ms_per_token", "Time of one output token in ms"},
          {"headroom", "Factor by which the requests in flight are multiplied as a reserve", amount, 1.2}},
         {{"s_per_request", "(input * (1 - hit) / 1000 * prefill_ms_per_1k + output * ms_per_token) / 1000"},
          {"in_flight", "requests_per_s * s_per_request"},
          {"reserved", "in_flight * headroom"},
          {"gpus", "ceil(reserved)"}},
         {{"",
           "{s_per_request:2} s per request, {in_flight:1} in flight, {reserved:2} with headroom, {gpus:0} "
           "GPUs of one stream"}},
         {{"reserved > 1e15", "more than 1e15 requests would be in flight; check the numbers"}}},
        {"self-host",
         "Number of tokens per month from which a deployment is cheaper than an API",
         {{"usd_per_month", "Price of the whole deployment per month of 720 h"},
          {"api_usd_per_m", "The API's dollars per million tokens", positive},
          {"tokens_per_s", "Tokens per second that the deployment can generate"}},
         {{"billion_tokens", "usd_per_month / api_usd_per_m / 1000"},
          {"needed", "billion_tokens * 1e9 / (720 * 3600)"}},
         {{"needed <= tokens_per_s",
           "{billion_tokens} billion tokens per month, {needed:0} tok/s around the clock"},
          {"", "never",
           "this takes {needed:0} tok/s around the clock, but the deployment generates at most "
           "{tokens_per_s:0}"}}},
        {"energy",
         "Energy per token and its price",
         {{"watts", "Power of the whole deployment in watts"},
          kRate,
          {"usd_per_kwh", "Price of a kWh in dollars", amount, .1}},
         {{"j_per_token", "watts / tokens_per_s"}, {"usd_per_m", "j_per_token * 1e6 / 3.6e6 * usd_per_kwh"}},
         {{"", "{j_per_token:2} J per token, ${usd_per_m:4} per million tokens"}}},
    };
    // clang-format on
    return kRows;
}

std::string CostInput::option() const {
    std::string text = fmt::format("--{}", name);
    std::ranges::replace(text, '_', '-');
    return text;
}

std::string CostAnswer::text() const {
    return result + (result.empty() || verdict.empty() ? "" : ": ") + verdict;
}

CostAnswer answer_of(const CostQuestion& question, CostGiven given) {
    CostAnswer answer;
    for (const CostInput& input : question.inputs) {
        if (!given.numbers.contains(input.name) && !input.otherwise)
            throw UsageError(fmt::format("{} is required; see --help", input.option()));
        const auto& [value, source] =
            given.numbers.try_emplace(input.name, CostValue{input.otherwise.value_or(0), "default"})
                .first->second;
        if (input.takes == positive && !(value > 0))
            throw UsageError(fmt::format("{} must be above 0", input.option()));
        if (input.takes == share && value > 1)
            throw UsageError(fmt::format("{} is a share: at most 1", input.option()));
        answer.inputs[input.name] = {value, source};
    }
    if (question.of_model != nullptr) question.of_model(given);
    std::map<std::string, double> names;
    for (const auto& [name, number] : given.numbers) names[name] = number.value;
    for (const auto& [figure, formula] : question.formulas)
        names[figure] = answer.figures[figure] = value_of(formula, names);
    const auto holds = [&](const CostQuestion::Words& words) {
        return *words.condition == '\0' || value_of(words.condition, names) != 0;
    };
    for (const CostQuestion::Words& refusal : question.refusals)
        if (holds(refusal)) throw UsageError(refusal.result);
    fmt::dynamic_format_arg_store<fmt::format_context> shown;
    for (const auto& [name, value] : names) shown.push_back(fmt::arg(name.c_str(), Shown{value}));
    const auto words = std::ranges::find_if(question.words, holds);
    answer.result = fmt::vformat(words->result, shown);
    answer.verdict = fmt::vformat(words->verdict, shown);
    return answer;
}

}  // namespace paretoken::reports
