#include "reports/model/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "cards/deployment.h"
#include "cards/gpu.h"
#include "core/error.h"
#include "core/result/distinct_runs.h"
#include "core/result/metrics.h"
#include "core/version.h"
#include "reports/cost/cost.h"
#include "reports/document/table.h"
#include "reports/model/answer.h"
#include "reports/model/choice.h"
#include "reports/model/course.h"
#include "reports/model/front.h"
#include "reports/model/gap.h"
#include "reports/model/limit.h"
#include "reports/model/utilisation.h"
#include "reports/sweep/sweep.h"

namespace paretoken::reports {
namespace {

constexpr double kCertifiedPercentile = .9;  // percentile of the x axis and of SLOs

// --- what a run tells
// ----------------------------------------------------------------------------------------

const PercentileValue* percentile_of(const RunResult& result, std::string_view key, double p) {
    const MetricSummary* metric = result.metric(key);
    return metric ? metric->at(p) : nullptr;
}

std::optional<double> positive(const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

/// Mean lengths of prompts and answers in tokens: the achieved lengths, or the requested ones if those are
/// unknown.
struct Lengths {
    double input = 0;
    double output = 0;
};
Lengths lengths_of(const RunResult& result) {
    const Workload& workload = result.workload;
    return {positive(workload.achieved_input_tokens).value_or(workload.wanted_input_tokens.value_or(0)),
            positive(workload.achieved_output_tokens).value_or(workload.wanted_output_tokens.value_or(0))};
}

/// Prompt tokens that came from a cache ÷ all prompt tokens, as reported in `usage`; nothing when it was not
/// reported.
std::optional<double> cached_share(const RunResult& result) {
    const auto share = result.throughput.at(figure::kCachedPromptRatio);
    return share ? std::optional(std::clamp(*share, 0.0, 1.0)) : std::nullopt;
}

/// The work of the window, or the work of one request with mean lengths if the run holds no sums.
Totals work_of(const RunResult& result) {
    if (result.totals.output_tokens > 0) return result.totals;
    const Lengths lengths = lengths_of(result);
    const double cached = lengths.input * cached_share(result).value_or(0);
    return work_of_request(lengths.input - cached, cached, lengths.output);
}

/// The mean number of requests in flight: the measured value, or the run's concurrency if it was not
/// measured.
std::optional<double> batch_of(const RunResult& result) {
    if (const auto in_flight = positive(result.throughput.at(figure::kMeanInFlight))) return in_flight;
    if (result.concurrency) return static_cast<double>(*result.concurrency);
    return {};
}

// --- hardware
// ------------------------------------------------------------------------------------------------

/// The micro results of devices of the same kind as the hardware that served.
std::vector<const MicroResults*> micro_of(const JoinOptions& options, std::string_view hardware) {
    std::vector<const MicroResults*> same;
    for (const MicroResults& micro : options.micro) {
        const std::string measured = micro.device.card.value_or(micro.device.name);
        if (cards::normalised_hardware(measured) == cards::normalised_hardware(hardware))
            same.push_back(&micro);
    }
    return same;
}

/// The hardware that served, with its name, its price and its limit.
struct Served {
    std::string hardware;  ///< name given by the run, or by --gpu if the run names no known GPU
    bool simulated = false;
    std::optional<cards::PricedHardware>
        priced;                               ///< absent for a simulated server that stands for no known GPU
    std::optional<cards::GpuCard> datasheet;  ///< datasheet of real GPUs
    std::vector<const MicroResults*> micro = {};  ///< results that were measured on the same hardware
};

/// Throws UsageError when --gpu and the run name different numbers of GPUs.
void refuse_contradiction(const LoadedRun& run, const std::optional<cards::GpuSpec>& wanted,
                          const JoinOptions& options) {
    if (!wanted) return;
    const Provenance& provenance = run.result.provenance;
    const auto named = cards::find_gpu(provenance.hardware);
    std::uint32_t own = std::max(1U, provenance.hardware_count);
    if (!is_simulated(provenance) && !provenance.hardware.empty())
        own = std::max(own, cards::parse_gpu_spec(provenance.hardware).count);
    const bool says_a_number = own > 1 || named.has_value();
    const bool other_gpu = named && !is_simulated(provenance) && named->name != wanted->name;
    if (!says_a_number || other_gpu || own == wanted->count) return;
    throw UsageError(fmt::format(
        "--gpu {}: that is {} GPU{}, and the run in {} was made on {} ({}); leave --gpu out or write {}x{}",
        *options.gpu, wanted->count, wanted->count == 1 ? "" : "s", run.directory, own, provenance.hardware,
        wanted->name, own));
}

Served served_as_simulated(const Provenance& provenance, const std::optional<cards::GpuSpec>& wanted) {
    Served served{.hardware = provenance.hardware, .simulated = true, .priced = {}, .datasheet = {}};
    if (wanted)
        served.priced = cards::PricedHardware{wanted->name, wanted->count, {}};
    else if (const auto gpu = cards::find_gpu(provenance.hardware))
        served.priced = cards::PricedHardware{gpu->name, std::max(1u, provenance.hardware_count), {}};
    return served;
}

std::optional<cards::GpuSpec> wanted_gpu(const JoinOptions& options) {
    if (!options.gpu) return {};
    return cards::parse_gpu_spec(*options.gpu);
}

Served served_by(const Provenance& provenance, const JoinOptions& options) {
    const auto wanted = wanted_gpu(options);
    if (is_simulated(provenance)) return served_as_simulated(provenance, wanted);

    Served served{.hardware = provenance.hardware, .simulated = false, .priced = {}, .datasheet = {}};
    if (!provenance.hardware.empty()) served.micro = micro_of(options, provenance.hardware);
    cards::GpuSpec gpu{provenance.hardware, provenance.hardware_count};
    if (!provenance.hardware.empty()) {
        gpu = cards::parse_gpu_spec(provenance.hardware);
        gpu.count = std::max({gpu.count, provenance.hardware_count, 1u});
    }
    served.datasheet = cards::find_gpu(gpu.name);
    if (!served.datasheet && served.micro.empty() && wanted) {  // the run names no known GPU, but --gpu does
        gpu = *wanted;
        served.hardware = gpu.name;
        served.datasheet = cards::find_gpu(gpu.name);
        served.micro = micro_of(options, gpu.name);
    }
    if (served.hardware.empty()) return served;
    served.priced = cards::PricedHardware{gpu.name, gpu.count, cores_that_serve(provenance, served.hardware)};
    return served;
}

std::string hardware_title(const Served& served, const Provenance& provenance) {
    if (served.hardware.empty()) return "unknown hardware";
    if (served.simulated)
        return served.hardware.starts_with("sim:") ? served.hardware : "simulated " + served.hardware;
    if (served.datasheet)
        return served.priced && served.priced->count > 1
                   ? fmt::format("{} × {}", served.priced->count, served.datasheet->title)
                   : served.datasheet->title;
    if (served.priced && served.priced->cores)
        return fmt::format("{} ({} core{})", served.hardware, provenance.host_cores,
                           provenance.host_cores == 1 ? "" : "s");
    return served.hardware;
}

// --- price
// ---------------------------------------------------------------------------------------------------

/// Whether every class of requests has SLOs. The tokens of a class without SLOs are neither good nor bad, so
/// that a load with such a class has no cost of good tokens.
bool is_judged(const RunResult& result) {
    return std::all_of(result.classes.begin(), result.classes.end(), [](const auto& of) {
        return of.second.counts.ok == 0 || of.second.totals.judged > 0;
    });
}

struct AppliedPrice {
    const cards::PriceCard* card = nullptr;
    cards::PricedHardware hardware;
    std::optional<std::string> basis;  ///< price basis that the user asked for
    cards::HourlyRate rate;            ///< hourly rate with the power that the card states
    double usd_per_s = 0;              ///< cost per second, after utilisation and availability
    /// Lowest cost per second among the configuration's runs, which differ where power was measured. Limits
    /// are priced at it, so that they stay below every run.
    double least_usd_per_s = 0;
};

AppliedPrice at_rate(AppliedPrice price, cards::HourlyRate rate) {
    price.rate = std::move(rate);
    price.usd_per_s = price.rate.usd_per_h / 3600 / cards::earning_share(*price.card);
    return price;
}

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

/// The price during a run, with the power that was measured meanwhile.
AppliedPrice price_during(const AppliedPrice& price, const RunResult& result) {
    const auto measured = measured_power_of(result);
    if (!measured) return price;
    return at_rate(price, cards::hourly_rate(*price.card, price.hardware, price.basis, measured).value());
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

TokenRates rates_of(const RunResult& result) {
    const double input = result.throughput.at(figure::kInputTokens).value_or(0);
    const double cached = input * cached_share(result).value_or(0);
    return {input - cached, cached, result.throughput.at(figure::kOutputTokens).value_or(0)};
}

std::optional<PointCost> cost_of(const RunResult& result, const AppliedPrice& price) {
    const TokenRates rates = rates_of(result);
    const auto per_output = usd_per_m_output(price.usd_per_s, rates.output);
    if (!per_output) return {};
    PointCost cost;
    cost.usd_per_m_output = *per_output;
    cost.usd_per_h = price.rate.usd_per_h;
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
        }
}

/// The costs of the run that is first in the ranking.
std::optional<CostSheet> cost_sheet_of(const ReportModel& model,
                                       const std::vector<std::optional<AppliedPrice>>& prices,
                                       const JoinOptions& options) {
    if (model.choice.ranked.empty()) return {};
    const Choice& first = model.choice.ranked.front();
    std::optional<AppliedPrice> price = prices[first.configuration];
    const Configuration& configuration = model.configurations[first.configuration];
    const auto point = std::find_if(configuration.points.begin(), configuration.points.end(),
                                    [&](const ReportPoint& p) { return p.load_label == first.load_label; });
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
                    .usd_per_month = price->rate.usd_per_h * 720,
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
    }
    return sheet;
}

/// The cost of all runs of the report: the duration of every run at the full hourly rate.
std::optional<double> cost_of_measuring(const std::vector<Configuration>& configurations,
                                        const std::vector<std::optional<AppliedPrice>>& prices) {
    std::optional<double> usd;
    for (std::size_t i = 0; i < configurations.size(); ++i)
        for (const ReportPoint& point : configurations[i].points)
            if (prices[i])
                usd = usd.value_or(0) + price_during(*prices[i], point.result).rate.usd_per_h *
                                            point.result.window.run_s / 3600;
    return usd;
}

// --- limit
// ---------------------------------------------------------------------------------------------------

/// The model card for these runs: the one that --model-card gives, or else the one that the runs name; null
/// when there is neither.
const cards::ModelCard* model_of(const std::vector<LoadedRun>& runs, const JoinOptions& options) {
    const cards::ModelCard* model = selected_card(runs.front(), options.models);
    for (const LoadedRun& run : runs)
        if (selected_card(run, options.models) != model)
            throw UsageError(
                fmt::format("--model-card: the runs in {} and {} are points of one curve and have different "
                            "cards; --group-by the label that tells them apart",
                            runs.front().directory, run.directory));
    if (model != nullptr || !runs.front().result.provenance.model_card) return model;
    const auto known = options.known_models.find(runs.front().result.provenance.model_card->hash);
    return known == options.known_models.end() ? nullptr : &known->second;
}

std::string why_no_model(const Provenance& provenance) {
    if (provenance.model_card)
        return fmt::format(
            "no hardware limit: the model card {} that the run names is not here, or has "
            "changed since; --model-card MODEL gives one",
            provenance.model_card->spec);
    return "no hardware limit: --model-card MODEL says how many bytes a token takes";
}

/// The known terms of the hardware that serves: measured ones if there are any, else those of the datasheet.
HardwareTerms hardware_terms_of(const Served& served, const cards::ModelCard& model) {
    HardwareTerms terms;
    const std::uint32_t count = served.priced ? served.priced->count : 1;
    if (served.datasheet) terms = hardware_of_datasheet(*served.datasheet, count, model.weight_dtype);
    if (!served.micro.empty())
        terms = overlaid(hardware_of_micro(bounding_result(served.micro, count), model, count), terms);
    return terms;
}

/// The inputs of the limit. When no limit can be computed: nothing, with the reason added to `missing`.
std::optional<LimitInputs> limit_of(const Served& served, const RunResult& result,
                                    const cards::ModelCard* model, std::vector<std::string>& missing) {
    if (served.simulated) {
        if (result.targets.size() > 1) {
            missing.push_back(fmt::format(
                "no hardware limit: the load went to {} simulated servers, and the limit of one is known",
                result.targets.size()));
            return {};
        }
        LimitInputs inputs = limit_inputs_of_simulator(result.provenance.simulator);
        if (limits_anything(inputs)) return inputs;
        missing.emplace_back("no hardware limit: the simulator's profile has no times of its own");
        return {};
    }
    if (model == nullptr) {
        missing.push_back(why_no_model(result.provenance));
        return {};
    }
    LimitInputs inputs = limit_inputs(*model, hardware_terms_of(served, *model));
    if (limits_anything(inputs)) return inputs;
    missing.push_back(
        fmt::format("no hardware limit: --micro micro.json measured on {}, or --gpu NAME for a datasheet",
                    served.hardware.empty() ? "the serving hardware" : served.hardware));
    return {};
}

/// Adds to `missing` that micro results of other machines are not used for this configuration's limit, or how
/// far the results of equal devices differ.
void mention_other_micro(const Served& served, const JoinOptions& options,
                         std::vector<std::string>& missing) {
    if (served.simulated || options.micro.empty()) return;
    if (!served.micro.empty()) {
        if (std::string spread = spread_of(served.micro); !spread.empty())
            missing.push_back(std::move(spread));
        return;
    }
    if (!options.micro_note.empty()) return;  // the user did not ask for these results
    std::vector<std::string> names;
    for (const MicroResults& micro : options.micro)
        if (std::find(names.begin(), names.end(), micro.device.name) == names.end())
            names.push_back(micro.device.name);
    missing.push_back(fmt::format("--micro was measured on {}, not on {}: not used here",
                                  fmt::join(names, ", "),
                                  served.hardware.empty() ? "the serving hardware" : served.hardware));
}

void price_curve(std::vector<LimitPoint>& curve, const std::optional<AppliedPrice>& price) {
    if (!price) return;
    for (LimitPoint& point : curve)
        point.usd_per_m_output = usd_per_m_output(price->least_usd_per_s, point.output_tokens_per_s);
}

void hold_against_limit(ReportPoint& point, const LimitInputs& inputs) {
    const auto batch = batch_of(point.result);
    if (!batch) return;
    const auto limit = limit_at(inputs, LimitKind::hard, work_of(point.result), *batch);
    if (!limit) return;
    point.limit_output_tokens_per_s = limit->output_tokens_per_s;
    point.limit_interactivity = limit->interactivity;
    if (point.output_tokens_per_s) point.of_limit = *point.output_tokens_per_s / limit->output_tokens_per_s;
    point.limit_tolerance = edge_tolerance(point.result.totals);
}

// --- points
// --------------------------------------------------------------------------------------------------

ReportPoint point_of(LoadedRun run) {
    ReportPoint point;
    point.directory = std::move(run.directory);
    point.result = std::move(run.result);
    point.load_label = load_label_of(point.result);
    point.load = load_of(point.result);
    point.open_loop = point.result.open_loop();
    point.reached = point.open_loop || point.load <= static_cast<double>(requests_sent(point.result));
    point.output_tokens_per_s = positive(point.result.throughput.at(figure::kOutputTokens));
    if (const auto* held = percentile_of(point.result, "interactivity_tok_per_s", kCertifiedPercentile)) {
        point.interactivity = positive(held->value);
        point.certified = point.interactivity && held->certified;
    }
    return point;
}

// --- configurations
// ------------------------------------------------------------------------------------------

std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string model_title(const Served& served, const RunResult& result, const cards::ModelCard* known) {
    const std::string asked = result.provenance.model;
    if (served.simulated || known == nullptr) return asked.empty() ? "unnamed model" : asked;
    const cards::ModelCard& card = *known;
    if (lowered(card.name).find(card.weight_dtype) != std::string::npos) return card.name;
    return card.name + " " + card.weight_dtype;
}

/// A mean length in whole tokens, or with three digits if it is short: "1,024", "12.5"
std::string length_text(double tokens) {
    constexpr double kShort = 100;
    return tokens < kShort ? significant(tokens) : grouped(static_cast<std::uint64_t>(std::llround(tokens)));
}

/// The mean of a length over the requests of each run: "512", or "892 to 3,600" if it differs by more than a
/// tenth between runs, as where the classes of requests have other shares at another load.
std::string range_of(const std::vector<ReportPoint>& points, double Lengths::*member) {
    constexpr double kAlike = 1.1;
    double least = kInfinity;
    double most = 0;
    for (const ReportPoint& point : points) {
        const double length = lengths_of(point.result).*member;
        least = std::min(least, length);
        most = std::max(most, length);
    }
    if (most <= kAlike * least) return length_text(lengths_of(points.front().result).*member);
    return fmt::format("{} to {}", length_text(least), length_text(most));
}

/// "72 % of input cached", or the range over the runs.
std::string cached_text(const std::vector<ReportPoint>& points) {
    double least = 1;
    double most = 0;
    for (const ReportPoint& point : points) {
        const auto share = cached_share(point.result);
        if (!share) return "cache hits not reported";
        least = std::min(least, *share);
        most = std::max(most, *share);
    }
    const auto low = fmt::format("{:.0f}", least * 100);
    const auto high = fmt::format("{:.0f}", most * 100);
    return fmt::format("{} % of input cached", low == high ? low : low + " to " + high);
}

/// The workload in words, "512 in : 128 out, chat, 40 % of input cached"; prices per million depend on it.
std::string workload_title(const std::vector<ReportPoint>& points) {
    const RunResult& first = points.front().result;
    std::string text =
        fmt::format("{} in : {} out", range_of(points, &Lengths::input), range_of(points, &Lengths::output));
    if (!first.workload.endpoint.empty()) text += ", " + first.workload.endpoint;
    return text + ", " + cached_text(points);
}

std::vector<Totals> works_of(const std::vector<ReportPoint>& points) {
    std::vector<Totals> works;
    for (const ReportPoint& point : points) works.push_back(work_of(point.result));
    return works;
}

/// The batch at which a curve ends when no cap is known: at least twice the largest measured batch.
double curve_end(const std::vector<ReportPoint>& points) {
    constexpr double kLeast = 16;
    double most = kLeast;
    for (const ReportPoint& point : points) most = std::max(most, 2 * batch_of(point.result).value_or(0));
    return std::exp2(std::ceil(std::log2(most)));
}

std::vector<std::string> beaten_limits(const Configuration& configuration) {
    std::vector<std::string> errors;
    for (const ReportPoint& point : configuration.points) {
        const double tolerance = point.limit_tolerance.value_or(0);
        constexpr double kRelativeRounding = 1e-6;
        if (!point.of_limit || *point.of_limit <= 1 + tolerance + kRelativeRounding ||
            point.result.validity.verdict == Verdict::invalid)
            continue;
        const std::string allowed =
            tolerance > 0 ? fmt::format(" (the window's edges explain {} %)", significant(tolerance * 100))
                          : "";
        errors.push_back(fmt::format(
            "{}: measured {} output tok/s, {} % of the hardware limit{}. No run can be faster than the "
            "limit: the model card ({}), the token counts, the cache hits or the bandwidth it was computed "
            "from are wrong.",
            point.load_label, significant(point.output_tokens_per_s), significant(*point.of_limit * 100),
            allowed, configuration.limit_terms.empty() ? "" : configuration.limit_terms.front().source));
    }
    return errors;
}

/// Adds the largest tolerance of the points to the terms of the limit.
void add_tolerance(Configuration& configuration) {
    std::optional<double> largest;
    for (const ReportPoint& point : configuration.points)
        if (point.limit_tolerance && point.of_limit)
            largest = std::max(largest.value_or(0), *point.limit_tolerance);
    if (largest)
        configuration.limit_terms.push_back({"tolerance for the edges of a window, at most", *largest * 100,
                                             "%",
                                             "mean requests in flight ÷ prompts answered in the window"});
}

void add_limit(Configuration& configuration, const LimitInputs& inputs,
               const std::optional<AppliedPrice>& price) {
    const std::vector<Totals> works = works_of(configuration.points);
    const double end = curve_end(configuration.points);
    configuration.hard_limit = limit_curve(inputs, LimitKind::hard, works, end);
    configuration.no_overlap = limit_curve(inputs, LimitKind::no_overlap, works, end);
    configuration.size_aware = limit_curve(inputs, LimitKind::size_aware, works, end);
    configuration.reachable = limit_curve(inputs, LimitKind::reachable, works, end);
    for (auto* curve : {&configuration.hard_limit, &configuration.size_aware, &configuration.no_overlap,
                        &configuration.reachable})
        price_curve(*curve, price);
    configuration.limit_terms = inputs.terms;
    configuration.dropped_terms = inputs.dropped;
    for (ReportPoint& point : configuration.points) hold_against_limit(point, inputs);
    add_tolerance(configuration);
    configuration.errors = beaten_limits(configuration);
}

AnswerInputs answer_inputs(const Configuration& configuration, const LimitInputs& inputs,
                           const std::optional<AppliedPrice>& price) {
    const ReportPoint* point = answer_point(configuration);
    if (point == nullptr) return {};
    const Totals work = work_of(point->result);
    AnswerInputs answer;
    answer.floor = limit_at_interactivity(inputs, LimitKind::hard, work, *point->interactivity,
                                          curve_end(configuration.points));
    if (answer.floor && price)
        answer.floor->usd_per_m_output =
            usd_per_m_output(price->least_usd_per_s, answer.floor->output_tokens_per_s);
    return answer;
}

// --- the gap
// -------------------------------------------------------------------------------------------------

std::optional<double> server_figure(const RunResult& result, const std::string& key) {
    if (!result.server) return {};
    const auto found = result.server->window.find(key);
    return found == result.server->window.end() ? std::nullopt : positive(found->second);
}

/// The most requests that the servers run at once, by llama.cpp's own settings; nothing for other servers.
std::optional<double> slots_of(const RunResult& result) {
    if (!result.server) return {};
    const auto found = result.server->config.find("total_slots");
    if (found == result.server->config.end()) return {};
    double slots = 0;
    const char* const end = found->second.data() + found->second.size();
    if (const auto [stop, error] = std::from_chars(found->second.data(), end, slots);
        error != std::errc{} || stop != end)
        return {};
    return positive(slots * static_cast<double>(std::max<std::size_t>(1, result.targets.size())));
}

/// Limits the requests that run at once to the largest number of slots of the runs, if it is known for all.
void cap_at_slots(LimitInputs& inputs, const std::vector<ReportPoint>& points) {
    double most = 0;
    for (const ReportPoint& point : points) {
        const auto slots = slots_of(point.result);
        if (!slots) return;
        most = std::max(most, *slots);
    }
    inputs.max_sequences = most;
    // The waterfall names the source of the last term as that of the limit, so that this term is not the
    // last.
    inputs.terms.insert(inputs.terms.begin() + static_cast<std::ptrdiff_t>(inputs.terms.size() / 2),
                        {"requests that run at once", most, "requests", "the server's total_slots"});
}

/// Sets the time that the server spent on the prompts of the run, from its own figures.
void add_prefill_of_server(GapRun& run, const RunResult& result) {
    std::optional<double> all_s;  // the sum of the prompts' own times
    std::string name;
    if (const auto tokens = server_figure(result, "prompt_tokens"))
        if (const auto seconds = server_figure(result, "prompt_seconds")) {
            all_s = *seconds / *tokens * run.work.fresh_input_tokens;
            name = "prompt_seconds";
        }
    if (!all_s)
        if (const auto each = server_figure(result, "prefill_mean_s")) {
            all_s = *each * run.work.prompts;
            name = "prefill";
        }
    if (!all_s || !(run.output_tokens_per_s > 0)) return;
    // With n running requests, the prompts' times overlap. By Little's law each request is in its prompt for
    // this share of the time; at least one is for the remainder of (1 − share)^n.
    const double measured_s = run.work.output_tokens / run.output_tokens_per_s;
    const double n =
        std::max(1.0, std::min(run.in_flight, run.running.value_or(run.slots.value_or(run.in_flight))));
    const double share = std::min(1.0, *all_s / measured_s / n);
    run.prefill_s = measured_s * (1 - std::pow(1 - share, n));
    const auto source = result.server->sources.find(name);
    run.prefill_source = fmt::format("measured: {} ms per prompt, by the server's {}",
                                     significant(run.work.prompts > 0 ? *all_s / run.work.prompts * 1e3 : 0),
                                     source == result.server->sources.end() ? "metrics" : source->second);
}

/// The valid run with one request at a time, whose TTFT is the time of a prompt alone; null if there is none.
const ReportPoint* run_alone(const Configuration& configuration) {
    for (const ReportPoint& point : configuration.points)
        if (point.result.concurrency == 1U && !point.open_loop &&
            point.result.validity.verdict != Verdict::invalid)
            return &point;
    return nullptr;
}

/// Sets the time that the server spent on the prompts of the run, from the TTFT of the run with one request
/// at a time, in proportion to the computed tokens of a prompt.
void add_prefill_of_ttft(GapRun& run, const ReportPoint* alone) {
    const MetricSummary* const ttft = alone != nullptr ? alone->result.metric("ttft_s") : nullptr;
    if (ttft == nullptr || !ttft->mean || !(*ttft->mean > 0) || !(run.work.prompts > 0)) return;
    const Totals there = work_of(alone->result);
    const double fresh = run.work.fresh_input_tokens / run.work.prompts;
    const double fresh_there = there.prompts > 0 ? there.fresh_input_tokens / there.prompts : 0;
    const double each = *ttft->mean * (fresh_there > 0 ? fresh / fresh_there : 1);
    run.prefill_s = each * run.work.prompts;
    run.prefill_source = fmt::format("measured: {} ms per prompt, by the TTFT at one in flight ({})",
                                     significant(each * 1e3), alone->load_label);
}

GapRun gap_run_of(const ReportPoint& point) {
    GapRun run{.work = work_of(point.result),
               .in_flight = batch_of(point.result).value_or(0),
               .output_tokens_per_s = point.output_tokens_per_s.value_or(0),
               .closed_loop = !point.open_loop,
               .running = server_figure(point.result, "running"),
               .slots = slots_of(point.result)};
    run.preemptions = server_figure(point.result, "preemptions");
    if (const auto passes = server_figure(point.result, "drafts")) {
        run.drafts = server_figure(point.result, "draft_tokens").value_or(0) / *passes;
        run.tokens_per_pass = 1 + server_figure(point.result, "accepted_tokens").value_or(0) / *passes;
    }
    if (point.cost) run.usd_per_m_output = point.cost->usd_per_m_output;
    return run;
}

/// The seconds that each rank needs in a step to send its bytes when every layer's two sums go around a ring.
std::optional<double> communication_s(const cards::ModelCard& model, const std::optional<cards::GpuCard>& gpu,
                                      double ranks, double batch) {
    if (ranks <= 1) return 0;
    if (!gpu || !gpu->link_bytes_per_s) return {};
    constexpr double kBytesPerValue = 2;
    const double sum = batch * static_cast<double>(model.hidden) * kBytesPerValue;
    return 2 * static_cast<double>(model.layers) * sum * 2 * (ranks - 1) / ranks / *gpu->link_bytes_per_s;
}

/// Whether a real CPU served.
bool is_cpu(const Served& served, const Provenance& provenance) {
    if (served.simulated || served.datasheet) return false;
    if (!served.micro.empty()) return served.micro.front()->device.backend == MicroBackend::cpu;
    return !served.hardware.empty() && served.hardware == provenance.host_cpu;
}

void add_gaps(Configuration& configuration, const GapInputs& inputs, const Served& served,
              const cards::ModelCard* model) {
    const ReportPoint* const alone = run_alone(configuration);
    for (ReportPoint& point : configuration.points) {
        GapRun run = gap_run_of(point);
        GapInputs own = inputs;
        if (!served.simulated) add_prefill_of_server(run, point.result);
        if (!served.simulated && !run.prefill_s) add_prefill_of_ttft(run, alone);
        own.on_cpu = is_cpu(served, point.result.provenance);
        if (!served.simulated && model != nullptr) {
            const double ranks = served.priced ? served.priced->count : 1;
            own.communication_s_per_step = communication_s(*model, served.datasheet, ranks, run.in_flight);
            own.communication_source = ranks > 1 ? "the datasheet's link, sums around a ring" : "one device";
        }
        point.gap = gap_of(run, own);
    }
}

GapInputs gap_inputs_of(const LimitInputs& limit, const std::optional<LimitInputs>& datasheet,
                        const Provenance& provenance) {
    GapInputs inputs{
        .datasheet = datasheet ? *datasheet : limit, .measured = limit, .simulator = provenance.simulator};
    if (limit.reachable && limit.reachable->small_kernels_s > 0) {
        inputs.overhead_s_per_step = limit.reachable->small_kernels_s;
        inputs.overhead_source = "launches of small kernels, measured by micro";
    }
    return inputs;
}

struct Joined {
    Configuration configuration;
    std::optional<AppliedPrice> price;
    std::optional<LimitInputs> limit;
    std::optional<LimitInputs> datasheet;    ///< limit by the datasheet, if `limit` is measured
    std::vector<const MicroResults*> micro;  ///< devices that the limit was computed from
    Served served = {};
    std::string card_spec = {};  ///< model card that the runs were made with; empty if none is known
};

/// The name of the model without its number formats, which all runs of one model share.
std::string served_model(const Provenance& provenance, const cards::ModelCard* model) {
    if (model != nullptr) return model->name;
    return provenance.model_card ? provenance.model_card->name : provenance.model;
}

/// The basis and date of a price. Fronts compare dollars only if both are equal; the card's name does not
/// matter.
std::string basis_of(const std::optional<AppliedPrice>& price) {
    return price ? fmt::format("{}, {}", price->rate.basis, price->card->as_of) : "";
}

/// The card that the limit is computed from, as a user would name it. A simulated server uses a card that is
/// shipped.
std::string card_spec_of(const LoadedRun& run, const JoinOptions& options) {
    if (const cards::ModelCard* selected = selected_card(run, options.models); selected != nullptr)
        for (const CardChoice& choice : options.models)
            if (&choice.card == selected) return parse_card_spec(choice.text).card;
    const auto& note = run.result.provenance.model_card;
    if (!note) return {};
    if (!note->spec.empty()) return options.known_models.contains(note->hash) ? note->spec : "";
    return fmt::format("{}:weights={},kv={}", note->name, note->weights, note->kv);
}

Joined joined(RunGroup group, const JoinOptions& options) {
    Joined out;
    Configuration& configuration = out.configuration;
    const cards::ModelCard* model = model_of(group.runs, options);
    if (!options.what_ifs.empty()) out.card_spec = card_spec_of(group.runs.front(), options);
    configuration.labels = std::move(group.labels);
    for (const LoadedRun& run : group.runs)
        if (!configuration.quality) configuration.quality = quality_of(run, options.quality);
    configuration.precision = precision_of(group.runs.front(), model);
    for (LoadedRun& run : group.runs) configuration.points.push_back(point_of(std::move(run)));
    std::stable_sort(configuration.points.begin(), configuration.points.end(),
                     [](const ReportPoint& a, const ReportPoint& b) {
                         return a.open_loop != b.open_loop ? b.open_loop : a.load < b.load;
                     });
    const RunResult& first = configuration.points.front().result;
    const Served served = served_by(first.provenance, options);
    configuration.hardware = hardware_title(served, first.provenance);
    configuration.model = model_title(served, first, model);
    configuration.title = fmt::format("{} on {}", configuration.model, configuration.hardware);
    if (const std::string labels = text_of(configuration.labels, configuration.title); !labels.empty())
        configuration.title += ", " + labels;
    configuration.workload = workload_title(configuration.points);
    configuration.served = served_model(first.provenance, served.simulated ? nullptr : model);

    out.price = applied_price(served, options);
    if (!out.price) configuration.missing.push_back(why_no_price(served, options));
    configuration.price_basis = basis_of(out.price);
    out.limit = limit_of(served, first, model, configuration.missing);
    mention_other_micro(served, options, configuration.missing);
    if (out.limit) out.micro = served.micro;
    if (out.limit && !served.micro.empty() && served.datasheet)
        out.datasheet = limit_inputs(
            *model, hardware_of_datasheet(*served.datasheet, served.priced ? served.priced->count : 1,
                                          model->weight_dtype));
    for (auto* inputs : {&out.limit, &out.datasheet})
        if (*inputs && !served.simulated) cap_at_slots(**inputs, configuration.points);
    for (ReportPoint& point : configuration.points) {
        if (!out.price) break;
        const AppliedPrice during = price_during(*out.price, point.result);
        out.price->least_usd_per_s = std::min(out.price->least_usd_per_s, during.usd_per_s);
        point.cost = cost_of(point.result, during);
    }
    if (out.limit) add_limit(configuration, *out.limit, out.price);
    if (out.limit)
        add_gaps(configuration, gap_inputs_of(*out.limit, out.datasheet, first.provenance), served, model);
    if (out.limit)
        for (ReportPoint& point : configuration.points)
            point.utilisation =
                utilisation_of(gap_run_of(point), out.datasheet ? *out.datasheet : *out.limit);
    if (out.datasheet) {
        configuration.datasheet = limit_curve(*out.datasheet, LimitKind::hard, works_of(configuration.points),
                                              curve_end(configuration.points));
        price_curve(configuration.datasheet, out.price);
    }
    out.served = served;
    return out;
}

// --- what if
// -------------------------------------------------------------------------------------------------

/// The imagined deployment of an estimate: its hardware, and the model in its number formats.
struct Elsewhere {
    cards::ModelCard model;
    std::optional<cards::GpuCard> gpu;
    std::uint32_t count = 1;
    bool other_hardware = false;
};

std::string title_of(const Elsewhere& there, const std::string& hardware_here, const WhatIfSpec& spec) {
    const std::string& format = there.model.weight_dtype;
    std::string text = there.model.name;
    if (lowered(text).find(format) == std::string::npos) text += " " + format;
    text += fmt::format(", KV {}, on ", there.model.kv_dtype);
    if (!there.gpu)
        text += hardware_here;
    else
        text += there.count > 1 ? fmt::format("{} × {}", there.count, there.gpu->title) : there.gpu->title;
    return spec.hit ? fmt::format("{}, {} % of input cached", text, significant(*spec.hit * 100)) : text;
}

/// The limits of the measured and of the imagined deployment: by datasheet if the hardware is another or was
/// simulated, else from measurements. Throws a UsageError that says what is missing.
WhatIfLimits what_if_limits(const Joined& from, const Elsewhere& there, const cards::ModelCard& model_here,
                            const std::optional<cards::GpuCard>& gpu_here, std::uint32_t count_here) {
    const bool by_datasheet = there.other_hardware || from.served.simulated;
    if (by_datasheet && !there.gpu)
        throw UsageError("tp is a number of GPUs, but no GPU is known here; add gpu=NAME");
    WhatIfLimits limits;
    if (by_datasheet && gpu_here)
        limits.here =
            limit_inputs(model_here, hardware_of_datasheet(*gpu_here, count_here, model_here.weight_dtype));
    else if (from.limit && !from.served.simulated)
        limits.here = *from.limit;
    else
        throw UsageError("the limit of the hardware that served is not known");
    const HardwareTerms terms = by_datasheet
                                    ? hardware_of_datasheet(*there.gpu, there.count, there.model.weight_dtype)
                                    : hardware_terms_of(from.served, there.model);
    if (terms.memory_bytes && !cards::kv_pool_bytes(there.model, terms.memory_bytes->value * terms.ranks))
        throw UsageError(
            fmt::format("the weights ({} GB) do not fit the memory of {}",
                        significant(static_cast<double>(there.model.resident_weight_bytes) / 1e9),
                        there.gpu ? there.gpu->title : from.configuration.hardware));
    limits.there = limit_inputs(there.model, terms);
    if (from.limit)
        for (LimitInputs* inputs : {&limits.here, &limits.there}) {  // the server's settings stay
            inputs->drafts = from.limit->drafts;
            inputs->tokens_per_pass = from.limit->tokens_per_pass;
            inputs->max_sequences = from.limit->max_sequences;
        }
    return limits;
}

std::optional<double> usd_per_s_of(const Joined& from, const Elsewhere& there, const JoinOptions& options) {
    if (!there.other_hardware) return from.price ? std::optional(from.price->usd_per_s) : std::nullopt;
    Served served;
    served.priced = cards::PricedHardware{there.gpu->name, there.count, {}};
    const auto price = applied_price(served, options);
    return price ? std::optional(price->usd_per_s) : std::nullopt;
}

std::vector<MeasuredLoad> loads_of(const Configuration& configuration) {
    std::vector<MeasuredLoad> loads;
    for (std::size_t i = 0; i < configuration.points.size(); ++i) {
        const ReportPoint& point = configuration.points[i];
        const auto batch = batch_of(point.result);
        if (batch && point.reached && point.result.validity.verdict != Verdict::invalid)
            loads.push_back({i, work_of(point.result), *batch});
    }
    return loads;
}

WhatIf what_if_of(const Joined& from, std::size_t index, const WhatIfSpec& spec, const JoinOptions& options) {
    WhatIf out{.asked = spec.text, .configuration = index, .title = {}};
    try {
        if (from.card_spec.empty()) throw UsageError("no model card is known: --model-card CARD gives one");
        const cards::ModelCard model_here = options.card_of(from.card_spec, {});
        const Provenance& provenance = from.configuration.points.front().result.provenance;
        const auto gpu_here =
            from.served.simulated ? cards::find_gpu(provenance.hardware) : from.served.datasheet;
        const std::uint32_t count_here = from.served.simulated
                                             ? std::max<std::uint32_t>(1, provenance.hardware_count)
                                         : from.served.priced ? from.served.priced->count
                                                              : 1;
        Elsewhere there{
            .model = options.card_of(from.card_spec, {.weight_dtype = spec.weights, .kv_dtype = spec.kv}),
            .gpu = spec.gpu ? std::optional(cards::gpu_card(*spec.gpu)) : gpu_here,
            .count = spec.tp.value_or(spec.gpu ? 1 : count_here),
            .other_hardware = spec.gpu.has_value() || spec.tp.has_value()};
        WhatIfLimits limits = what_if_limits(from, there, model_here, gpu_here, count_here);
        limits.usd_per_s = usd_per_s_of(from, there, options);
        limits.hit = spec.hit;
        out.title = title_of(there, from.configuration.hardware, spec);
        out.gpus = there.count;
        out.points = estimates_of(from.configuration, loads_of(from.configuration), limits);
        if (out.points.empty()) out.why_not = "no valid run has a limit in both deployments";
    } catch (const UsageError& error) {
        out.why_not = error.what();
    }
    return out;
}

// --- the report
// ----------------------------------------------------------------------------------------------

/// Appends a text to a comma-separated list, unless the list already contains it.
void append_distinct(std::string& list, const std::string& text) {
    if (text.empty() || list == text || list.starts_with(text + ", ") || list.ends_with(", " + text) ||
        list.find(", " + text + ", ") != std::string::npos)
        return;
    list += (list.empty() ? "" : ", ") + text;
}

SourcedTerm rate_term(const std::string& name, const AppliedPrice& price) {
    std::string how = fmt::format("{}, {}", price.rate.how, price.rate.basis);
    if (const double share = cards::earning_share(*price.card); share < 1)
        how += fmt::format("; {} % of the time earns", significant(share * 100));
    return {name, price.rate.usd_per_h, "$/h", fmt::format("{} ({})", how, price.card->name)};
}

void append_distinct(std::vector<SourcedTerm>& terms, SourcedTerm term) {
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(std::move(term));
}

/// Adds one rate for all runs, or the lowest and the highest if their measured power differs.
void add_rates(PriceNote& note, const Configuration& configuration, const AppliedPrice& price) {
    append_distinct(note.card, price.card->name);
    append_distinct(note.as_of, price.card->as_of);
    append_distinct(note.source, price.card->source);
    append_distinct(note.basis, price.rate.basis);
    append_distinct(note.currency, price.card->currency);
    std::vector<std::pair<std::string, AppliedPrice>> rates;  // load label → rate
    for (const ReportPoint& point : configuration.points) {
        rates.emplace_back(point.load_label, price_during(price, point.result));
        append_distinct(note.power, rates.back().second.rate.power);
    }
    const auto [lowest, highest] = std::minmax_element(
        rates.begin(), rates.end(),
        [](const auto& a, const auto& b) { return a.second.rate.usd_per_h < b.second.rate.usd_per_h; });
    if (lowest->second.rate.usd_per_h == highest->second.rate.usd_per_h) {
        append_distinct(note.rates, rate_term(configuration.hardware, lowest->second));
        return;
    }
    for (const auto& end : {*lowest, *highest})
        append_distinct(note.rates,
                        rate_term(fmt::format("{}, {}", configuration.hardware, end.first), end.second));
}

bool has_real_run(const std::vector<Configuration>& configurations) {
    return std::any_of(configurations.begin(), configurations.end(), [](const Configuration& configuration) {
        return std::any_of(configuration.points.begin(), configuration.points.end(),
                           [](const ReportPoint& point) { return !is_simulated(point.result.provenance); });
    });
}

std::vector<std::string> notes_on_options(const std::vector<Configuration>& configurations,
                                          const JoinOptions& options) {
    std::set<std::string> real_models;
    for (const Configuration& configuration : configurations)
        for (const ReportPoint& point : configuration.points)
            if (!is_simulated(point.result.provenance)) real_models.insert(point.result.provenance.model);
    std::vector<std::string> notes;
    for (const CardChoice& choice : options.models) {
        if (choice.selector.empty() && real_models.size() > 1)
            notes.push_back(fmt::format(
                "the model card {} was applied to every real run, though they asked for {} models ({})",
                choice.card.name, real_models.size(), fmt::join(real_models, ", ")));
        if (real_models.empty() && !configurations.empty())
            notes.push_back(
                fmt::format("the model card {} was not used: simulated runs are compared with their profile",
                            choice.card.name));
    }
    for (const MicroResults& micro : options.micro)
        if (micro.invalid_rows > 0)
            notes.push_back(fmt::format("{} row{} of {} ({}) in micro.json {} not valid and left out",
                                        micro.invalid_rows, micro.invalid_rows == 1 ? "" : "s",
                                        micro.device.name, micro.device.id,
                                        micro.invalid_rows == 1 ? "was" : "were"));
    return notes;
}

/// The limits of the searches if all searches have the same limits; otherwise none.
std::vector<std::string> common_slos(const std::vector<SearchPicture>& searches) {
    if (searches.empty()) return {};
    const bool is_one = std::all_of(searches.begin(), searches.end(), [&](const SearchPicture& search) {
        return search.slos == searches.front().slos;
    });
    return is_one ? searches.front().slos : std::vector<std::string>();
}

}  // namespace

ReportModel build_report(std::vector<LoadedRun> runs, const JoinOptions& options) {
    DistinctRuns distinct;
    for (const LoadedRun& run : runs) distinct.add(run.result, run.directory);
    for (const LoadedRun& run : runs) refuse_contradiction(run, wanted_gpu(options), options);
    ReportModel model;
    model.title = options.title;
    model.generated_at = options.generated_at;
    model.version = version();
    for (const LoadedSearch& search : options.searches) model.searches.push_back(picture_of(search, runs));
    for (const LoadedCache& cache : options.caches) model.caches.push_back(picture_of(cache));
    std::set<const MicroResults*> used;
    refuse_unmatched(runs, options.models);
    refuse_unmatched(runs, options.quality);
    std::vector<std::optional<LimitInputs>> limits;  // one for each configuration
    std::vector<std::optional<AppliedPrice>> prices;
    for (RunGroup& group : grouped_runs(std::move(runs), options.group_by, cards::normalised_hardware)) {
        Joined one = joined(std::move(group), options);
        if (one.price) {
            if (!model.price) model.price.emplace();
            add_rates(*model.price, one.configuration, *one.price);
        }
        used.insert(one.micro.begin(), one.micro.end());
        for (const WhatIfSpec& spec : options.what_ifs)
            model.what_ifs.push_back(what_if_of(one, model.configurations.size(), spec, options));
        limits.push_back(std::move(one.limit));
        prices.push_back(one.price);
        model.configurations.push_back(std::move(one.configuration));
    }
    apply_split(model.configurations, prices, options.split);
    if (model.price) model.split_source = options.split.source;
    model.measurement_usd = cost_of_measuring(model.configurations, prices);
    name_configurations(model.configurations);
    std::vector<Slo> slos = options.slos;
    std::vector<std::string> slo_texts = options.slo_texts;
    if (slos.empty()) {
        slo_texts = common_goodput(model.configurations);
        if (slo_texts.empty()) slo_texts = common_slos(model.searches);
        for (const std::string& text : slo_texts) slos.push_back(parse_slo(text));
    }
    model.front = place_on_fronts(model.configurations, {.x = options.front_x,
                                                         .y = options.front_y,
                                                         .over_time = options.over_time,
                                                         .slos = slos,
                                                         .quality_equal = options.quality_equal,
                                                         .anyway = options.anyway});
    for (std::size_t i = 0; i < model.configurations.size(); ++i) {
        Configuration& configuration = model.configurations[i];
        configuration.answer = answer_sentence(
            configuration, limits[i] ? answer_inputs(configuration, *limits[i], prices[i]) : AnswerInputs{});
    }
    model.choice = choices_of(model.configurations, slos, slo_texts);
    model.courses = courses_of(model.configurations);
    model.cost = cost_sheet_of(model, prices, options);
    model.notes = notes_on_options(model.configurations, options);
    // A result that the user named is shown, whether or not a run used its devices.
    for (const MicroResults& micro : options.micro)
        if (options.micro_note.empty() || used.contains(&micro)) model.devices.push_back(picture_of(micro));
    const bool lacks_micro = options.micro.empty() && has_real_run(model.configurations);
    if (!options.micro_note.empty() && (!used.empty() || lacks_micro))
        model.notes.push_back(options.micro_note);
    return model;
}

}  // namespace paretoken::reports
