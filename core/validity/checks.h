#pragma once
// The checks that compare one figure of a run with two limits.
#include <optional>
#include <span>
#include <string_view>

#include "core/result/result.h"
#include "core/validity/options.h"

namespace paretoken {

/// The figure of a check, which most are shares; absent if it was not measured.
using Share = std::optional<double>;

/// Client delays below this are those of any host, in seconds.
inline constexpr double kDelayFloor = 100e-6;

/// A check of a figure against two limits. Both are exclusive: a figure on the limit passes.
struct Check {
    std::string_view name;
    std::string_view what;  ///< the sentence is "WHAT: 3.1 % OF_WHAT"
    std::string_view of_what;
    Share (*figure)(const RunResult&);
    double warn;
    double invalid;
    bool of_host = false;  ///< whether it is about the client and its host, not about the server
};

/// Returns the checks in the order in which results hold their reasons.
std::span<const Check> checks();

/// The beginning of ServerFigures::note if the server's counters began again within the run.
inline constexpr std::string_view kCountersRestarted = "the server's counters restarted during the run";

/// Returns the reason if the figure is above a limit.
std::optional<Reason> reason_of(const Check& check, const RunResult& run, const ValidityOptions& options);

/// Returns a reason about the client and its host with the severity that the options give it.
Reason of_host(Reason reason, const ValidityOptions& options);

/// Returns the p99 of the delay of events without a kernel stamp, if they are enough to move a percentile, as
/// a share of the median inter-token latency; 0 below the floor. For a run whose events were not kept, the
/// time per output token replaces that latency.
Share unstamped_delay(const RunResult& run);

}  // namespace paretoken
