#pragma once
// Computes W3C Trace Contexts (https://www.w3.org/TR/trace-context/) from request ids, so that the trace that
// a server recorded of a request can be found. The functions are pure.
#include <string>
#include <string_view>

namespace paretoken {

/// Returns the trace id of a request: 32 lower-case hexadecimal digits, a hash (core/text/content_hash.h)
/// of the request's id. Request ids differ between runs, and therefore trace ids do.
std::string trace_id_of(std::string_view request_id);

/// Returns the value of a traceparent header, "00-TRACE-SPAN-01". TRACE is trace_id_of(). SPAN has 16
/// lower-case hexadecimal digits, which are another hash of the request's id. 01 marks the trace as sampled.
std::string traceparent_of(std::string_view request_id);

}  // namespace paretoken
