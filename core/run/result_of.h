#pragma once
// Makes the result of a run from what was recorded of it. This is the only function that writes a RunResult.
#include "core/result/result.h"
#include "core/run/judging.h"
#include "core/run/recorded.h"

namespace paretoken {

/// Returns the result of a run; one that has not ended is marked as partial and invalid. What needs an
/// unknown fact is absent, with a reason in `validity`. Equal records give equal results. Throws UsageError
/// for a limit of `judging` that cannot be parsed, and what the source of events throws.
RunResult result_of(const Recorded& recorded, const Judging& judging);

}  // namespace paretoken
