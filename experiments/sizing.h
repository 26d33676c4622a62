#pragma once
// Finds the highest load that simulated servers carry within limits, for a plan of deployments. It is the
// search of a sweep (experiments/sweep/slo_search.h) in virtual time.
#include <filesystem>
#include <optional>
#include <stop_token>

#include "core/plan/plan.h"
#include "experiments/server/provenance.h"
#include "experiments/server/resolve.h"
#include "reports/analysis/plan/plan.h"

namespace paretoken::experiments {

struct FoundLoad {
    std::optional<reports::PlannedSpeed> speed = {};  ///< nothing if no load is within the limits
    std::string why_none = {};  ///< what one request at a time misses; empty with a speed
};

/// Searches over `axis` for the highest load of the simulated server of `asked` ("sim:PROFILE", in virtual
/// time) that meets its limits, with runs in `directory`. Throws UsageError for wrong options, RuntimeError
/// when a stop is requested or nothing can be written.
FoundLoad highest_simulated_load(const LoadPlan& asked, Axis axis, double most,
                                 const std::filesystem::path& directory, const Invocation& invocation,
                                 const std::stop_token& stop);

/// Returns the speed at a load if a simulated run in `directory` is within the limits of `asked`.
std::optional<reports::PlannedSpeed> speed_within_limits(const LoadPlan& asked, Axis axis, double load,
                                                         const std::filesystem::path& directory,
                                                         const Invocation& invocation,
                                                         const std::stop_token& stop);

}  // namespace paretoken::experiments
