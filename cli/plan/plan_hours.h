#pragma once
// The hours of a demand in `paretoken plan`: the servers of every hour with their rent, and an autoscaler.
#include <cstdint>
#include <optional>
#include <string>

#include "reports/analysis/plan/plan.h"

namespace paretoken::cli {

/// The options of the autoscaler, as the user gave them.
struct ScalingOptions {
    std::string cold_start = {};  ///< a time, or a directory of runs that started servers
    std::optional<std::uint64_t> least = {};
    std::optional<std::uint64_t> most = {};
};

/// Throws UsageError for a wrong option of the autoscaler, or for one without the hours of a demand.
void check_scaling(const reports::Demand& demand, const ScalingOptions& options);

/// Adds to a plan with a demand by hour what the hours need of the best cell's servers, and what an
/// autoscaler makes of them. The options must have passed check_scaling().
void plan_hours(reports::DeploymentPlan& plan, const ScalingOptions& options);

}  // namespace paretoken::cli
