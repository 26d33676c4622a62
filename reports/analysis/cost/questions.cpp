#include "reports/analysis/cost/questions.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/statistics.h"
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
using Numbers = std::map<std::string, CostValue>;
using Formula = CostQuestion::Formula;

// Inputs, formulas and words of several questions.
// clang-format off
constexpr CostInput kUsdPerHour{"usd_per_h", "Price of the whole deployment per hour"};
constexpr CostInput kRate{"tokens_per_s", "Tokens per second of the whole deployment", positive};
constexpr CostInput kHit{"hit", "Share of input tokens that come from a cache", share, 0};
constexpr CostInput kCachedRatio{"cached_ratio", "Price of a cached input token ÷ price of a fresh one", amount, .1,
                                 [](const Api& api, const Numbers&) {
                                     return std::optional(api.cache_read.value_or(api.input) / api.input);
                                 }};
constexpr CostInput kBase{"base", "Dollars per million input tokens that are not cached", amount, {},
                          [](const Api& api, const Numbers&) { return std::optional(api.input); }};
constexpr CostInput kRead{"read", "Dollars per million tokens read from the cache", amount, {},
                          [](const Api& api, const Numbers&) { return api.cache_read; }};
constexpr CostInput kWrite{"write", "Dollars per million tokens written to the cache", amount, {},
                           [](const Api& api, const Numbers& given) {
                               const auto ttl = given.find("ttl_s");
                               return ttl == given.end() ? api.cache_write
                                                         : cards::usd_per_m_written(api, ttl->second.value);
                           }};
constexpr CostInput kWrite1h{"write_1h", "Dollars per million tokens written for an hour", amount, {},
                             [](const Api& api, const Numbers&) { return api.cache_write_1h; }};
constexpr CostInput kParameters{"billion_parameters", "Parameters that a step reads, in billions", positive};
constexpr CostInput kBits{"bits", "Bits of each parameter", positive, 16};
constexpr CostInput kBandwidth{"gb_per_s", "Memory bandwidth of all GPUs", positive};
constexpr CostInput kTflops{"tflops", "Arithmetic of all GPUs in 10¹² FLOP per second", positive};
constexpr CostInput kDrafts{"drafts", "Number of tokens drafted per pass"};
constexpr CostInput kAcceptance{"acceptance", "Probability that a draft is right", share};
constexpr CostInput kDraftCost{"draft_cost", "Time of one drafted token ÷ time of a pass", amount, 0};
constexpr CostInput kInput{"input", "Input tokens of each request"};
constexpr CostInput kOutput{"output", "Output tokens of each request"};
constexpr CostInput kPrefill{"prefill_ms_per_1k", "Time of the prefill of 1000 tokens in ms"};
constexpr CostInput kPerToken{"ms_per_token", "Time of one output token in ms"};
constexpr CostInput kUsers{"users", "Users of the service", positive};
constexpr CostInput kConversations{"conversations", "Conversations of a user per day", positive};
constexpr CostInput kTurns{"turns", "Requests of a conversation, each with all before it", from_one, 1};
constexpr CostInput kAnswer{"answer", "Tokens of an answer", positive};
constexpr CostInput kRetries{"retries", "Share of the requests that are sent once more", amount, 0};
constexpr Formula kTokensPerPass{
    "tokens_per_pass", "if(acceptance < 1, (1 - acceptance^(drafts + 1)) / (1 - acceptance), drafts + 1)"};
constexpr Formula kPerMonth{"per_month", "users * conversations * 30 * (1 + retries)"};
constexpr Formula kOutputTokens{"output_tokens", "per_month * turns * answer"};
constexpr const char* kInputPerTurn = "system + message * (turns + 1) / 2 + answer * (turns - 1) / 2";
constexpr const char* kTtlPrices =
    "${usd_5m:4} per million tokens of the prefix with writes for 5 minutes, ${usd_1h:4} with writes for an hour, "
    "${base:4} without";
// clang-format on

/// The sizes of a model's cache, for the question `kv`.
void add_kv(CostGiven& given) {
    given.numbers["card_token_bytes"] = {cards::kv_bytes_per_token(*given.model)};
    given.numbers["card_sequence_bytes"] = {
        cards::kv_bytes_per_sequence(*given.model, given.numbers.at("context").value)};
}

