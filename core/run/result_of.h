#pragma once
// Makes the result of a run from what was recorded of it. This is the only function that writes a RunResult.
#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"

namespace paretoken {

/// Returns the result of a run. One that has not ended gives the result of the requests that were recorded,
/// marked as partial and invalid. What needs an unknown fact is absent, and a reason in `validity` says so.
/// The same records give the same result, whether they are in memory or were read from a run directory.
/// Throws UsageError for a limit of `judging` that cannot be parsed, and what the source of events throws.
RunResult result_of(const Recorded& recorded, const Judging& judging);

}  // namespace paretoken
