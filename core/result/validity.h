#pragma once
// Decides whether a run proves anything about the server, from the client's own figures. There is one table
// of checks; each compares a figure with a WARN and an INVALID limit, and the verdict names it.
#include "core/result/result.h"

namespace paretoken {

struct ValidityOptions {
    double max_failed = 0.10;  ///< share of requests that may fail before the run is invalid

    bool operator==(const ValidityOptions&) const = default;
};

/// Judges a result by `result.client`, `.metrics`, `.counts`, `.window`, `.workload` and `.partial`. A figure
/// that was not measured passes its check, and so does one too small to matter on any host (delays below 0.1
/// to 0.2 ms, a single late request).
Validity validity_of(const RunResult& result, const ValidityOptions& options = {});

/// Judges a result again that already has a verdict, for example one from a file. Its reasons
/// that no check here gives (lost records) stay.
Validity judged_anew(const RunResult& result, const ValidityOptions& options);

}  // namespace paretoken
