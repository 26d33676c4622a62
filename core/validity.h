#pragma once
// Decides whether a run proves anything about the server, from the client's own figures. One table of checks; each
// compares a figure with a WARN and an INVALID limit and names itself in the verdict.
#include "core/result.h"

namespace paretoken {

/// Checks use `result.client`, `.metrics`, `.counts` and `.window`; a figure that was not measured passes its check.
Validity validity_of(const RunResult& result);

}  // namespace paretoken
