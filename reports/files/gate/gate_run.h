#pragma once
// Reads the runs that a gate compares, and writes the compact copy that a baseline keeps: run.json,
// gate-run.json ("paretoken/gate-run/1": finish reasons, faults of answers) and probe.jsonl, at most 200 KB.
#include <filesystem>

#include "reports/analysis/gate/gate_run.h"

namespace paretoken::reports {

/// Reads a finished run: its result, the finish reasons and the faults of the kept answers of its successful
/// requests, and the answers to the questions of --probe. Throws UsageError when a file of the run or of a
/// compact copy is missing or malformed.
GateRun read_gate_run(const std::filesystem::path& directory);

/// Writes the compact copy into `directory`, which is created. Long answers to questions are cut, and series
/// over time are left out. Throws RuntimeError.
void write_gate_run(const std::filesystem::path& directory, const GateRun& run);

}  // namespace paretoken::reports
