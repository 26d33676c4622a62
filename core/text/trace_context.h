#pragma once
// Makes W3C Trace Contexts (https://www.w3.org/TR/trace-context/) of request ids, so that the traces of a
// server can be joined with requests.jsonl without storing anything more. Pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns "00-TRACE-SPAN-01": 32 and 16 lower-case hexadecimal digits of hashes of the id; sampled.
std::string traceparent_of(std::string_view request_id);

}  // namespace paretoken
