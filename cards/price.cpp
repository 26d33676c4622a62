#include "cards/price.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cards/card_file.h"
#include "cards/gpu.h"
#include "cards/json_value.h"
#include "core/error.h"
#include "core/text/utc.h"

namespace paretoken::cards {
namespace {

// --- reading
// -------------------------------------------------------------------------------------------------

/// Throws if the name of a member is empty, because a price must name what it is for.
void require_name(const JsonCursor& object, const std::string& name, std::string_view what) {
    if (name.empty()) object.complain(fmt::format("{} that is not empty", what));
}

/// Reads an item. The named keys have their own meaning; all other numbers are prices by basis.
PricedItem priced_item(const JsonCursor& value) {
    PricedItem item;
    for (const auto& [key, member] : value.members()) {
        require_name(value, key, "the name of a price basis");
        if (key == "power_w_allin")
            item.power_w_allin = member.positive();
        else if (key == "tdp_w")
            item.tdp_w = member.positive();
        else if (key == "cores")
            item.cores = static_cast<std::uint32_t>(std::min<std::uint64_t>(member.count(), 65536));
        else
            item.usd_per_h[key] = member.positive();
    }
    if (item.usd_per_h.empty()) value.complain("at least one price per hour, e.g. \"on_demand\": 3.50");
    if (item.cores == 0u) value.at("cores", "a number of cores").complain("at least 1 core");
    return item;
}

std::map<std::string, PricedItem> priced_items(const JsonCursor& root, const std::string& key) {
    std::map<std::string, PricedItem> items;
    if (const auto found = root.find(key))
        for (const auto& [name, value] : found->members()) {
            require_name(*found, name, "the name of a priced item");
            items.emplace(name, priced_item(value));
        }
    return items;
}

std::map<std::string, double> price_mix(const JsonCursor& value) {
    std::map<std::string, double> mix;
    double sum = 0;
    for (const auto& [basis, share] : value.members()) sum += mix[basis] = share.positive();
    constexpr double kRounding = 1e-6;
    if (std::abs(sum - 1) > kRounding)
        value.complain(fmt::format("shares that sum to 1 (they sum to {})", sum));
    return mix;
}

Interval price_band(const JsonCursor& value) {
    const auto ends = value.elements();
    if (ends.size() != 2) value.complain("two factors, e.g. [0.8, 1.25]");
    const Interval band{ends[0].positive(), ends[1].positive()};
    if (band.low > band.high) value.complain("the lower factor first");
    return band;
}

double share(const JsonCursor& value) {
    if (!value.is_number() || !(value.number() > 0) || value.number() > 1)
        value.complain("a share above 0 and up to 1");
    return value.number();
}

/// A day of the calendar in the form YYYY-MM-DD.
std::string date_of(const JsonCursor& value) {
    const std::string text = value.string();
    const auto midnight = epoch_of_utc(text + "T00:00:00Z");
    if (!midnight || utc_text(*midnight) != text + "T00:00:00Z")  // other days of the same time: 2026-02-30
        value.complain("a date in the form YYYY-MM-DD, e.g. \"2026-11-01\"");
    return text;
}

/// Throws if two entries name the same GPU, because one of their prices would be ignored.
void require_distinct_gpus(const JsonCursor& gpus) {
    std::map<std::string, std::string> names;  // of the GPUs' cards, with the names in the file
    for (const auto& [name, value] : gpus.members()) {
        const auto known = find_gpu(name);
        const auto [first, added] =
            names.emplace(known ? letters_and_digits(known->name) : letters_and_digits(name), name);
        if (!added)
            value.complain(fmt::format("one price per GPU, because \"{}\" is the same one", first->second));
    }
}

ApiPrice api_price(const JsonCursor& value) {
    value.expect_only({"in", "out", "cache_read", "cache_write", "cache_write_1h", "storage_m_tok_h",
                       "min_cache_tokens", "ttl_s", "as_of", "source"});
    ApiPrice api;
    api.input = value.at("in", "dollars per million input tokens").positive();
    api.output = value.at("out", "dollars per million output tokens").positive();
    constexpr double kLeast = 1e-4;  // the prices of a token are below, those of a million above
    for (const auto& [key, usd] : {std::pair{"in", api.input}, std::pair{"out", api.output}})
        if (usd < kLeast) value.at(key, "a price").complain("dollars per million tokens, not per token");
    if (const auto found = value.find("cache_read")) api.cache_read = found->not_negative();
    if (const auto found = value.find("cache_write")) api.cache_write = found->not_negative();
    if (const auto found = value.find("cache_write_1h")) api.cache_write_1h = found->not_negative();
    if (const auto found = value.find("as_of")) api.as_of = date_of(*found);
    if (const auto found = value.find("source")) api.source = found->string();
    if (const auto found = value.find("storage_m_tok_h")) api.storage_m_tok_h = found->not_negative();
    if (const auto found = value.find("min_cache_tokens")) api.min_cache_tokens = found->count();
    if (const auto found = value.find("ttl_s")) api.ttl_s = found->positive();
    return api;
}

void read_terms(PriceCard& card, const JsonCursor& root) {
    if (const auto found = root.find("mix")) card.mix = price_mix(*found);
    if (const auto found = root.find("usd_per_kwh")) card.usd_per_kwh = found->not_negative();
    if (const auto found = root.find("pue")) {
        card.pue = found->positive();
        if (card.pue < 1) found->complain("at least 1");
    }
    if (const auto found = root.find("power_in_rate")) card.power_in_rate = found->boolean();
    if (!card.power_in_rate && !card.usd_per_kwh)
        root.at("usd_per_kwh", "dollars per kWh, since power_in_rate is false");
    if (const auto found = root.find("utilization")) card.utilization = share(*found);
    if (const auto found = root.find("availability")) {
        found->expect_only({"mtbi_h", "recovery_h"});
        card.availability = Availability{found->at("mtbi_h", "hours between interruptions").positive(),
                                         found->at("recovery_h", "hours to recover").not_negative()};
    }
    if (const auto found = root.find("ops_usd_month")) card.ops_usd_month = found->not_negative();
    if (const auto found = root.find("price_band")) card.price_band = price_band(*found);
    if (const auto found = root.find("apis"))
        for (const auto& [name, value] : found->members()) card.apis.emplace(name, api_price(value));
}

// --- applying
// ------------------------------------------------------------------------------------------------

using Entry = std::map<std::string, PricedItem>::value_type;

constexpr double kHour = 3600;  // seconds

/// The card's entry for a GPU, which may have any of the GPU's names.
const Entry* gpu_entry(const PriceCard& card, const std::string& hardware) {
    const auto known = find_gpu(hardware);
    for (const Entry& entry : card.gpus) {
        if (letters_and_digits(entry.first) == letters_and_digits(hardware)) return &entry;
        const auto listed = find_gpu(entry.first);
        if (known && listed && listed->name == known->name) return &entry;
    }
    return nullptr;
}

/// Whether a name may be a CPU's. Simulated hardware is not a CPU, nor are GPUs, for which a CPU's price must
/// never be used.
bool may_be_cpu(const std::string& hardware) {
    return !hardware.empty() && !hardware.starts_with("sim:") && !find_gpu(hardware);
}

/// The key of the entry for CPUs that have none of their own.
const std::string kAnyCpu = "cpu";

/// The entry with the longest key that is part of the CPU's name, else the entry "cpu" if the number of cores
/// is known.
const Entry* cpu_entry(const PriceCard& card, const PricedHardware& hardware) {
    if (!may_be_cpu(hardware.name)) return nullptr;
    const Entry* best = nullptr;
    for (const Entry& entry : card.cpus) {
        if (entry.first == kAnyCpu) continue;  // many names have these letters: "… CPU @ 2.20GHz"
        const bool part =
            letters_and_digits(hardware.name).find(letters_and_digits(entry.first)) != std::string::npos;
        if (part && (best == nullptr || entry.first.size() > best->first.size())) best = &entry;
    }
    if (best != nullptr) return best;
    const auto any = card.cpus.find(kAnyCpu);
    return any == card.cpus.end() || !hardware.cores ? nullptr : &*any;
}

std::string mix_in_words(const std::map<std::string, double>& mix) {
    std::vector<std::string> parts;
    for (const auto& [basis, part] : mix) parts.push_back(fmt::format("{:g} % {}", part * 100, basis));
    return fmt::format("{}", fmt::join(parts, " + "));
}

double rate_on(const PriceCard& card, const Entry& entry, const std::string& basis) {
    const auto found = entry.second.usd_per_h.find(basis);
    if (found != entry.second.usd_per_h.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, rate] : entry.second.usd_per_h) known.push_back(name);
    throw UsageError(fmt::format("price card {}: {}: no price on the basis \"{}\"; it has {}", card.name,
                                 entry.first, basis, fmt::join(known, ", ")));
}

/// A price in dollars: "3.50" with cents, or "0.065" with more digits if cents would not show the price.
std::string in_cents(double usd) {
    return usd >= 0.1 ? fmt::format("{:.2f}", usd) : fmt::format("{:.3g}", usd);
}

struct UnitRate {
    double usd_per_h = 0;
    std::string basis;
};

UnitRate unit_rate(const PriceCard& card, const Entry& entry, const std::optional<std::string>& basis) {
    if (basis) return {rate_on(card, entry, *basis), *basis};
    const auto& rates = entry.second.usd_per_h;
    if (!card.mix.empty()) {
        UnitRate rate{0, mix_in_words(card.mix)};
        for (const auto& [name, part] : card.mix) rate.usd_per_h += part * rate_on(card, entry, name);
        return rate;
    }
    if (rates.contains("on_demand")) return {rates.at("on_demand"), "on_demand"};
    if (rates.size() == 1) return {rates.begin()->second, rates.begin()->first};
    return {rate_on(card, entry, "on_demand"), "on_demand"};
}

/// The watts of one unit at the plug. PUE multiplies only board power, because an all-in figure includes it.
double card_watts(const PriceCard& card, const Entry& entry) {
    const PricedItem& item = entry.second;
    if (!item.power_w_allin && !item.tdp_w)
        throw UsageError(
            fmt::format("price card {}: {}: power_in_rate is false, so expected power_w_allin or tdp_w",
                        card.name, entry.first));
    return item.power_w_allin ? *item.power_w_allin : *item.tdp_w * card.pue;
}

/// Whether the power was measured for exactly the devices that are priced.
bool is_of(const MeasuredPower& measured, const PricedHardware& hardware, bool is_gpu) {
    if (!is_gpu) return measured.source == "rapl";
    return (measured.source == "nvml" || measured.source == "dcgm") && measured.devices == hardware.count;
}

/// The card of a price per hour such as "2.50" or "$2.50", which every GPU that is known has, and every
/// machine without one. Nothing if the text is no price.
std::optional<PriceCard> flat_card(const std::string& text) {
    const std::string number = text.substr(text.starts_with('$') ? 1 : 0);
    char* end = nullptr;
    const double usd_per_h = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(usd_per_h > 0) || !std::isfinite(usd_per_h)) return std::nullopt;
    PricedItem item;
    item.usd_per_h.emplace(fmt::format("${}/h", in_cents(usd_per_h)), usd_per_h);
    PriceCard card;
    card.name = "--price " + text;
    card.as_of = "the command line";
    card.currency = "USD";
    card.source = "the command line";
    for (const std::string& gpu : known_gpus()) card.gpus.emplace(gpu, item);
    card.cpus.emplace(kAnyCpu, item);
    return card;
}

