#pragma once
// What must be said beside a verdict: what its design leaves open, and conditions that differ.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/analysis/gate/gate_report.h"

namespace paretoken::reports {

/// The notes, each one sentence or more. `assumed_spread` is GatePolicy::day_spread.
std::vector<std::string> notes_on(const GateInput& input, double assumed_spread);

/// "4 of 7 runs carry warnings: in_step (3 runs), hiccups (1 run). `paretoken help in_step` says what to
/// do."; empty if no run does
std::string warnings_text(const std::vector<GateRun>& baseline, const std::vector<GateRun>& candidate);

/// A note on what a fail needs beside a 95 % interval, if an undecided row names the change that would have
/// failed. `metrics` share the probability `alpha` of a false fail.
std::optional<std::string> note_on_evidence(std::span<const GateRow> rows, double alpha, std::size_t metrics);

}  // namespace paretoken::reports
