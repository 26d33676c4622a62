#include "reports/analysis/model/join/pricing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/join/figures_of_run.h"

namespace paretoken::reports {

namespace {

/// Whether every class of requests has SLOs. The tokens of a class without SLOs are neither good nor bad, so
/// that a load with such a class has no cost of good tokens.
bool is_judged(const RunResult& result) {
    return std::ranges::all_of(result.classes, [](const auto& of) {
        return of.second.counts.ok == 0 || of.second.totals.judged > 0;
    });
}

AppliedPrice at_rate(AppliedPrice price, cards::HourlyRate rate) {
    price.rate = std::move(rate);
    price.usd_per_s = price.rate.usd_per_h / 3600 / cards::earning_share(*price.card);
    return price;
}

/// Returns whether a card has a price of the same hardware, be it on another basis.
bool has_price_of(const cards::PriceCard& card, const AppliedPrice& price) {
    try {
        return cards::hourly_rate(card, price.hardware, price.basis).has_value();
    } catch (const UsageError&) {
        return true;
    }
}

}  // namespace

std::optional<AppliedPrice> applied_price(const Served& served, const JoinOptions& options) {
    if (!served.priced) return {};
    for (const cards::PriceCard& card : options.prices)
        if (const auto rate = cards::hourly_rate(card, *served.priced, options.basis)) {
            AppliedPrice price = at_rate({&card, *served.priced, options.basis, {}}, *rate);
            price.least_usd_per_s = price.usd_per_s;
            return price;
        }
    return {};
}

AppliedPrice price_during(const AppliedPrice& price, const RunResult& result) {
    const auto measured = measured_power_of(result);
    if (!measured) return price;
    return at_rate(price, cards::hourly_rate(*price.card, price.hardware, price.basis, measured).value());
}

std::vector<std::string> notes_on_unused_cards(const std::vector<std::optional<AppliedPrice>>& prices,
                                               const JoinOptions& options) {
    std::vector<std::string> notes;
    for (const cards::PriceCard& card : options.prices) {
        const cards::PriceCard* earlier = nullptr;
        bool is_used = !options.what_ifs.empty();  // perhaps for the hardware of one of these
        for (const auto& price : prices) {
            if (!price) continue;
            is_used = is_used || price->card == &card;
            if (price->card < &card && has_price_of(card, *price)) earlier = price->card;
        }
        if (!is_used && earlier != nullptr)
            notes.push_back(
                fmt::format("the price card {} has no effect on the cost of the runs, because {} "
                            "before it has prices of the same hardware",
                            card.name, earlier->name));
    }
    return notes;
}

std::string why_no_price(const Served& served, const JoinOptions& options) {
    if (served.simulated && !served.priced)
        return "no price: --gpu NAME says which GPU the simulated server stands for";
    if (served.hardware.empty()) return "no price: the run does not name its hardware; --gpu NAME adds it";
    if (options.prices.empty()) return "no price: --price CARD adds it";
    std::vector<std::string> names;
    for (const cards::PriceCard& card : options.prices) names.push_back(card.name);
    return fmt::format("no price: {} {} no price for {}; --price CARD with one, or --gpu NAME",
                       fmt::join(names, ", "), names.size() == 1 ? "has" : "have", served.priced->name);
}

namespace {

TokenRates rates_of(const RunResult& result) {
    const double input = result.throughput.at(figure::kInputTokens).value_or(0);
    const double cached = input * cached_share(result).value_or(0);
    return {input - cached, cached, result.throughput.at(figure::kOutputTokens).value_or(0)};
}

}  // namespace

std::optional<PointCost> cost_of(const RunResult& result, const AppliedPrice& price) {
    const TokenRates rates = rates_of(result);
    const auto per_output = usd_per_m_output(price.usd_per_s, rates.output);
    if (!per_output) return {};
    PointCost cost;
    cost.usd_per_m_output = *per_output;
    cost.usd_per_h = price.rate.usd_per_h;
    cost.earning_share = cards::earning_share(*price.card);
    const auto& cores = price.hardware.cores;
    cost.priced_as =
        cores ? fmt::format("{} CPU core{}", *cores, *cores == 1 ? "" : "s") : counted(price.hardware);
    cost.power = price.rate.power;
    cost.power_w = price.rate.power_w;
    if (const auto interval = result.throughput.interval(figure::kOutputTokens))
        cost.usd_per_m_output_ci95 = usd_per_m_interval(price.usd_per_s, *interval);
    if (const auto& band = price.card->price_band)
        cost.price_band = Interval{*per_output * band->low, *per_output * band->high};
    if (result.throughput.at(figure::kInputTokens)) {
        cost.usd_per_m_total = usd_per_m_total(price.usd_per_s, rates);
    }
    if (const auto good = result.throughput.at(figure::kGoodOutputTokens); good && is_judged(result))
        cost.usd_per_m_goodput = usd_per_m_output(price.usd_per_s, *good);
    return cost;
}

namespace {

/// The prices that explain the runs' costs best, as ratios, so that the split prices of every point still sum
/// to its cost.
SplitRule ratios_of_mixes(const std::vector<Configuration>& configurations,
                          const std::vector<std::optional<AppliedPrice>>& prices, SplitRule rule) {
    std::vector<PricedMix> mixes;
    for (std::size_t i = 0; i < configurations.size(); ++i)
        for (const ReportPoint& point : configurations[i].points)
            if (prices[i] && point.cost && point.result.validity.verdict != Verdict::invalid)
                mixes.push_back({price_during(*prices[i], point.result).usd_per_s, rates_of(point.result)});
    const auto fitted = split_by_mixes(mixes);
    if (!fitted || !(fitted->fresh > 0))
        throw UsageError(
            "--split mixes: the runs do not hold 3 mixes of input, cached input and output that tell their "
            "prices apart; measure more of them, or give a ratio");
    rule.output_ratio = fitted->output / fitted->fresh;
    rule.cached_ratio = fitted->cached / fitted->fresh;
    return rule;
}

/// The share of prefill in the cost of a point; nothing if the waterfall has no such part.
std::optional<double> prefill_share_of(const ReportPoint& point, const SplitRule& rule) {
    if (rule.prefill_share) return rule.prefill_share;
    if (!point.gap) return {};
    for (const GapPart& part : point.gap->parts)
        if (part.name == kPrefillPart && part.ms && *part.ms > 0) return *part.ms / point.gap->step_ms;
    return {};
}

}  // namespace

void apply_split(std::vector<Configuration>& configurations,
                 const std::vector<std::optional<AppliedPrice>>& prices, SplitRule rule) {
    if (rule.kind == SplitRule::Kind::mixes) rule = ratios_of_mixes(configurations, prices, std::move(rule));
    for (std::size_t i = 0; i < configurations.size(); ++i)
        for (ReportPoint& point : configurations[i].points) {
            if (!point.cost || !prices[i] || !point.result.throughput.at(figure::kInputTokens)) continue;
            const TokenRates rates = rates_of(point.result);
            const double usd_per_s = price_during(*prices[i], point.result).usd_per_s;
            std::optional<SplitPrices> split;
            if (rule.kind != SplitRule::Kind::prefill_share)
                split = split_by_ratio(usd_per_s, rates, rule.output_ratio, rule.cached_ratio);
            else if (const auto share = prefill_share_of(point, rule))
                split = split_by_prefill_share(usd_per_s, rates, *share, rule.cached_ratio);
            if (!split) continue;
            point.cost->usd_per_m_input_split = split->fresh;
            point.cost->usd_per_m_cached_split = split->cached;
            point.cost->usd_per_m_output_split = split->output;
            if (point.result.jobs)
                point.cost->per_job = deployed_job_cost(usd_per_s * 3600, *point.result.jobs, *split);
        }
}

std::optional<CostSheet> cost_sheet_of(const ReportModel& model,
                                       const std::vector<std::optional<AppliedPrice>>& prices,
                                       const JoinOptions& options) {
    if (model.choice.ranked.empty()) return {};
    const Choice& first = model.choice.ranked.front();
    std::optional<AppliedPrice> price = prices[first.configuration];
    const Configuration& configuration = model.configurations[first.configuration];
    const auto point = std::ranges::find(configuration.points, first.load_label, &ReportPoint::load_label);
    if (!price || point == configuration.points.end() || !point->cost || !point->cost->usd_per_m_total)
        return {};
    price = price_during(*price, point->result);
    const Lengths lengths = lengths_of(point->result);
    const TokenRates rates = rates_of(point->result);
    CostSheet sheet{.configuration = first.configuration,
                    .load_label = first.load_label,
                    .input_tokens = lengths.input,
                    .output_tokens = lengths.output,
                    .hit = cached_share(point->result),
                    .usd_per_m_total = *point->cost->usd_per_m_total,
                    .usd_per_month = price->rate.usd_per_h * cards::kHoursPerMonth,
                    .output_tokens_per_usd = 1e6 / point->cost->usd_per_m_output,
                    .target_usd_per_m = options.target_usd_per_m};
    if (options.target_usd_per_m)
        sheet.needed_output_tokens_per_s =
            break_even_output_per_s(price->usd_per_s, *options.target_usd_per_m);
    const double earning =
        (rates.fresh_input + rates.cached_input + rates.output) * cards::earning_share(*price->card);
    for (const auto& [name, api] : options.apis) {
        const double at_mix =
            cards::api_usd_per_m(api, rates.fresh_input, rates.cached_input, rates.output, lengths.input);
        sheet.apis.push_back({.name = name,
                              .as_of = api.as_of,
                              .input = api.input,
                              .cached = api.cache_read,
                              .output = api.output,
                              .usd_per_m_at_mix = at_mix,
                              .usd_per_m_with_writes = cards::api_usd_per_m_with_writes(
                                  api, rates.fresh_input, rates.cached_input, rates.output, lengths.input),
                              .break_even_tokens_per_month =
                                  self_host_break_even_tokens(sheet.usd_per_month, at_mix, earning)});
        if (point->result.jobs)
            sheet.apis.back().per_job = api_job_cost(api, *point->result.jobs, lengths.input);
    }
    return sheet;
}

std::optional<double> cost_of_measuring(const std::vector<Configuration>& configurations,
                                        const std::vector<std::optional<AppliedPrice>>& prices) {
    std::optional<double> usd;
    for (std::size_t i = 0; i < configurations.size(); ++i)
        for (const ReportPoint& point : configurations[i].points)
            if (prices[i] && point.result.client.timing != "virtual")
                usd = usd.value_or(0) + price_during(*prices[i], point.result).rate.usd_per_h *
                                            point.result.window.run_s / 3600;
    return usd;
}

}  // namespace paretoken::reports
