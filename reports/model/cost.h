#pragma once
// The cost of tokens, computed from the deployment's cost per second (of every GPU that is held, including
// idle ones) and from the tokens that it delivers. Pure formulas, in dollars per million tokens. If no tokens
// were delivered, the result is nothing, never 0 or infinity.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cards/price.h"
#include "core/result/result.h"
#include "core/result/speculation.h"
#include "core/units.h"

namespace paretoken::reports {

/// Tokens per second of one measured point.
struct TokenRates {
    double fresh_input = 0;   ///< prompt tokens that were computed
    double cached_input = 0;  ///< prompt tokens that came from a cache
    double output = 0;
};

/// Price per million output tokens if output tokens carry the whole cost. For the cost of goodput, pass the
/// rate of only those output tokens whose requests met every SLO: the other tokens have no value.
std::optional<double> usd_per_m_output(double usd_per_s, double output_per_s);

/// Price per million tokens if input and output tokens cost the same.
std::optional<double> usd_per_m_total(double usd_per_s, const TokenRates& rates);

/// The interval of the price, computed by inverting the interval of the rate; it is not symmetric in dollars.
/// Nothing when the rate's low end is not positive.
std::optional<Interval> usd_per_m_interval(double usd_per_s, const Interval& output_per_s);

/// Prices per kind of token whose sum over all tokens is exactly the cost: Σ price × rate = cost.
struct SplitPrices {
    double fresh = 0;
    double cached = 0;
    double output = 0;

    bool operator==(const SplitPrices&) const = default;
};

/// Splits the cost so that an output token costs as much as `output_ratio` fresh input tokens, and a cached
/// input token as much as `cached_ratio` of them (both e.g. from an API's card).
std::optional<SplitPrices> split_by_ratio(double usd_per_s, const TokenRates& rates, double output_ratio,
                                          double cached_ratio);

/// Splits the cost so that input tokens carry the measured share of time that went into prefill.
std::optional<SplitPrices> split_by_prefill_share(double usd_per_s, const TokenRates& rates,
                                                  double prefill_share, double cached_ratio);

/// The prices that best explain the cost of at least 3 different mixes, by non-negative least squares. The
/// solution is exact for 3 unknowns.
struct PricedMix {
    double usd_per_s = 0;
    TokenRates rates;
};
std::optional<SplitPrices> split_by_mixes(std::span<const PricedMix> mixes);

/// The rule by which the cost is split between input and output tokens.
struct SplitRule {
    enum class Kind : std::uint8_t { ratio, prefill_share, mixes };
    Kind kind = Kind::ratio;
    double output_ratio = 4;                   ///< price of an output token, in fresh input tokens
    double cached_ratio = 0.1;                 ///< price of a cached input token, in fresh input tokens
    std::optional<double> prefill_share = {};  ///< if absent, taken from the waterfall's part for prefill
    std::string source = "an output token costs 4 fresh input tokens and a cached one 0.1 (default)";
};

/// Parses --split: "4", "api:NAME", "prefill-share", "prefill-share:0.3" or "mixes". Throws UsageError.
SplitRule parse_split(const std::string& text, const std::vector<cards::PriceCard>& cards);

/// The rate of output tokens per second at which their cost equals the given price per million.
double break_even_output_per_s(double usd_per_s, double usd_per_m);

bool is_simulated(const Provenance& provenance);

/// The mean power that was measured during a run's window. Nothing if a part of the window was not measured,
/// or if the server is simulated, since its host's power is not that of the hardware it stands for.
std::optional<cards::MeasuredPower> measured_power_of(const RunResult& result);

/// The energy per token, from the board power or the all-in power of the deployment.
double joules_per_token(double watts, double tokens_per_s);
double usd_of_energy_per_m(double joules_per_token, double usd_per_kwh);

/// The tokens per month above which a machine of this price is cheaper than an API; nothing when the machine
/// cannot generate that many.
std::optional<double> self_host_break_even_tokens(double usd_per_month, double api_usd_per_m,
                                                  double capacity_tokens_per_s);

/// The number of requests that must share a prompt before caching it is cheaper than sending it, by an API's
/// prices.
double prompt_cache_break_even_requests(double write, double read, double base);

/// The mean price when the share `escalated_share` of the requests goes to the more expensive model and the
/// rest stays with the cheap one.
double cascade_price(double cheap, double dear, double escalated_share);

/// The share of prompt tokens that were read from the cache, as providers count them.
double provider_cache_hit_rate(double uncached_input, double cache_writes, double cache_reads);

/// The number of requests in flight by Little's law, and the number of GPUs that they need with one stream
/// per GPU.
struct Capacity {
    double seconds_per_request = 0;
    double in_flight = 0;
    double with_headroom = 0;
    std::uint64_t gpus = 0;
};
Capacity single_stream_capacity(double requests_per_s, double input_tokens, double output_tokens,
                                double hit_share, double prefill_s_per_1k, double s_per_output_token,
                                double headroom);

/// The speedup of speculative decoding over decoding one token per pass, if each draft costs `draft_cost`
/// passes.
double speculative_speedup(double acceptance, double drafts, double draft_cost);

}  // namespace paretoken::reports
