#pragma once
// Computes from records and workers' reports whether the client itself was the bottleneck. Pure.
#include "core/result/result.h"
#include "core/result/summary.h"
#include "loadgen/run.h"

namespace paretoken::loadgen {

/// Returns the lateness of one request that this process caused: `sent` − `scheduled`, less the time spent
/// waiting for the in-flight cap and for a connection. Returns nothing if it was never sent.
std::optional<Duration> loop_lag_of(const RequestRecord& record);

ClientHealth health_of(const LoadOutcome& outcome, bool open_loop, const TimeSpan& window);

}  // namespace paretoken::loadgen
