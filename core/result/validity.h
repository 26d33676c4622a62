#pragma once
// Decides whether a run proves anything about the server. Most reasons come from one table of checks. Each
// check compares a figure of the result with a WARN and an INVALID limit; a figure above a limit gives a
// reason with the name of the check.
#include <string>

#include "core/result/result.h"

namespace paretoken {

struct ValidityOptions {
    double max_failed = 0.10;  ///< a run of which a larger share of requests failed is invalid

    bool operator==(const ValidityOptions&) const = default;
};

/// Judges a result by its client's figures, metrics, counts, window, workload, totals, the server's figures
/// and series, power, and RunResult::partial (whether the run was interrupted). A figure that was not
/// measured passes its check. A figure that is too small to matter passes as well (delays below 0.1 to
/// 0.2 ms, a single late request, two busy intervals of 100 ms, a mean length that is off by a few tokens).
Validity validity_of(const RunResult& result, const ValidityOptions& options = {});

/// Judges a result again that already has a verdict, for example one from a file. Reasons that validity_of()
/// never gives (for example for lost records) stay.
Validity judged_anew(const RunResult& result, const ValidityOptions& options);

/// Returns the text of the first reason whose severity is the verdict. Reasons for a warning may precede it.
/// Empty if there is none.
std::string gravest_reason(const Validity& validity);

/// Returns whether the server kept up with the arrivals: the queue of an open loop neither grew during the
/// run nor ended it (the stop rule "diverging").
bool kept_up(const RunResult& result);

}  // namespace paretoken
