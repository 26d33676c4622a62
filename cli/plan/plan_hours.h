#pragma once
// The hours of a demand in `paretoken plan`: the servers of every hour with their rent, and an autoscaler.
#include <cstdint>
#include <optional>
#include <string>

#include "cards/price.h"
#include "reports/analysis/plan/plan.h"

namespace paretoken::cli {

/// The options of the autoscaler, as the user gave them.
struct ScalingOptions {
    std::string cold_start = {};  ///< a time, or a directory of runs that started servers
    std::optional<std::uint64_t> least = {};
    std::optional<std::uint64_t> most = {};
};

/// The bounds of the autoscaler and the start of its servers, as far as they do not follow from the plan.
struct Scaling {
    std::optional<std::uint64_t> least = {};
    std::optional<std::uint64_t> most = {};
    double cold_start_s = 120;
    std::string cold_start_from = "assumed; --cold-start says better";
};

/// Reads the options. Throws UsageError for a wrong one, or for one without the hours of a demand.
Scaling scaling_of(const reports::Demand& demand, const ScalingOptions& options);

/// Returns the watts of one server at the plug, by the price card or else by the card of the GPU and the
/// price card's PUE; nothing if neither states them.
std::optional<double> server_watts(const cards::PriceCard& card, const reports::PlannedCell& cell);

/// Adds to a plan with a demand by hour what the hours need, and what an autoscaler makes of them.
void plan_hours(reports::DeploymentPlan& plan, const Scaling& scaling);

}  // namespace paretoken::cli
