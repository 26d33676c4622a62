#pragma once
// Computes W3C Trace Contexts (https://www.w3.org/TR/trace-context/) from request ids. The traces of a server
// can then be joined with requests.jsonl, the file of a run that holds the ids, and no trace ids need to be
// stored. Pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the value of a traceparent header, "00-TRACE-SPAN-01". TRACE has 32 and SPAN has 16 lower-case
/// hexadecimal digits, which are hashes of the id. 01 marks the trace as sampled.
std::string traceparent_of(std::string_view request_id);

}  // namespace paretoken
