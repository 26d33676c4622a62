#pragma once
// Computes the cost of tokens from the cost per second of every GPU that is held, and the tokens that these
// deliver. Prices are in dollars per million tokens; without tokens there is none.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cards/price.h"
#include "core/result/result.h"
#include "core/units.h"

namespace paretoken::reports {

/// Returns the cores of the hardware that served a run; known only if it is the client's own CPU.
std::optional<std::uint32_t> cores_that_serve(const Provenance& from, std::string_view hardware);

cards::PricedHardware priced_hardware(const Provenance& from);

/// Tokens per second of one measured point.
struct TokenRates {
    double fresh_input = 0;   ///< prompt tokens that were computed
    double cached_input = 0;  ///< prompt tokens that came from a cache
    double output = 0;        ///< output tokens
};

/// "; 59.9 % of the time earns", of cards::earning_share(), by which a rate is divided; empty if all does.
std::string earning_text(double share);

/// Price per million output tokens if these carry the whole cost. For goodput, pass the rate of good tokens.
std::optional<double> usd_per_m_output(double usd_per_s, double output_per_s);

/// Price per million tokens if input and output tokens cost the same.
std::optional<double> usd_per_m_total(double usd_per_s, const TokenRates& rates);

/// The interval of usd_per_m_output(), computed by inverting the interval of the rate; it is not symmetric
/// around the price. Nothing unless both ends of the interval of the rate are positive and finite.
std::optional<Interval> usd_per_m_interval(double usd_per_s, const Interval& output_per_s);

/// Prices per kind of token that together cover exactly the cost: Σ price × rate ÷ 10⁶ = cost per second.
struct SplitPrices {
    double fresh = 0;   ///< price of input tokens that were computed
    double cached = 0;  ///< price of input tokens that came from a cache
    double output = 0;  ///< price of output tokens

    bool operator==(const SplitPrices&) const = default;
};

/// Splits the cost: an output token costs `output_ratio` and a cached one `cached_ratio` fresh input tokens.
std::optional<SplitPrices> split_by_ratio(double usd_per_s, const TokenRates& rates, double output_ratio,
                                          double cached_ratio);

/// Splits the cost so that input tokens carry `prefill_share` of it and output tokens the rest. A cached
/// input token costs `cached_ratio` fresh ones. Nothing without input or without output tokens.
std::optional<SplitPrices> split_by_prefill_share(double usd_per_s, const TokenRates& rates,
                                                  double prefill_share, double cached_ratio);

struct PricedMix {
    double usd_per_s = 0;
    TokenRates rates;
};

/// The prices of at least 0 that best explain the costs of several runs (least squares). Nothing for fewer
/// than 3 runs, or without a solution. Some are 0 if the mixes differ too little to tell the prices apart.
std::optional<SplitPrices> split_by_mixes(std::span<const PricedMix> mixes);

struct SplitRule {
    /// The function above that computes the prices. For `mixes`, only the ratios of its prices are used, so
    /// that the prices of each run still sum to the run's cost.
    enum class Kind : std::uint8_t { ratio, prefill_share, mixes };
    Kind kind = Kind::ratio;
    double output_ratio = 4;    ///< price of an output token, in fresh input tokens (ratio only)
    double cached_ratio = 0.1;  ///< price of a cached input token, in fresh input tokens
    /// Share of the cost that input tokens carry; if absent, the share of prefill in each run's waterfall of
    /// the step's time (reports/analysis/model/gap.h).
    std::optional<double> prefill_share = {};
    /// The rule in words, for the report.
    std::string source = "an output token costs 4 fresh input tokens and a cached one 0.1 (default)";
};

/// Parses --split: "4", "api:NAME", "prefill-share", "prefill-share:0.3" or "mixes". `cards` add to the
/// built-in prices. Throws UsageError for other texts, numbers out of range, and APIs without a price.
SplitRule parse_split(const std::string& text, const std::vector<cards::PriceCard>& cards);

/// The output tokens per second at which the cost per million of them is `usd_per_m`.
double break_even_output_per_s(double usd_per_s, double usd_per_m);

bool is_simulated(const Provenance& provenance);

/// The mean power that was measured during a run's window. Nothing if a part of the window was not measured,
/// or if the server is simulated: the power of its host is not that of the hardware that it imitates.
std::optional<cards::MeasuredPower> measured_power_of(const RunResult& result);

/// The tokens per month (720 hours) above which a machine is cheaper than an API. Nothing if that is more
/// than it can process at `capacity_tokens_per_s`.
std::optional<double> self_host_break_even_tokens(double usd_per_month, double api_usd_per_m,
                                                  double capacity_tokens_per_s);

}  // namespace paretoken::reports
