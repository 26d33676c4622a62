#include "reports/analysis/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "cards/deployment.h"
#include "cards/price.h"
#include "core/formats.h"
#include "core/stable_sort.h"
#include "core/statistics.h"
#include "reports/analysis/cost/cost.h"

namespace paretoken::reports {
namespace {

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

/// The FLOP of computing a prompt alone, with the output head for its last token:
/// 2 · (P − P_head) · N + 2 · P_head + f · N²/2, where f are the FLOP per pair of tokens. Layers with a
/// window of w tokens have w · N − w²/2 pairs.
double prompt_flops(const cards::ModelCard& model, double tokens) {
    const double head = cards::output_head_flops(model);
    const double window = std::min(tokens, static_cast<double>(model.sliding_window.value_or(0)));
    return (cards::linear_flops_per_token(model) - head) * tokens + head +
           model.attention_flops_per_pair * tokens * tokens / 2 +
           model.windowed_attention_flops_per_pair * (window * tokens - window * window / 2);
}

/// What a cell is ranked by: what it costs in whole cents, then how many GPUs it takes, then how much of them
/// is used, because the rest is a reserve, then the price per hour, then the requests at once.
struct Rank {
    double cents = std::numeric_limits<double>::infinity();
    double gpus = std::numeric_limits<double>::infinity();
    double utilization = 0;
    double usd_per_h = 0;
    double missing_requests = 0;

    auto operator<=>(const Rank&) const = default;
};

Rank rank_of(const PlannedCell& cell) {
    if (cell.fleet)
        return {std::round(100 * cell.fleet->usd_per_month.value_or(1e15)),
                static_cast<double>(cell.fleet->gpus), cell.fleet->utilization};
    return {100 * cell.usd_per_m_output.value_or(1e15), static_cast<double>(cell.gpus()), 0,
            cell.usd_per_h.value_or(1e15), -static_cast<double>(cell.sequences_p50)};
}

bool can_be_best(const PlannedCell& cell, bool needs_speed) {
    return cell.refused.empty() && (!needs_speed || cell.speed);
}

}  // namespace

PlannedLengths lengths_of(std::string input, std::string output, const std::vector<double>& inputs,
                          const std::vector<double>& outputs) {
    std::vector<double> totals;
    totals.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) totals.push_back(inputs[i] + outputs[i]);
    std::sort(totals.begin(), totals.end());
    std::vector<double> sorted_inputs = inputs;
    std::sort(sorted_inputs.begin(), sorted_inputs.end());
    return {.input = std::move(input),
            .output = std::move(output),
            .input_mean = mean_of(inputs),
            .output_mean = mean_of(outputs),
            .input_p99 = percentile(sorted_inputs, .99),
            .total_p50 = percentile(totals, .5),
            .total_p99 = percentile(totals, .99),
            .total_max = totals.back()};
}

SuggestedSettings suggested_settings(const PlannedLengths& lengths, const PlannedCell& cell,
                                     const cards::BatchLimits& engine, std::uint64_t context) {
    constexpr double kReserve = 1.2;
    SuggestedSettings settings;
    settings.max_model_len =
        std::min(context, static_cast<std::uint64_t>(std::ceil(kReserve * lengths.total_p99)));
    settings.max_num_seqs =
        std::clamp<std::uint64_t>(cell.sequences_p50 / cell.deployment.groups(), 1, engine.sequences);
    settings.max_num_batched_tokens = engine.tokens;  // longer prompts are computed in several steps
    return settings;
}

void fill_sizes(PlannedCell& cell, const cards::ModelCard& model, const PlannedLengths& lengths,
                std::uint64_t context) {
    const cards::Deployment& on = cell.deployment;
    cell.fit = cards::fit_of(model, on);
    cell.kv_bytes_per_token = cards::kv_bytes_per_token(model);
    cell.sequence_bytes_p50 = cards::sequence_bytes(model, on, cell.fit, lengths.total_p50);
    cell.sequence_bytes_p99 = cards::sequence_bytes(model, on, cell.fit, lengths.total_p99);
    cell.sequence_bytes_max = cards::sequence_bytes(model, on, cell.fit, lengths.total_max);
    cell.sequences_p50 = cards::sequences_at_once(model, on, cell.fit, lengths.total_p50);
    cell.sequences_p99 = cards::sequences_at_once(model, on, cell.fit, lengths.total_p99);
    cell.sequences_context = cards::sequences_at_once(model, on, cell.fit, static_cast<double>(context));
    cell.pool_tokens = cards::pool_tokens_at(model, on, cell.fit, static_cast<double>(context));
}

