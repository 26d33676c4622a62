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

/// The watts of one server at the plug, by the price card or else by the card of the GPU.
std::optional<double> server_watts(const cards::PriceCard& card, const PlannedCell& cell) {
    const cards::PricedItem* const item = cards::priced_gpu(card, cell.gpu);
    if (item != nullptr && item->power_w_allin) return *item->power_w_allin * cell.gpus();
    const auto gpu = cards::find_gpu(cell.gpu);
    std::optional<double> board = gpu ? gpu->tdp_w : std::nullopt;
    if (item != nullptr && item->tdp_w) board = item->tdp_w;
    if (!board) return {};
    return *board * card.pue * cell.gpus();
}

/// The time that a server takes to start, and where it comes from.
struct ColdStart {
    double seconds = 120;
    std::string from = "assumed; --cold-start says better";
};
ColdStart cold_start_in(const std::string& text) {
    if (text.empty()) return {};
    if (!std::filesystem::is_directory(text))
        return {seconds(naming("--cold-start", [&] { return parse_duration(text); })), "as given"};
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
    return {percentile(starts, .5), "median of " + text};
}

}  // namespace

void check_scaling(const reports::Demand& demand, const ScalingOptions& options) {
    const bool any = !options.cold_start.empty() || options.least || options.most;
    if (demand.hours.empty() && any)
        throw UsageError(
            "--cold-start, --min-servers and --max-servers need the hours of a demand: give "
            "--demand FILE");
    if (options.least && options.most && *options.least > *options.most)
        throw UsageError(
            fmt::format("--min-servers {} is above --max-servers {}", *options.least, *options.most));
    (void)cold_start_in(options.cold_start);
}

void plan_hours(reports::DeploymentPlan& plan, const ScalingOptions& options) {
    if (plan.demand.hours.empty() || !plan.best || !plan.cells[*plan.best].fleet) return;
    const PlannedCell& cell = plan.cells[*plan.best];
    const cards::PriceCard prices =
        plan.price_card.empty() ? cards::PriceCard{} : cards::price_card(plan.price_card);
    const reports::ServerRates rates = server_rates(prices, cell);
    const double share = plan.demand.target_utilization;
    const double load = reports::load_of_server(plan.demand, cell);
    plan.staircase = reports::staircase_of(plan.demand.hours, load, share, rates);
    const ColdStart start = cold_start_in(options.cold_start);
    const auto [least, most] = std::ranges::minmax(plan.staircase->servers);
    const reports::ScalingRule rule{
        .in_flight_target = *reports::requests_in_flight_target(plan, cell),
        .seconds_in_flight = reports::seconds_in_flight(plan, *cell.speed),
        .least = options.least.value_or(std::min(least, options.most.value_or(least))),
        .most = options.most.value_or(std::max(most, options.least.value_or(most))),
        .cold_start_s = start.seconds};
    reports::ScaledServers scaled = reports::scaled_servers(plan.demand.hours, load, share, rule);
    if (rates.on_demand)
        scaled.usd_per_month = *rates.on_demand * scaled.servers_per_hour * cards::kHoursPerMonth;
    if (const auto watts = server_watts(prices, cell)) scaled.kw = *watts * scaled.servers_per_hour / 1e3;
    plan.autoscaled = scaled;
    plan.cold_start_from = start.from;
}

}  // namespace paretoken::cli
