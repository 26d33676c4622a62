#pragma once
// Reads the runs that a gate compares, and writes the compact copy that a baseline keeps: run.json,
// gate-run.json ("paretoken/gate-run/1": finish reasons, faults of answers) and probe.jsonl, at most 200 KB.
#include <filesystem>

#include "reports/analysis/gate/gate_run.h"

namespace paretoken::reports {

/// Reads a finished run: its result, finish reasons and faults of kept answers, and the answers to --probe.
/// Throws UsageError when a file is missing or malformed.
GateRun read_gate_run(const std::filesystem::path& directory);

/// Writes the compact copy into `directory`, which is created. Long answers to questions are cut, and series
/// over time are left out. Throws RuntimeError.
void write_gate_run(const std::filesystem::path& directory, const GateRun& run);

}  // namespace paretoken::reports