std::string upper_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

/// Adds the cost of the deployment's power if the rate does not include it.
void add_power(HourlyRate& rate, const PriceCard& card, const Entry& entry, double units,
               const std::optional<MeasuredPower>& measured) {
    if (card.power_in_rate) return;
    const double usd_per_w = card.usd_per_kwh.value() / 1000;
    if (measured) {
        rate.power = "measured by " + upper_case(measured->source);
        rate.power_w = measured->watts * card.pue;
        rate.how += fmt::format(" + ${:.3g}/h power, {:.4g} W {}", *rate.power_w * usd_per_w, measured->watts,
                                rate.power);
        if (card.pue != 1) rate.how += fmt::format(" × PUE {:g}", card.pue);
    } else {
        const double watts = card_watts(card, entry);
        rate.power = "card";
        rate.power_w = units * watts;
        if (watts * usd_per_w > 0) rate.how += fmt::format(" + ${:.3g}/h power each", watts * usd_per_w);
    }
    rate.usd_per_h += *rate.power_w * usd_per_w;
}

}  // namespace

PriceCard parse_price_card(std::string_view json, const std::string& name) {
    const JsonValue value = parse_json_value(json, name);
    const JsonCursor root(value, name);
    root.expect_only({"schema", "as_of", "currency", "source", "gpus", "cpus", "mix", "usd_per_kwh", "pue",
                      "power_in_rate", "utilization", "availability", "ops_usd_month", "price_band", "apis"});
    const JsonCursor schema = root.at("schema", "1");
    if (schema.count() != 1) schema.complain("schema 1");
    PriceCard card;
    card.name = name;
    card.as_of = date_of(root.at("as_of", "the date of the prices, YYYY-MM-DD"));
    card.currency = root.at("currency", "\"USD\"").string();
    if (card.currency != "USD") root.at("currency", "\"USD\"").complain("\"USD\" (convert the prices)");
    card.source = root.at("source", "where the prices come from").string();
    card.gpus = priced_items(root, "gpus");
    if (const auto gpus = root.find("gpus")) require_distinct_gpus(*gpus);
    card.cpus = priced_items(root, "cpus");
    if (card.gpus.empty() && card.cpus.empty() && !root.find("apis"))
        root.at("gpus", "prices per hour by GPU (or \"cpus\", or \"apis\")").complain("at least one price");
    read_terms(card, root);
    return card;
}

