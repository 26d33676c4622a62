#pragma once
// Makes the result of a run from what was recorded of it. This is the only function that writes a RunResult.
#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"

namespace paretoken {

/// Returns the result of a run: its window, counts, metrics, figures and series, the scopes of its classes,
/// turns and targets, the figures of client, server and power, the score of a probe, verdicts and alerts. A
/// run that has not ended gives the result of the requests that were recorded, marked as partial and invalid.
/// If the load diverged, the percentiles, means, standard deviations, minima and maxima of all metrics are
/// left out, because they would depend on the length of the run. What needs an unknown fact is absent, and a
/// reason in `validity` says so. The same records give the same result, whether they are in memory or were
/// read from a run directory. Throws UsageError for a limit of `judging` that cannot be parsed, and what the
/// source of events throws.
RunResult result_of(const Recorded& recorded, const Judging& judging);

}  // namespace paretoken
