#pragma once
// Writes a run as a trace in Chrome's trace-event format, which Perfetto (ui.perfetto.dev) shows. The trace
// has the requests with their phases, in lanes, and the values that were read from the server's metrics.
#include <filesystem>
#include <ostream>

namespace paretoken::reports {

/// Writes the trace of a run, also an interrupted one, in microseconds since its start; without events.bin
/// there are no spans "stall". Throws UsageError when a file is missing or malformed.
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out);

}  // namespace paretoken::reports
