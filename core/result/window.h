#pragma once
// Which stretch of a run was steady. Ramp-up and drain are outside; a closed loop's in-flight is constant by
// construction and proves nothing, so latency must also hold still. The verdict may be "no steady state".
#include <string>
#include <vector>

#include "core/evidence/steadiness.h"
#include "core/record/record.h"
#include "core/record/request_table.h"
#include "core/result/summary.h"

namespace paretoken {

struct SteadyWindow {
    TimeSpan span;  ///< the whole run when not steady
    bool steady = false;
    std::string how;                  ///< one sentence
    bool overloaded = false;          ///< an open loop whose queue grew: the server does not keep up
    std::vector<SteadyTest> tests{};  ///< of the span, or of the stretch in which no steady state was found

    bool operator==(const SteadyWindow&) const = default;
};

/// From the first request's scheduled start to just past the last byte; warm-up is outside. Records may be
/// empty.
TimeSpan run_of(const RequestTable& records);

/// Closed loop: from when half of the first `concurrency` requests had ended (the lockstep first wave is
/// ramp), or if that leaves too few from when in-flight reached the cap. Open loop: from when in-flight first
/// reached its mean over the second half of the arrivals and the start that differs from the rest was cut,
/// and only when the number in flight does not grow. Both: to the last dispatch, at least max(10, 2 ×
/// in-flight) requests and 3 × the median time of a request, and neither a trend nor a shift in the time to
/// first token, the time per output token, the cache hits and (open loop) the number in flight. Where a level
/// shifts, the window is the first plateau that holds at least a quarter of the requests; `how` names the
/// other one.
SteadyWindow steady_window_of(const RequestTable& records, const SummaryOptions& options);

/// When the request left the system.
TimePoint end_of(const RequestRecord& record);

/// No part of any metric: made to warm up, or cut off by the end of the run.
constexpr bool is_counted(const RequestRecord& record) {
    return !record.warmup && record.outcome != Outcome::cancelled;
}

}  // namespace paretoken
