#pragma once
// What tokens cost, given what the deployment costs per second (every GPU held, idle ones too) and what it
// delivers. Pure formulas; dollars per million tokens. Nothing is returned where no tokens were delivered:
// never 0 or infinity.
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

/// All cost on output tokens. Cost of goodput is the same with only the output tokens of requests that met
/// every SLO: the others cost and earn nothing.
std::optional<double> usd_per_m_output(double usd_per_s, double output_per_s);

/// Input and output alike.
std::optional<double> usd_per_m_total(double usd_per_s, const TokenRates& rates);

/// From the interval of the rate, inverted: never ± on dollars. Nothing when the rate's low end is not
/// positive.
std::optional<Interval> usd_per_m_interval(double usd_per_s, const Interval& output_per_s);

/// A budget-balanced split: Σ price × rate = cost.
struct SplitPrices {
    double fresh = 0;
    double cached = 0;
    double output = 0;

    bool operator==(const SplitPrices&) const = default;
};

/// An output token costs `output_ratio` fresh input tokens, a cached one `cached_ratio` (both e.g. from an
/// API's card).
std::optional<SplitPrices> split_by_ratio(double usd_per_s, const TokenRates& rates, double output_ratio,
                                          double cached_ratio);

/// Input carries the measured share of time that went into prefill.
std::optional<SplitPrices> split_by_prefill_share(double usd_per_s, const TokenRates& rates,
                                                  double prefill_share, double cached_ratio);

/// Prices that explain the cost of at least 3 different mixes best: non-negative least squares, exact for 3
/// unknowns.
struct PricedMix {
    double usd_per_s = 0;
    TokenRates rates;
};
std::optional<SplitPrices> split_by_mixes(std::span<const PricedMix> mixes);

/// Where the split of the price between input and output comes from.
struct SplitRule {
    enum class Kind : std::uint8_t { ratio, prefill_share, mixes };
    Kind kind = Kind::ratio;
    double output_ratio = 4;                   ///< an output token costs so many fresh input tokens
    double cached_ratio = 0.1;                 ///< and a cached input token so many
    std::optional<double> prefill_share = {};  ///< nothing: what the waterfall attributes to prefill
    std::string source = "an output token costs 4 fresh input tokens and a cached one 0.1 (default)";
};

/// "4", "api:NAME", "prefill-share", "prefill-share:0.3" or "mixes". Throws UsageError.
SplitRule parse_split(const std::string& text, const std::vector<cards::PriceCard>& cards);

/// Output tokens per second at which a price per million is met.
double break_even_output_per_s(double usd_per_s, double usd_per_m);

bool is_simulated(const Provenance& provenance);

/// The power that a run's window was measured to draw; nothing where a part of the window was not, and of a
/// simulated server, since its host's power is not that of the hardware it stands for.
std::optional<cards::MeasuredPower> measured_power_of(const RunResult& result);

/// Board or all-in power of the deployment, per token.
double joules_per_token(double watts, double tokens_per_s);
double usd_of_energy_per_m(double joules_per_token, double usd_per_kwh);

/// Tokens per month at which a machine of this price beats an API; nothing when the machine cannot make as
/// many.
std::optional<double> self_host_break_even_tokens(double usd_per_month, double api_usd_per_m,
                                                  double capacity_tokens_per_s);

/// Requests that share a prompt before caching it is cheaper than sending it, from an API's prices.
double prompt_cache_break_even_requests(double write, double read, double base);

/// Mean price when `escalated_share` of requests go on to the dearer model and the rest stay with the cheap
/// one.
double cascade_price(double cheap, double dear, double escalated_share);

/// Share of prompt tokens read from the cache, as providers count them.
double provider_cache_hit_rate(double uncached_input, double cache_writes, double cache_reads);

/// Requests in flight by Little's law and, one stream per GPU, the GPUs they need.
struct Capacity {
    double seconds_per_request = 0;
    double in_flight = 0;
    double with_headroom = 0;
    std::uint64_t gpus = 0;
};
Capacity single_stream_capacity(double requests_per_s, double input_tokens, double output_tokens,
                                double hit_share, double prefill_s_per_1k, double s_per_output_token,
                                double headroom);

/// Against decoding one token per pass, drafts costing `draft_cost` passes each.
double speculative_speedup(double acceptance, double drafts, double draft_cost);

}  // namespace paretoken::reports
