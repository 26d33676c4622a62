#pragma once
// Writes a run as a trace in Chrome's trace-event format, which Perfetto shows: requests with their phases in
// lanes, and the server's gauges.
#include <filesystem>
#include <ostream>

namespace paretoken::reports {

/// Writes the trace of a finished run. Throws UsageError when its files cannot be read.
///
/// A request is a span from its due time to its last output, with spans inside it: "queue" (due until
/// started), "connect" (until a connection was ready), "send", "prefill" (sent until the first output) and
/// "decode" (until the last output); prefill and decode add up to its end-to-end latency. Pauses of its
/// stream of at least five times its mean gap and 50 ms are spans "stall" inside "decode". Times are in
/// microseconds since the run's start.
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out);

}  // namespace paretoken::reports
