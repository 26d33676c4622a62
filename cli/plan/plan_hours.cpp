#include "cli/plan/plan_hours.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cards/gpu.h"
#include "cards/price.h"
#include "core/error.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "core/units.h"
#include "reports/analysis/plan/engine_command.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

using reports::PlannedCell;

/// The dollars per hour of one server, by the bases that the card has.
reports::ServerRates server_rates(const cards::PriceCard& card, const PlannedCell& cell) {
    const cards::PricedItem* const item = cards::priced_gpu(card, cell.gpu);
    const auto rate = [&](const char* basis) -> std::optional<double> {
        if (item == nullptr || !item->usd_per_h.contains(basis)) return {};
        return cards::hourly_rate(card, {cell.gpu, cell.gpus(), {}}, basis)->usd_per_h;
    };
    return {rate("reserved_1y"), rate("on_demand"), rate("spot")};
}

/// Sets the time that a server takes to start, as --cold-start says.
void set_cold_start(Scaling& scaling, const std::string& text) {
    if (!std::filesystem::is_directory(text)) {
        scaling.cold_start_s = seconds(naming("--cold-start", [&] { return parse_duration(text); }));
        scaling.cold_start_from = "as given";
        return;
    }
    std::vector<double> starts;
    for (const auto& run : reports::find_run_directories(text))
        if (const auto server = reports::read_run_directory(run).provenance.server)
            starts.push_back(server->ready_s);
    if (starts.empty())
        throw UsageError(
            fmt::format("--cold-start {}: its runs did not start a server (--server-cmd); give a "
                        "time such as 120s",
                        text));
    std::ranges::sort(starts);
    scaling.cold_start_s = percentile(starts, .5);
    scaling.cold_start_from = "median of " + text;
}

}  // namespace

std::optional<double> server_watts(const cards::PriceCard& card, const PlannedCell& cell) {
    const cards::PricedItem* const item = cards::priced_gpu(card, cell.gpu);
    if (item != nullptr && item->power_w_allin) return *item->power_w_allin * cell.gpus();
    const auto gpu = cards::find_gpu(cell.gpu);
    std::optional<double> board = gpu ? gpu->tdp_w : std::nullopt;
    if (item != nullptr && item->tdp_w) board = item->tdp_w;
    if (!board) return {};
    return *board * card.pue * cell.gpus();
}

Scaling scaling_of(const reports::Demand& demand, const ScalingOptions& options) {
    const bool any = !options.cold_start.empty() || options.least || options.most;
    if (demand.hours.empty() && any)
        throw UsageError(
            "--cold-start, --min-servers and --max-servers need the hours of a demand: give "
            "--demand FILE, or --log with an hour and a half or more and --slo");
    if (options.least && options.most && *options.least > *options.most)
        throw UsageError(
            fmt::format("--min-servers {} is above --max-servers {}", *options.least, *options.most));
    Scaling scaling{.least = options.least, .most = options.most};
    if (!options.cold_start.empty()) set_cold_start(scaling, options.cold_start);
    return scaling;
}

void plan_hours(reports::DeploymentPlan& plan, const Scaling& scaling) {
    if (plan.demand.hours.empty() || !plan.best || !plan.cells[*plan.best].fleet) return;
    const PlannedCell& cell = plan.cells[*plan.best];
    const cards::PriceCard prices =
        plan.price_card.empty() ? cards::PriceCard{} : cards::price_card(plan.price_card);
    const reports::ServerRates rates = server_rates(prices, cell);
    const double share = plan.demand.target_utilization;
    const double load = cell.speed->load;
    plan.staircase = reports::staircase_of(plan.demand.hours, load, share, rates);
    const auto [least, most] = std::ranges::minmax(plan.staircase->servers);
    const reports::ScalingRule rule{
        .in_flight_target = *reports::requests_in_flight_target(plan, cell),
        .seconds_in_flight = reports::seconds_in_flight(plan, *cell.speed),
        .least = scaling.least.value_or(std::min(least, scaling.most.value_or(least))),
        .most = scaling.most.value_or(std::max(most, scaling.least.value_or(most))),
        .cold_start_s = scaling.cold_start_s};
    reports::ScaledServers scaled = reports::scaled_servers(plan.demand.hours, load, share, rule);
    if (rates.on_demand)
        scaled.usd_per_month = *rates.on_demand * scaled.servers_per_hour * cards::kHoursPerMonth;
    if (const auto watts = server_watts(prices, cell)) scaled.kw = *watts * scaled.servers_per_hour / 1e3;
    plan.autoscaled = scaled;
    plan.cold_start_from = scaling.cold_start_from;
}

}  // namespace paretoken::cli