PlannedHostCache host_cache_of(const PlannedCell& cell, const cards::ModelCard& model,
                               const PlannedLengths& lengths, double bytes, double bytes_per_s,
                               const std::optional<cards::GpuCard>& gpu) {
    PlannedHostCache cache{.bytes = bytes,
                           .bytes_per_s = bytes_per_s,
                           .tokens = cards::host_cache_tokens(cell.deployment, cell.fit, bytes)};
    cache.load_s = lengths.input_mean * bytes / cache.tokens / bytes_per_s;
    if (!gpu) return cache;
    if (const auto flops = cards::flops_for_weights(*gpu, cell.weights))
        cache.compute_s = prompt_flops(model, lengths.input_mean) / (cell.gpus() * flops->per_s);
    return cache;
}

std::optional<PlannedHostLayers> host_layers_of(const PlannedCell& cell, const cards::ModelCard& model,
                                                double host_bytes_per_s,
                                                const std::optional<cards::GpuCard>& gpu) {
    if (!cell.deployment.gpu_layers) return {};
    PlannedHostLayers layers{.on_gpu = *cell.deployment.gpu_layers,
                             .split = cards::host_split(model, *cell.deployment.gpu_layers),
                             .bytes_per_s = host_bytes_per_s};
    if (gpu) layers.least_s = layers.split.least_seconds(gpu->memory_bytes_per_s, host_bytes_per_s);
    return layers;
}

std::uint64_t replicas_for(const Demand& demand, double load) {
    const double needed = demand.requests_per_s.value_or(demand.users.value_or(0));
    return static_cast<std::uint64_t>(
        std::max(1.0, std::ceil(needed / (load * demand.target_utilization) - 1e-9)));
}

std::optional<std::uint64_t> fewest_within(std::uint64_t estimate,
                                           const std::function<bool(std::uint64_t)>& is_within) {
    constexpr std::uint64_t kMostSteps = 50;
    const std::uint64_t step = std::max<std::uint64_t>(1, estimate / kMostSteps);
    std::uint64_t replicas = estimate;
    while (!is_within(replicas)) {
        replicas += step;
        if (replicas > estimate + estimate / 2 + 1) return {};
    }
    if (replicas == estimate)
        while (replicas > step && is_within(replicas - step)) replicas -= step;
    return replicas;
}

double mean_load(const Demand& demand) {
    if (!demand.hours.empty()) return mean_of(demand.hours);
    return demand.requests_per_s.value_or(demand.users.value_or(0));
}

PlannedFleet fleet_of(const DeploymentPlan& plan, const PlannedCell& cell, std::uint64_t replicas) {
    const PlannedSpeed& speed = *cell.speed;
    const auto count = static_cast<double>(replicas);
    PlannedFleet fleet{.replicas = replicas,
                       .gpus = replicas * cell.gpus(),
                       .utilization = mean_load(plan.demand) / (speed.load * count)};
    if (!cell.usd_per_h) return fleet;
    fleet.usd_per_month = *cell.usd_per_h * count * cards::kHoursPerMonth;
    if (const auto usd = usd_per_m_at_speed(plan, cell); usd && fleet.utilization > 0 && !plan.demand.users)
        fleet.usd_per_m_output = *usd / fleet.utilization;
    return fleet;
}

std::optional<double> usd_per_m_at(const DeploymentPlan& plan, const PlannedCell& cell,
                                   double output_tokens_per_s) {
    constexpr double kSecondsPerHour = 3600;
    if (!cell.usd_per_h) return {};
    return usd_per_m_output(*cell.usd_per_h / kSecondsPerHour / plan.earning_share, output_tokens_per_s);
}

std::optional<double> usd_per_m_at_speed(const DeploymentPlan& plan, const PlannedCell& cell) {
    if (!cell.speed) return {};
    return usd_per_m_at(plan, cell, cell.speed->output_tokens_per_s);
}

PlannedSpeed at_its_rate(PlannedSpeed speed, const PlannedLengths& lengths) {
    speed.requests_per_s = speed.load;
    speed.output_tokens_per_s = speed.load * lengths.output_mean;
    if (speed.goodput_ratio) speed.goodput_per_s = speed.load * *speed.goodput_ratio;
    return speed;
}

