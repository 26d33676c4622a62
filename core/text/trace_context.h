#pragma once
// Computes W3C Trace Contexts (https://www.w3.org/TR/trace-context/) from request ids. A run stores no trace
// ids: those of a request can be computed again from its id in requests.jsonl, to find its trace at the
// server. Pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the value of a traceparent header, "00-TRACE-SPAN-01". TRACE has 32 and SPAN has 16 lower-case
/// hexadecimal digits. They are hashes (content_hash()) of the id, so that the same id gives the same value
/// in every run. 01 marks the trace as sampled.
std::string traceparent_of(std::string_view request_id);

}  // namespace paretoken