/// The tail of the run's times, alone and with a second request after a delay, of which the first answer
/// counts. The times of both requests are taken to be independent (Dean and Barroso 2013).
void add_hedging(CostGiven& given) {
    std::vector<double>& times = given.latencies_s;
    constexpr std::size_t kLeast = 100;
    if (times.size() < kLeast)
        throw UsageError(
            fmt::format("--run: it has {} times to first token, and a p99 needs {}", times.size(), kLeast));
    std::ranges::sort(times);
    const double delay = percentile(times, given.numbers.at("after").value);
    const auto slower = [&](double t) {
        return static_cast<double>(times.end() - std::ranges::upper_bound(times, t)) /
               static_cast<double>(times.size());
    };
    const auto p99_ms = [&](const auto& slower_than) {
        double low = 0;
        double high = times.back();
        for (int i = 0; i < 60; ++i) {
            const double middle = (low + high) / 2;
            (slower_than(middle) > .01 ? low : high) = middle;
        }
        return 1e3 * high;
    };
    given.numbers["run_delay_ms"] = {1e3 * delay};
    given.numbers["run_more_percent"] = {100 * slower(delay)};
    given.numbers["run_p99_ms"] = {p99_ms(slower)};
    given.numbers["run_hedged_p99_ms"] = {
        p99_ms([&](double t) { return slower(t) * (t < delay ? 1 : slower(t - delay)); })};
}

}  // namespace

