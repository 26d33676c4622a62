#pragma once
// Decides whether a run proves anything about the server, by a table of checks with limits and by sentences.
#include <string>
#include <string_view>

#include "core/result/result.h"
#include "core/validity/options.h"

namespace paretoken {

/// Judges a result by everything that it holds; its percentiles must still be there if the load diverged.
/// Figures that were not measured, or are too small to matter (delays below 0.1 to 0.2 ms, a single late
/// request, two busy intervals of 100 ms, a mean length off by a few tokens), pass their checks.
Validity validity_of(const RunResult& result, const ValidityOptions& options = {});

/// Returns whether a check is about the client and its host, and says nothing against the server.
bool is_of_host(std::string_view check);

/// Returns whether a whole run is invalid because of the client's host alone, so that it says nothing about
/// the server, and another one may be valid.
bool spoiled_by_instrument(const RunResult& run);

/// Returns the text of the first reason whose severity is the verdict; empty if there is none.
std::string gravest_reason(const Validity& validity);

/// Returns which records are missing, such as those of a shard, although nothing was interrupted, and why.
/// Empty if none are.
std::string lost_records(const RunResult& result);
bool has_lost_records(const RunResult& result);

/// Returns whether the server answered requests that the result lacks, so that a cost would be too high.
bool lacks_requests(const RunResult& result);

}  // namespace paretoken
