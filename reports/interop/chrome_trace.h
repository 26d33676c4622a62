#pragma once
// A run as a trace in Chrome's trace-event format, which Perfetto shows: requests with their phases in lanes,
// and the server's gauges.
#include <filesystem>
#include <ostream>

namespace paretoken::reports {

/// Of a finished run. Throws UsageError where its files cannot be read.
///
/// A request is a span from when it was due to its last output, with spans inside it: "queue" (due until
/// taken up), "connect" (until a connection was ready), "send", "prefill" (sent until the first output) and
/// "decode" (until the last); prefill and decode add up to its end-to-end latency. Pauses of its stream of at
/// least five times its mean gap and 50 ms are spans "stall" inside "decode". Times are microseconds since
/// the run's start.
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out);

}  // namespace paretoken::reports
