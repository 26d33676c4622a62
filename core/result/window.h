#pragma once
// Finds the steady part of a run. Ramp-up and drain are outside. A closed loop's in-flight is constant by
// construction and proves nothing, so latency must be steady too. The verdict may be "no steady state".
#include <string>
#include <vector>

#include "core/evidence/steadiness.h"
#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/result/summary.h"

namespace paretoken {

struct SteadyWindow {
    TimeSpan span;  ///< steady time, or the whole run
    bool steady = false;
    std::string how;                  ///< explanation in one sentence
    bool overloaded = false;          ///< whether an open loop's queue grew: the server does not keep up
    std::vector<SteadyTest> tests{};  ///< tests of the span, or of the time without a steady state

    bool operator==(const SteadyWindow&) const = default;
};

/// Returns the time from the first request's scheduled start to just after the last byte, without warm-up.
/// Records may be empty.
TimeSpan run_of(const RequestTable& records);

/// Finds the steady window. Begin in a closed loop: when half of the first `concurrency` requests had ended
/// (the lockstep first wave is ramp-up), or if that leaves too few, when in-flight reached the cap. Begin in
/// an open loop: when in-flight first reached its mean over the second half of the arrivals, after cutting a
/// start that differs from the rest, and only if the number in flight does not grow. Both end at the last
/// dispatch, and need at least max(10, 2 × in-flight) requests and 3 × the median time of a request, and
/// neither a trend nor a shift in the time to first token, the time per output token, the cache hits and
/// (open loop) the number in flight. If a level shifts, the window is the first plateau with at least a
/// quarter of the requests; `how` names the other one.
SteadyWindow steady_window_of(const RequestTable& records, const SummaryOptions& options);

/// Returns when the request left the system.
TimePoint end_of(const RequestRecord& record);

/// Returns whether metrics include a request: not warm-up, and not cut off by the end of the run.
constexpr bool is_counted(const RequestRecord& record) {
    return !record.warmup && record.outcome != Outcome::cancelled;
}

}  // namespace paretoken