const std::vector<CostQuestion>& cost_questions() {
    // Name and help, inputs, formulas, words, refusals.
    // clang-format off
    static const std::vector<CostQuestion> rows = {
        {"per-million", "Price of a million output tokens from a price per hour",
         {kUsdPerHour, {"tokens_per_s", "Output tokens per second of the whole deployment", positive}},
         {{"usd_per_m", "usd_per_h / 3600 * 1e6 / tokens_per_s"}},
         {{"", "${usd_per_m:4} per million output tokens"}}},
        {"break-even", "Tokens per second at which a million tokens costs a given price",
         {kUsdPerHour, {"target_usd_per_m", "Dollars per million tokens to reach", positive}},
         {{"rate", "usd_per_h / 3600 * 1e6 / target_usd_per_m"}},
         {{"", "{rate:1} tok/s"}}},
        {"split", "Prices of fresh input, cached input and output tokens that together cover the cost",
         {kUsdPerHour, {"tokens_per_s", "Input and output tokens per second together", positive, {}, nullptr, "all_tokens_per_s"},
          {"ratio", "Price of an output token ÷ price of a fresh input token", amount, 4,
           [](const Api& api, const Numbers&) { return std::optional(api.output / api.input); }}, kHit, kCachedRatio,
          {"mix", "Ratio of input tokens to output tokens", ratio, 8}},
         {{"weight", "(mix * (1 - hit + cached_ratio * hit) + ratio) / (1 + mix)"},
          {"fresh", "usd_per_h / 3600 * 1e6 / (weight * tokens_per_s)"},
          {"cached", "cached_ratio * fresh"}, {"output", "ratio * fresh"}},
         {{"", "fresh ${fresh:4}, cached ${cached:4}, output ${output:4} per million"}},
         {{"weight <= 0", "no token has a price: give a --ratio above 0"}}},
        {"kv", "Bytes of a model's KV cache per token and per sequence",
         {{"context", "Number of tokens of one sequence", amount, 4096}},
         {{"bytes_per_token", "card_token_bytes"}, {"gib_per_sequence", "card_sequence_bytes / 1024^3"}},
         {{"", "{bytes_per_token:0} bytes per token, {gib_per_sequence:2} GiB per sequence of {context:0}"}},
         {}, add_kv},
        {"decode-floor", "Shortest possible time of a decode step: bytes of the weights ÷ memory bandwidth",
         {kParameters, kBits, kBandwidth},
         {{"step_ms", "billion_parameters * bits / 8 / gb_per_s * 1000"}},
         {{"", "{step_ms:1} ms per step"}}},
        {"quantization", "Weights and decode steps in another format, and the batches for which it is faster",
         {kParameters, kBits, {"quantized_bits", "Bits of each parameter in the other format", positive, 4},
          kBandwidth, {kTflops.name, kTflops.help, positive, {}, nullptr, "tflops_of_4_bits"}},
         {{"gb", "billion_parameters * bits / 8"}, {"step_ms", "gb / gb_per_s * 1000"},
          {"quantized_gb", "billion_parameters * quantized_bits / 8"},
          {"quantized_step_ms", "quantized_gb / gb_per_s * 1000"},
          {"whole_gain_batch", "tflops * 1000 * quantized_bits / 16 / gb_per_s"},
          {"no_gain_batch", "tflops * 1000 * bits / 16 / gb_per_s"}},
         {{"", "with {quantized_bits} bits per weight a step reads {quantized_gb:1} GB instead of {gb:1}, and takes {quantized_step_ms:1} ms "
               "instead of {step_ms:1}", "the full gain holds up to {whole_gain_batch:0} requests in flight; from "
               "{no_gain_batch:0} on there is none"}},
         {{"quantized_bits >= bits", "--quantized-bits must be below --bits"}}},
        {"speculation", "Tokens per pass and speed-up of speculative decoding",
         {kDrafts, kAcceptance, kDraftCost},
         {kTokensPerPass, {"speedup", "tokens_per_pass / (drafts * draft_cost + 1)"}},
         {{"speedup > 1", "{tokens_per_pass:4} tokens per pass, {speedup:3} times as fast"},
          {"", "{tokens_per_pass:4} tokens per pass, {speedup:3} times as fast", "speculation does not pay"}}},
        {"speculation-batch", "Number of requests at once from which speculative decoding stops paying",
         {kDrafts, kAcceptance, kDraftCost, kTflops, kBandwidth, kBits},
         {{"ridge", "tflops * 1000 * bits / 16 / gb_per_s"}, kTokensPerPass,
          {"batch", "ridge * (tokens_per_pass - drafts * draft_cost) / (drafts + 1)"}},
         {{"tokens_per_pass > 1 + drafts * draft_cost", "worth it below {batch:0} requests in flight",
           "without drafts, arithmetic limits from {ridge:0} on"},
          {"", "it never pays"}}},
        {"prompt-cache", "Number of requests from which caching their common prompt is cheaper",
         {kWrite, kRead, kBase},
         {{"requests", "if((read < base) + (read > base), (write - read) / (base - read), 0)"},
          {"paying", "max(1, ceil(requests))"}},
         {{"read > base", "break-even at {requests:4} requests",
           "caching pays for fewer requests only, because a read costs more than the prompt without a cache"},
          {"requests > 1", "break-even at {requests:4} requests", "caching pays from {paying:0} requests on"},
          {"requests > 0", "break-even at {requests:4} requests", "caching pays from the first request on"},
          {"", "no break-even",
           "a write costs less than the prompt without a cache, so that caching pays from the first request on"}},
         {{"(read >= base) * (write >= base)",
           "--read or --write must be below --base: such a cache never pays"}}},
        {"cache-ttl", "Price of a shared prefix with cache writes for 5 minutes and for an hour",
         {{"requests_per_h", "Requests per hour that begin with the prefix, at random times"}, kWrite, kWrite1h,
          kRead, kBase},
         {{"usd_5m", "read + exp(0 - requests_per_h / 12) * (write - read)"},
          {"usd_1h", "read + exp(0 - requests_per_h) * (write_1h - read)"}},
         {{"base <= min(usd_5m, usd_1h)", kTtlPrices, "do not cache"},
          {"usd_5m <= usd_1h", kTtlPrices, "write for 5 minutes"},
          {"", kTtlPrices, "write for an hour"}}},
        {"shared-prefix", "A day's bill for a prefix that many requests share, with and without a cache",
         {{"requests", "Requests per day that begin with the prefix", from_one}, {"tokens", "Tokens of the prefix"},
          {"ttl_s", "Seconds that the cache keeps the prefix; 3600 with an hour's writes", positive, 300,
           [](const Api& api, const Numbers&) { return api.ttl_s; }}, kWrite, kRead, kBase},
         {{"without", "requests * tokens * base / 1e6"}, {"writes", "min(requests, ceil(86400 / ttl_s))"},
          {"one_write", "(write + (requests - 1) * read) * tokens / 1e6"},
          {"most_writes", "(writes * write + (requests - writes) * read) * tokens / 1e6"}},
         {{"caches < 1", "${without:2} a day", "a prompt of {tokens:0} tokens is too short for the API's cache"},
          {"", "${without:2} a day without the cache, ${one_write:4} with one write, ${most_writes:4} with "
               "{writes:0} writes"}},
         {}, nullptr, nullptr, "tokens"},
        {"prefix-hits", "Time that a cache of prefixes saves in each request",
         {kInput, kOutput, kHit, kPrefill, kPerToken},
         {{"without_ms", "input / 1000 * prefill_ms_per_1k"}, {"prefill_ms", "without_ms * (1 - hit)"},
          {"decode_ms", "output * ms_per_token"},
          {"times", "(without_ms + decode_ms) / (prefill_ms + decode_ms)"}},
         {{"", "a prefill of {prefill_ms:1} ms instead of {without_ms:1}, a request {times:3} times as fast"}},
         {{"prefill_ms + decode_ms <= 0", "a request must take time: --prefill-ms-per-1k or --ms-per-token"}}},
        {"hit-rate", "Cache hit rate computed from the token counts that an API reports",
         {{"fresh", "Input tokens that were neither read from the cache nor written to it"},
          {"writes", "Input tokens written to the cache"}, {"reads", "Input tokens read from the cache"}},
         {{"percent", "100 * reads / (fresh + writes + reads)"}},
         {{"", "{percent:1} %"}},
         {{"fresh + writes + reads <= 0", "--fresh + --writes + --reads must be above 0"}}},
        {"semantic-cache", "Price of a request if similar questions get a stored answer",
         {{"request", "Price of an answer of the model in dollars", positive},
          {"lookup", "Price of a lookup (embedding and search) in dollars", positive},
          {"stored", "Share of the requests that get a stored answer", share}},
         {{"usd", "lookup + (1 - stored) * request"}, {"times", "request / usd"},
          {"least", "100 * lookup / request"}},
         {{"times > 1", "${usd:4} per request, {times:3} times cheaper", "it pays above {least:1} % of stored answers"},
          {"least < 100", "${usd:4} per request", "it pays above {least:1} % of stored answers only"},
          {"", "${usd:4} per request", "it never pays"}}},
        {"compression", "Price of a prompt that is made shorter before it is sent",
         {{"tokens", "Tokens of the prompt", positive}, {"kept", "Share of the tokens that is kept", share},
          {"compressor", "Dollars per million tokens that the compressor reads", positive}, kBase, kHit,
          kCachedRatio},
         {{"usd_as_it_is", "tokens * base * (1 - hit + cached_ratio * hit) / 1e6"},
          {"usd", "tokens * (compressor + kept * base) / 1e6"}, {"times", "usd_as_it_is / usd"}},
         {{"times > 1", "${usd:4} instead of ${usd_as_it_is:4}, {times:3} times cheaper"},
          {"", "${usd:4} instead of ${usd_as_it_is:4}", "compression does not pay"}},
         {}, nullptr, nullptr, "tokens"},
        {"cascade", "Mean price if a share of the requests is passed on to a more expensive model",
         {{"cheap", "Price of the cheap model"}, {"dear", "Price of the expensive model"},
          {"escalated", "Share of requests that are passed on to the expensive model", share},
          {"pays_both", "The cheap model answers the escalated requests first, and is paid for them", flag, 0}},
         {{"usd", "(1 - escalated * (1 - pays_both)) * cheap + escalated * dear"},
          {"times_cheaper", "dear / usd"}},
         {{"times_cheaper > 1", "${usd:2}, {times_cheaper:3} times cheaper"},
          {"", "${usd:2} instead of ${dear:2}", "the cascade does not pay"}},
         {{"usd <= 0", "the price must be above 0"}}},
        {"hedging", "Tail of the time to first token if slow requests are sent a second time",
         {{"after", "Percentile of a run's times, from 0 to 1, after which this is done", share, .95}},
         {{"p99_ms", "run_p99_ms"}, {"hedged_p99_ms", "run_hedged_p99_ms"}, {"delay_ms", "run_delay_ms"},
          {"more_percent", "run_more_percent"}},
         {{"hedged_p99_ms < p99_ms", "a p99 of {hedged_p99_ms:1} ms instead of {p99_ms:1}, with "
           "{more_percent:1} % more requests, each sent after {delay_ms:1} ms"},
          {"", "a p99 of {p99_ms:1} ms with and without", "hedging does not pay"}},
         {}, nullptr, add_hedging},
        {"capacity", "Number of GPUs for a request rate if each serves one request at a time (Little's law)",
         {{"requests_per_s", "Requests per second"}, kInput, kOutput, kHit, kPrefill, kPerToken,
          {"headroom", "Factor by which the requests in flight are multiplied as a reserve", from_one, 1.2}},
         {{"s_per_request", "(input * (1 - hit) / 1000 * prefill_ms_per_1k + output * ms_per_token) / 1000"},
          {"in_flight", "requests_per_s * s_per_request"}, {"reserved", "in_flight * headroom"},
          {"gpus", "ceil(reserved)"}},
         {{"", "{s_per_request:2} s per request, {in_flight:1} in flight, {reserved:2} with headroom, {gpus:0} "
               "GPUs of one stream"}},
         {{"reserved > 1e15", "more than 1e15 requests would be in flight; check the numbers"}}},
        {"month", "How busy own servers are, and a month's bill, by the users that they have",
         {kUsers, kConversations, kTurns, kAnswer, kRetries, {"usd_per_h", "Price of one server per hour"},
          {"tokens_per_s", "Output tokens per second of one server", positive},
          {"peak", "Load of the busiest hour ÷ mean load", from_one, 1},
          {"target_utilization", "Share of a server's rate that may be used", positive, .7}},
         {kPerMonth, kOutputTokens, {"mean_tokens_per_s", "output_tokens / (720 * 3600)"},
          {"servers", "max(1, ceil(mean_tokens_per_s * peak / tokens_per_s / target_utilization))"},
          {"utilization_percent", "100 * mean_tokens_per_s / (tokens_per_s * servers)"},
          {"usd", "servers * usd_per_h * 720"}, {"usd_per_m", "usd / output_tokens * 1e6"}},
         {{"", "{utilization_percent:1} % utilized, ${usd:2} a month (servers: {servers:0}), ${usd_per_m:4} per "
               "million output tokens"}},
         {{"target_utilization > 1", "--target-utilization is a share: at most 1"}}},
        {"api-month", "A month's bill of a hosted API, by the users",
         {kUsers, kConversations, kTurns, {"system", "Tokens of the system prompt", amount, 0},
          {"message", "Tokens of a user's message"}, kAnswer, kRetries, kHit, kBase, kRead,
          {"output_price", "Dollars per million output tokens", amount, {},
           [](const Api& api, const Numbers&) { return std::optional(api.output); }}},
         {kPerMonth, kOutputTokens,
          {"input_per_turn", kInputPerTurn},
          {"input_tokens", "per_month * turns * input_per_turn"},
          {"usd", "(input_tokens * ((1 - hit) * base + hit * read) + output_tokens * output_price) / 1e6"},
          {"usd_without", "(input_tokens * base + output_tokens * output_price) / 1e6"},
          {"usd_per_user", "usd / users"}},
         {{"caches < 1", "${usd:2} a month, ${usd_per_user:4} per user",
           "prompts of {input_per_turn:0} tokens on average are too short for the API's cache"},
          {"", "${usd:2} a month, ${usd_per_user:4} per user, ${usd_without:2} without the cache"}},
         {}, nullptr, nullptr, kInputPerTurn},
        {"self-host", "Number of tokens per month from which a deployment is cheaper than an API",
         {{"usd_per_month", "Price of the whole deployment per month of 720 h"},
          {"api_usd_per_m", "The API's dollars per million tokens", positive},
          {"tokens_per_s", "Tokens per second that the deployment can process", amount, {}, nullptr,
           "all_tokens_per_s"}},
         {{"billion_tokens", "usd_per_month / api_usd_per_m / 1000"},
          {"needed", "billion_tokens * 1e9 / (720 * 3600)"}},
         {{"needed <= tokens_per_s",
           "{billion_tokens} billion tokens per month, {needed:0} tok/s around the clock"},
          {"", "never", "this takes {needed:0} tok/s around the clock, but the deployment generates at most "
           "{tokens_per_s:0}"}}},
        {"egress", "Price of sending answers out of a cloud",
         {{"million_tokens", "Output tokens per month, in millions"},
          {"bytes_per_token", "Bytes of the stream for each token, with its JSON"},
          {"usd_per_gb", "Price of 10⁹ bytes that leave the cloud"}},
         {{"gb", "million_tokens * bytes_per_token / 1000"}, {"usd", "gb * usd_per_gb"},
          {"usd_per_m", "bytes_per_token / 1000 * usd_per_gb"}},
         {{"", "{gb:1} GB, ${usd:2} a month, ${usd_per_m:4} per million tokens"}}},
        {"energy", "Energy per token and its price",
         {{"watts", "Power of the whole deployment in watts"}, kRate,
          {"usd_per_kwh", "Price of a kWh in dollars", amount, .1}},
         {{"j_per_token", "watts / tokens_per_s"}, {"usd_per_m", "j_per_token * 1e6 / 3.6e6 * usd_per_kwh"}},
         {{"", "{j_per_token:2} J per token, ${usd_per_m:4} per million tokens"}}}};
    // clang-format on
    return rows;
}

