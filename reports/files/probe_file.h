#pragma once
// Reads and writes the answer texts that a run keeps: answers.jsonl of the load, if the user asked for it,
// and probe.jsonl of the questions that were asked after the load (--probe).
#include <filesystem>
#include <functional>
#include <vector>

#include "reports/analysis/gate/answers.h"

namespace paretoken::reports {

/// Writes the answers and replaces `path`. Throws RuntimeError.
void write_probe_file(const std::filesystem::path& path, const std::vector<ProbeAnswer>& answers);

/// Reads a probe file; empty when there is no such file. A last line that is cut off is left out. Throws a
/// UsageError that names the file, the line and what is wrong.
std::vector<ProbeAnswer> read_probe_file(const std::filesystem::path& path);

/// Calls `visit` with every answer of an answers.jsonl, which is read as in read_probe_file().
void for_each_answer(const std::filesystem::path& path, const std::function<void(const KeptAnswer&)>& visit);

}  // namespace paretoken::reports