PriceCard price_card(const std::string& name_or_path) {
    if (const auto text = shipped_card("prices", name_or_path)) return parse_price_card(*text, name_or_path);
    std::error_code error;
    const bool is_file = std::filesystem::exists(name_or_path, error);
    if (auto flat = is_file ? std::nullopt : flat_card(name_or_path)) return *std::move(flat);
    if (!is_file)
        throw UsageError(
            fmt::format("{}: no such price card or file, and no price in dollars per GPU-hour "
                        "(2.50); shipped are {}",
                        name_or_path, fmt::join(known_price_cards(), ", ")));
    return parse_price_card(read_card_file(name_or_path), name_or_path);
}

const PricedItem* priced_gpu(const PriceCard& card, const std::string& name) {
    const Entry* entry = gpu_entry(card, name);
    return entry == nullptr ? nullptr : &entry->second;
}

// The price basis is `basis` if given. Otherwise it is the card's mix, otherwise "on_demand", otherwise the
// only basis of the card's entry for the hardware. An entry that has no price for this basis or for a part of
// the mix, or that has several bases without "on_demand", is an error; another basis is never used instead.
// The rate of a CPU host is multiplied by its cores ÷ PricedItem::cores if both are known. `measured` (times
// the PUE) covers the priced devices if it is of the same number of GPUs, or of the packages of the CPU host.
std::optional<HourlyRate> hourly_rate(const PriceCard& card, const PricedHardware& hardware,
                                      const std::optional<std::string>& basis,
                                      const std::optional<MeasuredPower>& measured) {
    const Entry* entry = gpu_entry(card, hardware.name);
    const bool is_gpu = entry != nullptr;
    if (!is_gpu) entry = cpu_entry(card, hardware);
    if (entry == nullptr) return {};
    const UnitRate unit = unit_rate(card, *entry, basis);
    double units = hardware.count;
    std::string how = fmt::format("{} × ${}/h", hardware.count, in_cents(unit.usd_per_h));
    if (!is_gpu && hardware.cores && entry->second.cores) {
        units *= static_cast<double>(*hardware.cores) / *entry->second.cores;
        how += fmt::format(" × {} of {} cores", *hardware.cores, *entry->second.cores);
    }
    HourlyRate rate{.usd_per_h = units * unit.usd_per_h,
                    .item = entry->first,
                    .basis = unit.basis,
                    .unit_usd_per_h = unit.usd_per_h,
                    .how = std::move(how)};
    const bool fits = measured && is_of(*measured, hardware, is_gpu);
    add_power(rate, card, *entry, units, fits ? measured : std::nullopt);
    rate.usd_per_h += card.ops_usd_month / kHoursPerMonth;
    if (card.ops_usd_month > 0) rate.how += fmt::format(" + ${:g}/month operation", card.ops_usd_month);
    return rate;
}