std::string CostInput::option() const {
    std::string text = fmt::format("--{}", name);
    std::ranges::replace(text, '_', '-');
    return text;
}

std::string CostAnswer::text() const {
    return result + (result.empty() || verdict.empty() ? "" : ": ") + verdict;
}

namespace {

void require_in_range(const CostInput& input, double value) {
    if (input.takes == positive && !(value > 0))
        throw UsageError(fmt::format("{} must be above 0", input.option()));
    if (input.takes == from_one && !(value >= 1))
        throw UsageError(fmt::format("{} must be at least 1", input.option()));
    if (input.takes == share && value > 1)
        throw UsageError(fmt::format("{} is a share: at most 1", input.option()));
}

/// The API whose cache costs as much as fresh input, for prompts that it does not cache.
Api without_cache(Api api, const Numbers& given) {
    if (const auto base = given.find("base"); base != given.end()) api.input = base->second.value;
    api.cache_read = api.cache_write = api.cache_write_1h = api.input;
    return api;
}

std::map<std::string, double> values_of(const Numbers& numbers) {
    std::map<std::string, double> values;
    for (const auto& [name, number] : numbers) values[name] = number.value;
    return values;
}

}  // namespace

CostAnswer answer_of(const CostQuestion& question, CostGiven given) {
    CostAnswer answer{.question = &question};
    const auto take = [&](const CostInput& input) {
        const auto price =
            given.api && input.of_api != nullptr ? input.of_api(*given.api, given.numbers) : std::nullopt;
        if (price) given.numbers.try_emplace(input.name, CostValue{*price, "api:" + given.api_name});
        if (!given.numbers.contains(input.name) && !input.otherwise)
            throw UsageError(fmt::format("{} is required; see --help", input.option()));
        const CostValue& number =
            given.numbers.try_emplace(input.name, CostValue{input.otherwise.value_or(0), "default"})
                .first->second;
        require_in_range(input, number.value);
        answer.inputs[input.name] = number;
    };
    for (const CostInput& input : question.inputs)
        if (input.of_api == nullptr) take(input);
    const bool caches =
        !given.api || question.prompt_tokens == nullptr ||
        cards::caches_prompts_of(*given.api, value_of(question.prompt_tokens, values_of(given.numbers)));
    if (!caches) given.api = without_cache(*given.api, given.numbers);
    for (const CostInput& input : question.inputs)
        if (input.of_api != nullptr) take(input);
    for (const auto add : {question.of_model, question.of_run})
        if (add != nullptr) add(given);
    std::map<std::string, double> names = values_of(given.numbers);
    names["caches"] = caches ? 1 : 0;
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

std::vector<CostAnswer> answers_from(const CostGiven& known) {
    std::vector<CostAnswer> answers;
    for (const CostQuestion& question : cost_questions()) {
        if (question.of_run != nullptr || (question.of_model != nullptr && !known.model)) continue;
        CostGiven given{.numbers = {}, .model = known.model, .api = known.api, .api_name = known.api_name};
        for (const CostInput& input : question.inputs) {
            const auto found = known.numbers.find(input.known_as != nullptr ? input.known_as : input.name);
            if (found != known.numbers.end()) given.numbers[input.name] = found->second;
        }
        try {
            answers.push_back(answer_of(question, std::move(given)));
        } catch (const UsageError&) {  // an input is not known
        }
    }
    return answers;
}

}  // namespace paretoken::reports
