#pragma once
// Computes the verdict of a gate from the runs of a baseline and a candidate.
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"
#include "reports/analysis/gate/same_work.h"

namespace paretoken::reports {

/// The looks of a gate with at most `policy.max_pairs` pairs, which share the policy's alpha and beta; and
/// the single look after `pairs` measured pairs, which uses all of both.
std::vector<Look> looks_of(const GatePolicy& policy);
std::vector<Look> one_look(const GatePolicy& policy, std::uint64_t pairs);

/// Checks that all runs can be compared with the first baseline run, which must exist. Throws a UsageError
/// for a difference of work that `across` does not allow, or an Error with ExitCode::measurement_invalid for
/// a run that is not valid and complete, unless only a candidate's requests failed.
void require_comparable(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                        const std::set<Across>& across);

/// The reason why a run cannot be used (it was interrupted or is invalid); empty when it can be used. Failed
/// requests do not exclude a candidate's run, because a gate judges them.
std::string why_unusable(const RunResult& run, bool is_candidate);

/// The report of a gate that ended because the instrument spoiled a run twice: inconclusive, with `what`
/// first in its headline; the metrics stay judged by the runs before.
GateReport ended_by_instrument(GateReport report, const std::string& what);

/// The report of a gate that --max-time ended: if that was before the first look, its headline and its
/// metrics say how many pairs were measured and what to do.
GateReport ended_by_time(GateReport report);

/// The verdict on runs that passed require_comparable(), and the data that it follows from. Throws UsageError
/// when the policy names a class that no run has.
GateReport decided(const GatePolicy& policy, const GateInput& input);

}  // namespace paretoken::reports
