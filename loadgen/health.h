#pragma once
// The client's own figures, from its records and its workers' reports: was it the bottleneck? Pure.
#include "core/result/result.h"
#include "core/result/summary.h"
#include "loadgen/run.h"

namespace paretoken::loadgen {

/// Lateness of one request that is this process's doing: `sent` − `scheduled`, less what was spent waiting
/// for the in-flight cap and for a connection. Nothing when it was never sent.
std::optional<Duration> loop_lag_of(const RequestRecord& record);

ClientHealth health_of(const LoadOutcome& outcome, bool open_loop, const TimeSpan& window);

}  // namespace paretoken::loadgen