double earning_share(const PriceCard& card) {
    double share_of_time = card.utilization.value_or(1);
    if (card.availability) {
        const double between = card.availability->mean_time_between_interruptions_h;
        share_of_time *= between / (between + card.availability->recovery_h);
    }
    return share_of_time;
}

std::vector<std::string> known_price_cards() {
    return shipped_cards("prices");
}

ApiPrice api_price_named(const std::string& name, const std::vector<PriceCard>& cards) {
    std::vector<PriceCard> all = cards;
    all.push_back(price_card("2026-11-apis"));
    std::vector<std::string> names;
    for (const PriceCard& card : all) {
        if (const auto found = card.apis.find(name); found != card.apis.end()) return found->second;
        for (const auto& [known, price] : card.apis) names.push_back(known);
    }
    throw UsageError(
        fmt::format("{}: no price card has this API; known are {}", name, fmt::join(names, ", ")));
}

bool caches_prompts_of(const ApiPrice& api, double prompt_tokens) {
    return prompt_tokens >= static_cast<double>(api.min_cache_tokens.value_or(0));
}

double api_usd_per_m(const ApiPrice& api, double fresh, double cached, double output, double prompt_tokens) {
    const double read =
        caches_prompts_of(api, prompt_tokens) ? api.cache_read.value_or(api.input) : api.input;
    return (api.input * fresh + read * cached + api.output * output) / (fresh + cached + output);
}

std::optional<double> usd_per_m_written(const ApiPrice& api, double kept_s) {
    const bool for_an_hour = api.cache_write_1h && (kept_s >= kHour || !api.cache_write);
    return for_an_hour ? api.cache_write_1h : api.cache_write;
}

std::optional<double> api_usd_per_m_with_writes(const ApiPrice& api, double fresh, double cached,
                                                double output, double prompt_tokens) {
    if ((!api.cache_write && !api.cache_write_1h && !api.storage_m_tok_h) || cached <= 0 ||
        !caches_prompts_of(api, prompt_tokens))
        return std::nullopt;
    const double kept_s = api.ttl_s.value_or(kHour);
    ApiPrice written = api;
    written.input =
        usd_per_m_written(api, kept_s).value_or(api.input) + api.storage_m_tok_h.value_or(0) * kept_s / kHour;
    written.cache_read = api.cache_read.value_or(api.input);
    return api_usd_per_m(written, fresh, cached, output, prompt_tokens);
}

std::vector<PriceCard> default_price_cards() {
    return {price_card("2026-11-cloud"), price_card("2026-11-cpu")};
}

}  // namespace paretoken::cards
