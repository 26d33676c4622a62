// paretoken cost: computes the costs of a report from given numbers. It measures nothing and writes no file.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"
#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/result/speculation.h"
#include "reports/analysis/cost/cost.h"

namespace paretoken::cli {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;
constexpr double kGib = 1024.0 * 1024 * 1024;

/// Numbers beyond this range have results that are infinite.
const AmountWithin kAmount{.least = 1e-12, .most = 1e15};

/// The named numbers that one question needs; all are required unless they have a default.
class Numbers {
  public:
    explicit Numbers(CLI::App& command) : command_(&command) {}

    double& add(const std::string& option, const std::string& help) {
        values_.push_back(std::make_unique<double>(0));
        command_->add_option(option, *values_.back(), help)->required()->check(kAmount);
        return *values_.back();
    }
    double& add(const std::string& option, double otherwise, const std::string& help) {
        values_.push_back(std::make_unique<double>(otherwise));
        command_->add_option(option, *values_.back(), help)->check(kAmount)->capture_default_str();
        return *values_.back();
    }

  private:
    CLI::App* command_;
    std::vector<std::unique_ptr<double>> values_;
};

/// The value with so many decimals; a value that would lose its leading digits has three of them instead.
std::string number(double value, int decimals = 4) {
    if (value > 0 && value < std::pow(10.0, 1 - decimals)) return fmt::format("{:.3g}", value);
    return fmt::format("{:.{}f}", value, decimals);
}

double positive(double value, const char* option) {
    if (value > 0) return value;
    throw UsageError(fmt::format("{} must be above 0", option));
}

/// A ratio of input to output such as "8:1", as shares of all tokens.
struct Mix {
    double input = 0;
    double output = 0;
};
Mix parse_mix(const std::string& text) {
    const auto colon = text.find(':');
    char* end = nullptr;
    const double input = std::strtod(text.c_str(), &end);
    const bool read_input = end == text.c_str() + colon;
    const double output = colon == std::string::npos ? 0 : std::strtod(text.c_str() + colon + 1, &end);
    if (colon == std::string::npos || !read_input || *end != '\0' || !(input >= 0) || !(output > 0) ||
        !std::isfinite(input + output))
        throw UsageError(fmt::format("--mix {}: expected INPUT:OUTPUT, e.g. 8:1", text));
    return {input / (input + output), output / (input + output)};
}

using Answer = std::function<std::string()>;

/// One question: a function that declares its options and returns the function that answers it.
struct Question {
    const char* name;
    const char* help;
    Answer (*declare)(CLI::App& command, const std::shared_ptr<Numbers>& numbers);
};

Answer per_million(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& usd = n->add("--usd-per-h", "Price of the whole deployment per hour");
    const double& rate = n->add("--tokens-per-s", "Tokens per second of the whole deployment");
    return [&usd, &rate, n] {
        return fmt::format(
            "${} per million tokens",
            number(*reports::usd_per_m_output(usd / kSecondsPerHour, positive(rate, "--tokens-per-s"))));
    };
}

Answer break_even(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& usd = n->add("--usd-per-h", "Price of the whole deployment per hour");
    const double& target = n->add("--target-usd-per-m", "Dollars per million tokens to reach");
    return [&usd, &target, n] {
        return fmt::format("{} tok/s",
                           number(reports::break_even_output_per_s(usd / kSecondsPerHour,
                                                                   positive(target, "--target-usd-per-m")),
                                  1));
    };
}

Answer split(CLI::App& command, const std::shared_ptr<Numbers>& n) {
    const double& usd = n->add("--usd-per-h", "Price of the whole deployment per hour");
    const double& rate = n->add("--tokens-per-s", "Input and output tokens per second together");
    const double& ratio = n->add("--ratio", 4, "Price of an output token ÷ price of a fresh input token");
    const double& hit = n->add("--hit", 0, "Share of input tokens that come from a cache");
    const double& cached =
        n->add("--cached-ratio", 0.1, "Price of a cached input token ÷ price of a fresh one");
    const auto mix = std::make_shared<std::string>("8:1");
    command.add_option("--mix", *mix, "Ratio of input tokens to output tokens")->capture_default_str();
    return [&usd, &rate, &ratio, &hit, &cached, mix, n] {
        if (hit > 1) throw UsageError("--hit is a share: at most 1");
        const Mix shares = parse_mix(*mix);
        const double input = positive(rate, "--tokens-per-s") * shares.input;
        const reports::TokenRates rates{input * (1 - hit), input * hit, rate * shares.output};
        const auto prices = reports::split_by_ratio(usd / kSecondsPerHour, rates, ratio, cached);
        if (!prices) throw UsageError("no token has a price: give a --ratio above 0");
        return fmt::format("fresh ${}, cached ${}, output ${} per million", number(prices->fresh),
                           number(prices->cached), number(prices->output));
    };
}

Answer kv_cache(CLI::App& command, const std::shared_ptr<Numbers>& n) {
    const double& context = n->add("--context", 4096, "Number of tokens of one sequence");
    const auto card = std::make_shared<std::string>();
    command.add_option("--model-card", *card, "A known model, a config.json or a GGUF file")->required();
    return [&context, card, n] {
        const cards::ModelCard model = cards::model_card(*card);
        return fmt::format("{:.0f} bytes per token, {} GiB per sequence of {:.0f}",
                           cards::kv_bytes_per_token(model),
                           number(cards::kv_bytes_per_sequence(model, context) / kGib, 2), context);
    };
}

Answer decode_floor(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& parameters = n->add("--billion-parameters", "Parameters that a step reads, in billions");
    const double& bits = n->add("--bits", 16, "Bits of each parameter");
    const double& bandwidth = n->add("--gb-per-s", "Memory bandwidth of all GPUs");
    return [&parameters, &bits, &bandwidth, n] {
        return fmt::format(
            "{} ms per step",
            number(parameters * positive(bits, "--bits") / 8 / positive(bandwidth, "--gb-per-s") * 1e3, 1));
    };
}

Answer speculation(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& drafts = n->add("--drafts", "Number of tokens drafted per pass");
    const double& acceptance = n->add("--acceptance", "Probability that a draft is right");
    const double& cost = n->add("--draft-cost", 0, "Time of one drafted token ÷ time of a pass");
    return [&drafts, &acceptance, &cost, n] {
        if (acceptance > 1) throw UsageError("--acceptance is a probability: at most 1");
        return fmt::format("{} tokens per pass, {:.3f} times as fast",
                           number(speculative_tokens_per_pass(acceptance, drafts)),
                           reports::speculative_speedup(acceptance, drafts, cost));
    };
}

Answer prompt_cache(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& write = n->add("--write", "Dollars per million tokens written to the cache");
    const double& read = n->add("--read", "Dollars per million tokens read from the cache");
    const double& base = n->add("--base", "Dollars per million input tokens that are not cached");
    return [&write, &read, &base, n] {
        if (read >= base) throw UsageError("--read must be below --base: such a cache never pays");
        const double requests = reports::prompt_cache_break_even_requests(write, read, base);
        if (requests <= 0)
            return std::string(
                "no break-even: a write costs no more than a read, so that caching pays from 1 requests on");
        return fmt::format("break-even at {} requests: caching pays from {:.0f} requests on",
                           number(requests), std::max(1.0, std::ceil(requests)));
    };
}

Answer hit_rate(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& fresh =
        n->add("--fresh", "Input tokens that were neither read from the cache nor written to it");
    const double& writes = n->add("--writes", "Input tokens written to the cache");
    const double& reads = n->add("--reads", "Input tokens read from the cache");
    return [&fresh, &writes, &reads, n] {
        positive(fresh + writes + reads, "--fresh + --writes + --reads");
        return fmt::format("{:.1f} %", 100 * reports::provider_cache_hit_rate(fresh, writes, reads));
    };
}

Answer shared_prefix(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& requests = n->add("--requests", "Requests per day that begin with the prefix");
    const double& tokens = n->add("--tokens", "Tokens of the prefix");
    const double& write = n->add("--write", "Dollars per million tokens written to the cache");
    const double& read = n->add("--read", "Dollars per million tokens read from the cache");
    const double& base = n->add("--base", "Dollars per million input tokens that are not cached");
    const double& ttl =
        n->add("--ttl-s", 300, "Seconds that the cache keeps the prefix; 3600 with an hour's writes");
    return [&requests, &tokens, &write, &read, &base, &ttl, n] {
        if (!(requests >= 1)) throw UsageError("--requests must be at least 1");
        const reports::SharedPrefix prefix{requests, tokens, write, read, base};
        const double writes = reports::most_cache_writes(prefix, positive(ttl, "--ttl-s"));
        return fmt::format("${:.2f} a day without the cache, ${} with one write, ${} with {:g} writes",
                           reports::usd_without_prompt_cache(prefix),
                           number(reports::usd_with_prompt_cache(prefix, 1)),
                           number(reports::usd_with_prompt_cache(prefix, writes)), writes);
    };
}

Answer cascade(CLI::App& command, const std::shared_ptr<Numbers>& n) {
    const double& cheap = n->add("--cheap", "Price of the cheap model");
    const double& dear = n->add("--dear", "Price of the expensive model");
    const double& escalated =
        n->add("--escalated", "Share of requests that are passed on to the expensive model");
    const auto both = std::make_shared<bool>(false);
    command.add_flag("--pays-both", *both,
                     "The cheap model answers the escalated requests first, and is paid for them");
    return [&cheap, &dear, &escalated, both, n] {
        if (escalated > 1) throw UsageError("--escalated is a share: at most 1");
        const double price = reports::cascade_price(cheap, dear, escalated, *both);
        return fmt::format("${}, {:.3f} times cheaper", number(price, 2),
                           dear / positive(price, "the price"));
    };
}

Answer capacity(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& rps = n->add("--requests-per-s", "Requests per second");
    const double& input = n->add("--input", "Input tokens of each request");
    const double& output = n->add("--output", "Output tokens of each request");
    const double& hit = n->add("--hit", 0, "Share of input tokens that come from a cache");
    const double& prefill = n->add("--prefill-ms-per-1k", "Time of the prefill of 1000 tokens in ms");
    const double& token = n->add("--ms-per-token", "Time of one output token in ms");
    const double& headroom =
        n->add("--headroom", 1.2, "Factor by which the requests in flight are multiplied as a reserve");
    return [&rps, &input, &output, &hit, &prefill, &token, &headroom, n] {
        if (hit > 1) throw UsageError("--hit is a share: at most 1");
        const reports::Capacity made =
            reports::single_stream_capacity(rps, input, output, hit, prefill / 1e3, token / 1e3, headroom);
        constexpr double kMost = 1e15;
        if (made.with_headroom > kMost)
            throw UsageError("more than 1e15 requests would be in flight; check the numbers");
        return fmt::format("{} s per request, {} in flight, {} with headroom, {} GPUs of one stream",
                           number(made.seconds_per_request, 2), number(made.in_flight, 1),
                           number(made.with_headroom, 2), made.gpus);
    };
}

Answer self_host(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& month = n->add("--usd-per-month", "Price of the whole deployment per month of 720 h");
    const double& api = n->add("--api-usd-per-m", "The API's dollars per million tokens");
    const double& rate = n->add("--tokens-per-s", "Tokens per second that the deployment can generate");
    return [&month, &api, &rate, n] {
        const double needed = month / positive(api, "--api-usd-per-m") * kMillion;
        const double around_the_clock = needed / (cards::kHoursPerMonth * kSecondsPerHour);
        const auto tokens = reports::self_host_break_even_tokens(month, api, rate);
        if (!tokens)
            return fmt::format(
                "never: this takes {:.0f} tok/s around the clock, but the deployment "
                "generates at most {:.0f}",
                around_the_clock, rate);
        return fmt::format("{:.3g} billion tokens per month, {:.0f} tok/s around the clock", *tokens / 1e9,
                           around_the_clock);
    };
}

Answer energy(CLI::App&, const std::shared_ptr<Numbers>& n) {
    const double& watts = n->add("--watts", "Power of the whole deployment in watts");
    const double& rate = n->add("--tokens-per-s", "Tokens per second of the whole deployment");
    const double& price = n->add("--usd-per-kwh", 0.1, "Price of a kWh in dollars");
    return [&watts, &rate, &price, n] {
        const double joules = reports::joules_per_token(watts, positive(rate, "--tokens-per-s"));
        return fmt::format("{} J per token, ${} per million tokens", number(joules, 2),
                           number(reports::usd_of_energy_per_m(joules, price)));
    };
}

constexpr Question kQuestions[] = {
    {"per-million", "Price of a million tokens from a price per hour", per_million},
    {"break-even", "Tokens per second at which a million tokens costs a given price", break_even},
    {"split", "Prices of fresh input, cached input and output tokens that together cover the cost", split},
    {"kv", "Bytes of a model's KV cache per token and per sequence", kv_cache},
    {"decode-floor", "Shortest possible time of a decode step: bytes of the weights ÷ memory bandwidth",
     decode_floor},
    {"speculation", "Tokens per pass and speed-up of speculative decoding", speculation},
    {"prompt-cache", "Number of requests from which caching their common prompt is cheaper", prompt_cache},
    {"shared-prefix", "A day's bill for a prefix that many requests share, with and without a cache",
     shared_prefix},
    {"hit-rate", "Cache hit rate computed from the token counts that an API reports", hit_rate},
    {"cascade", "Mean price if a share of the requests is passed on to a more expensive model", cascade},
    {"capacity", "Number of GPUs for a request rate if each serves one request at a time (Little's law)",
     capacity},
    {"self-host", "Number of tokens per month from which a deployment is cheaper than an API", self_host},
    {"energy", "Energy per token and its price", energy},
};

}  // namespace

void add_cost(CLI::App& app) {
    CLI::App* sub = app.add_subcommand("cost", "Answer a question about cost by its formula");
    sub->require_subcommand(1);
    for (const Question& question : kQuestions) {
        CLI::App* command = sub->add_subcommand(question.name, question.help);
        const Answer answer = question.declare(*command, std::make_shared<Numbers>(*command));
        command->callback([answer] { print("{}\n", answer()); });
    }
}

}  // namespace paretoken::cli
