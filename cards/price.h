#pragma once
// Dated prices, applied only when a report is made. A price that is missing is an error or said to be
// missing; it is never zero. Dollars per hour of one GPU, or of one machine for CPU hosts.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::cards {

/// One thing that is rented or owned.
struct PricedItem {
    std::map<std::string, double> usd_per_h;  ///< by basis: "on_demand", "reserved_1y", "spot", "owned_tco"
    std::optional<double> power_w_allin;      ///< with its share of host and cooling: no PUE on top
    std::optional<double> tdp_w;              ///< the board alone
    std::optional<std::uint32_t> cores;       ///< CPU machines: a host with other cores costs in proportion

    bool operator==(const PricedItem&) const = default;
};

struct Availability {
    double mean_time_between_interruptions_h = 0;
    double recovery_h = 0;

    bool operator==(const Availability&) const = default;
};

/// A hosted API, dollars per million tokens.
struct ApiPrice {
    double input = 0;
    double output = 0;
    std::optional<double> cache_read;
    std::optional<double> cache_write;
    std::optional<double> cache_write_1h;  ///< of a cache that is kept for an hour
    std::optional<double> storage_m_tok_h;
    std::optional<std::uint64_t> min_cache_tokens;
    std::optional<double> ttl_s;
    std::string as_of = {};   ///< where it differs from the card's
    std::string source = {};  ///< likewise

    bool operator==(const ApiPrice&) const = default;
};

struct PriceCard {
    std::string name;   ///< "2026-11-cloud", or the path it was read from
    std::string as_of;  ///< "2026-11-01"
    std::string currency;
    std::string source;
    std::map<std::string, PricedItem> gpus;
    std::map<std::string, PricedItem> cpus;  ///< key "cpu" (any CPU host) or a part of the CPU's model name
    std::map<std::string, double> mix;       ///< share of each basis, summing to 1
    std::optional<double> usd_per_kwh;
    double pue = 1;
    bool power_in_rate = true;
    std::optional<double> utilization;
    std::optional<Availability> availability;
    double ops_usd_month = 0;            ///< of the whole deployment; a month has 720 h
    std::optional<Interval> price_band;  ///< factors on the rates, e.g. [0.8, 1.25]
    std::map<std::string, ApiPrice> apis;

    bool operator==(const PriceCard&) const = default;
};

/// The hardware to be priced: a GPU's or CPU's name, how many of them, and (CPU hosts) how many cores served.
struct PricedHardware {
    std::string name;
    std::uint32_t count = 1;
    std::optional<std::uint32_t> cores;
};

/// The electrical power that what serves was measured to draw, over the time that is priced.
struct MeasuredPower {
    double watts = 0;    ///< of all devices that were read together, without host and cooling
    std::string source;  ///< "nvml", "dcgm" (GPUs) or "rapl" (CPU packages)
    std::optional<std::uint32_t> devices = {};  ///< how many were read
};

struct HourlyRate {
    double usd_per_h = 0;  ///< of the whole deployment: every GPU held, power and operation as the card says
    std::string item;      ///< "h100-sxm" or "cpu": the card's entry
    std::string basis;     ///< "on_demand", or the mix in words
    double unit_usd_per_h = 0;  ///< of one GPU or machine, before power and operation
    std::string how;            ///< "2 × $3.50/h"
    /// The source of its power: "card", or "measured by NVML"; empty where the rate holds the power.
    std::string power = {};
    std::optional<double> power_w = {};  ///< of the whole deployment, at the plug; likewise absent

    bool operator==(const HourlyRate&) const = default;
};

/// `basis` as asked, else the card's mix, else on_demand, else the only one there is. Nothing when the card
/// does not know the hardware. Throws UsageError when it does and has no price on that basis, or on one of
/// the mix: another basis never stands in for it. Where power is not in the rate, `measured` takes the place
/// of the card's watts if it is of just the devices that are priced: of GPUs as many as are priced, of a CPU
/// host its packages.
std::optional<HourlyRate> hourly_rate(const PriceCard& card, const PricedHardware& hardware,
                                      const std::optional<std::string>& basis = {},
                                      const std::optional<MeasuredPower>& measured = {});

/// Share of paid time that earns: utilisation × mtbi / (mtbi + recovery); 1 for what the card does not state.
double earning_share(const PriceCard& card);

/// A shipped card's name or a path. Throws UsageError naming file, key and what was expected.
PriceCard price_card(const std::string& name_or_path);
PriceCard parse_price_card(std::string_view json, const std::string& name);

std::vector<std::string> known_price_cards();

/// The prices of an API, from the shipped card of APIs or one of `cards`. Throws UsageError that lists the
/// names.
ApiPrice api_price_named(const std::string& name, const std::vector<PriceCard>& cards);

/// Dollars per million tokens of a mix of fresh input, cached input and output (tokens in any unit). Cached
/// tokens cost what fresh ones do where the API has no price of their own.
double api_usd_per_m(const ApiPrice& api, double fresh, double cached, double output);

/// Cloud GPUs and a plain CPU machine: what a report uses when no card was named.
std::vector<PriceCard> default_price_cards();

}  // namespace paretoken::cards
