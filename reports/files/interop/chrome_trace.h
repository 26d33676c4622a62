#pragma once
// Writes a run as a trace in Chrome's trace-event format, which Perfetto (ui.perfetto.dev) shows. The trace
// has the requests with their phases, in lanes, and the values that were read from the server's metrics.
#include <filesystem>
#include <ostream>

namespace paretoken::reports {

/// Writes the trace of a run, also of one that was interrupted. Throws UsageError when run.json or
/// requests.jsonl is missing, or when a file cannot be read or is malformed. Without events.bin there are
/// no spans "stall".
///
/// A request is a span from the time when it was due to its last output, or to the end of its connection if
/// it had no output. Inside it are the spans "queue" (from due to started), "connect" (until a connection was
/// ready), "send" (until it was sent), "prefill" (until the first output) and "decode" (until the last
/// output). "prefill" and "decode" add up to its end-to-end latency. Gaps between its output events that are
/// at least 50 ms and at least five times its mean gap are spans "stall" inside "decode". Times are in
/// microseconds since the run's start.
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out);

}  // namespace paretoken::reports