CostGiven known_to_cost(const DeploymentPlan& plan, const PlannedCell& cell, const cards::ModelCard& model,
                        const std::optional<cards::GpuCard>& gpu) {
    CostGiven known{.model = model};
    const auto add = [&](const char* name, double value, const char* source) {
        known.numbers[name] = {value, source};
    };
    const double servers = cell.fleet ? static_cast<double>(cell.fleet->replicas) : 1;
    const double gpus = cell.gpus();
    const NumberFormat* const format = find_format(cell.weights);
    add("context", plan.lengths.total_p99, "lengths");
    add("input", plan.lengths.input_mean, "lengths");
    add("output", plan.lengths.output_mean, "lengths");
    add("mix", plan.lengths.input_mean / plan.lengths.output_mean, "lengths");
    add("billion_parameters", static_cast<double>(model.active_parameters) / 1e9, "model card");
    if (format != nullptr) add("bits", 8 * bytes_per_value(*format), "weights");
    if (gpu) {
        const double at_once = cell.deployment.tensor_parallel;  // stages run one after another
        const auto& host = cell.host_layers;
        if (host && host->least_s)
            add("gb_per_s", (host->split.gpu_bytes + host->split.host_bytes) / *host->least_s / 1e9,
                "GPU card and --host-speed");
        else
            add("gb_per_s", at_once * gpu->memory_bytes_per_s / 1e9, "GPU card");
        if (const auto flops = cards::flops_for_weights(*gpu, cell.weights))
            add("tflops", at_once * flops->per_s / 1e12, "GPU card");
        const auto of_4_bits = cards::flops_for_weights(*gpu, "bf16");  // in which they are multiplied
        if (of_4_bits && !model.moe)  // a step reads other experts for each request
            add("tflops_of_4_bits", at_once * of_4_bits->per_s / 1e12, "GPU card");
        if (gpu->tdp_w) add("watts", servers * gpus * *gpu->tdp_w, "GPU card");
    }
    if (cell.usd_per_h) {
        add("usd_per_h", servers * *cell.usd_per_h, "price card");
        add("usd_per_month", servers * *cell.usd_per_h * cards::kHoursPerMonth, "price card");
    }
    if (plan.demand.requests_per_s) add("requests_per_s", *plan.demand.requests_per_s, "demand");
    if (const auto hit = plan.inputs.find("hit"); hit != plan.inputs.end() && hit->second.value > 0)
        known.numbers["hit"] = hit->second;
    if (!cell.speed) return known;
    const double rate = servers * cell.speed->output_tokens_per_s * plan.earning_share;
    add("tokens_per_s", rate, "simulated runs");
    add("all_tokens_per_s", rate * (1 + plan.lengths.input_mean / plan.lengths.output_mean),
        "simulated runs");
    return known;
}

void add_api(CostGiven& known, const PlannedLengths& lengths, double hit, const cards::ApiPrice& api,
             const std::string& name) {
    known.api = api;
    known.api_name = name;
    if (!cards::caches_prompts_of(api, lengths.input_mean)) known.api->cache_read.reset();
    const double mix = lengths.input_mean / lengths.output_mean;
    known.numbers["api_usd_per_m"] = {
        cards::api_usd_per_m(api, mix * (1 - hit), mix * hit, 1, lengths.input_mean), "api:" + name};
}

std::optional<std::size_t> best_of(const std::vector<PlannedCell>& cells, bool needs_speed) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const PlannedCell& cell = cells[i];
        if (!can_be_best(cell, needs_speed)) continue;
        if (!best || rank_of(cell) < rank_of(cells[*best])) best = i;
    }
    return best;
}

std::vector<const PlannedCell*> ranked_cells(const DeploymentPlan& plan) {
    const auto place = [&](const PlannedCell* cell) {
        return std::tuple(!cell->refused.empty(), !can_be_best(*cell, !plan.slos.empty()), rank_of(*cell));
    };
    std::vector<const PlannedCell*> cells;
    for (const PlannedCell& cell : plan.cells) cells.push_back(&cell);
    sort_stably(cells, [&](const PlannedCell* a, const PlannedCell* b) { return place(a) < place(b); });
    return cells;
}

}  // namespace paretoken::reports
