#pragma once
// Dated prices, applied only when a report is made. A missing price is an error or is reported as missing; it
// is never zero. Prices are in dollars per hour of one GPU, or of one machine for CPU hosts.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace paretoken::cards {

inline constexpr double kHoursPerMonth = 720;  ///< a month of 30 days, in every price per month

struct PricedItem {
    std::map<std::string, double> usd_per_h;  ///< by basis: "on_demand", "reserved_1y", "spot", "owned_tco"
    std::optional<double> power_w_allin;      ///< power with its share of host and cooling; no PUE is applied
    std::optional<double> tdp_w;              ///< power of the board alone; the PUE is applied
    std::optional<std::uint32_t> cores;       ///< cores of the CPU machine that the price is for

    bool operator==(const PricedItem&) const = default;
};

struct Availability {
    double mean_time_between_interruptions_h = 0;
    double recovery_h = 0;

    bool operator==(const Availability&) const = default;
};

/// The prices of a hosted API, in dollars per million tokens.
struct ApiPrice {
    double input = 0;
    double output = 0;
    std::optional<double> cache_read;
    std::optional<double> cache_write;
    std::optional<double> cache_write_1h;   ///< price of writing to a cache that is kept for an hour
    std::optional<double> storage_m_tok_h;  ///< price of keeping a million tokens in a cache for an hour
    std::optional<std::uint64_t> min_cache_tokens;  ///< shortest prefix that is cached
    std::optional<double> ttl_s;                    ///< time for which a cached prefix is kept
    std::string as_of = {};                         ///< date, if it differs from the card's
    std::string source = {};                        ///< source, if it differs from the card's

    bool operator==(const ApiPrice&) const = default;
};

struct PriceCard {
    std::string name;   ///< "2026-11-cloud", or the path of the file
    std::string as_of;  ///< "2026-11-01"
    std::string currency;
    std::string source;
    std::map<std::string, PricedItem> gpus;
    /// CPU hosts by a part of the CPU's model name, or by "cpu" for any host whose number of cores is known.
    std::map<std::string, PricedItem> cpus;
    std::map<std::string, double> mix;  ///< share of each price basis; the sum is 1; empty means no mix
    std::optional<double> usd_per_kwh;
    double pue = 1;                     ///< power at the plug ÷ power of the hardware
    bool power_in_rate = true;          ///< whether the hourly prices include power
    std::optional<double> utilization;  ///< share of the paid time in which the hardware serves
    std::optional<Availability> availability;
    double ops_usd_month = 0;            ///< operation of one deployment (replica); a month has 720 h
    std::optional<Interval> price_band;  ///< factors for a report's low and high cost: [0.8, 1.25]
    std::map<std::string, ApiPrice> apis;

    bool operator==(const PriceCard&) const = default;
};

/// The hardware to be priced: the name of a GPU or CPU, their number, and a CPU host's cores.
struct PricedHardware {
    std::string name;
    std::uint32_t count = 1;
    std::optional<std::uint32_t> cores;
};

/// The measured electrical power of the hardware that serves, over the time that is priced.
struct MeasuredPower {
    double watts = 0;    ///< power of all devices that were read, without host and cooling
    std::string source;  ///< "nvml", "dcgm" (GPUs) or "rapl" (CPU packages)
    std::optional<std::uint32_t> devices = {};  ///< number of devices that were read
};

struct HourlyRate {
    double usd_per_h = 0;       ///< cost of the whole deployment: hardware, power and operation
    std::string item;           ///< entry of the card: "h100-sxm" or "cpu"
    std::string basis;          ///< "on_demand", or the mix in words
    double unit_usd_per_h = 0;  ///< rate of one GPU or machine, before power and operation
    std::string how;            ///< how the cost was computed: "2 × $3.50/h"
    /// The source of the power: "card" or "measured by NVML"; empty if the rate includes power.
    std::string power = {};
    std::optional<double> power_w = {};  ///< power at the plug; absent if the rate includes it

    bool operator==(const HourlyRate&) const = default;
};

/// The entry of a GPU, which the card may have under any of its names; nothing if it has none.
const PricedItem* priced_gpu(const PriceCard& card, const std::string& name);

/// Returns the hourly rate of all `hardware.count` devices together, with the monthly cost of operation and
/// power that the prices do not include; nothing if the card lacks the hardware. Throws UsageError without a
/// price for the basis, or needed watts. `measured` power is used if it covers exactly the priced devices.
std::optional<HourlyRate> hourly_rate(const PriceCard& card, const PricedHardware& hardware,
                                      const std::optional<std::string>& basis = {},
                                      const std::optional<MeasuredPower>& measured = {});

/// The share of the paid time in which the hardware serves: utilization × m / (m + recovery_h), where m is
/// mean_time_between_interruptions_h. A factor that the card does not state counts as 1.
double earning_share(const PriceCard& card);

/// Reads a shipped card by its name, or a card at a path. Throws a UsageError that names file and key.
PriceCard price_card(const std::string& name_or_path);
/// Parses the text of a price card, whose `name` also stands in errors. Throws UsageError.
PriceCard parse_price_card(std::string_view json, const std::string& name);

std::vector<std::string> known_price_cards();

/// The prices of an API, from the first of `cards` that has it, or else from the shipped card of APIs. Throws
/// a UsageError that lists the known names if none has it.
ApiPrice api_price_named(const std::string& name, const std::vector<PriceCard>& cards);

/// The dollars per million tokens of a mix, of which only the ratios matter. Cached tokens cost as much as
/// fresh ones if the API has no price for them, or prompts are too short to be cached.
double api_usd_per_m(const ApiPrice& api, double fresh, double cached, double output, double prompt_tokens);

/// The same if every fresh input token is written to the cache and kept there for ttl_s, or for an hour if
/// that is not stated. Nothing if the API does not charge for its cache, or if no token of the mix is cached.
std::optional<double> api_usd_per_m_with_writes(const ApiPrice& api, double fresh, double cached,
                                                double output, double prompt_tokens);

bool caches_prompts_of(const ApiPrice& api, double prompt_tokens);

/// The dollars per million tokens written to a cache that keeps them for `kept_s`; nothing without a price.
std::optional<double> usd_per_m_written(const ApiPrice& api, double kept_s);

/// The cards that a report uses when the user named none: cloud GPUs and a plain CPU machine.
std::vector<PriceCard> default_price_cards();

}  // namespace paretoken::cards
