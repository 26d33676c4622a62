#pragma once
// Writes a run as a trace in Chrome's trace-event format, which Perfetto (ui.perfetto.dev) shows. The trace
// has the requests with their phases, in lanes, and the values that were read from the server's metrics.
#include <filesystem>
#include <ostream>

namespace paretoken::reports {

/// Writes the trace of a run, also of one that was interrupted, with times in microseconds since the run's
/// start. Throws UsageError when run.json or requests.jsonl is missing, or when a file cannot be read or is
/// malformed. Without events.bin there are no spans "stall".
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out);

}  // namespace paretoken::reports
