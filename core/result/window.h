#pragma once
// Finds the steady part of a run, which leaves out its start and its end. The number in flight of a closed
// loop is constant by construction and proves nothing, so latency must be steady too. The verdict may be "no
// steady state".
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
    std::vector<SteadyTest> tests{};  ///< tests of `span`, or those that found no steady state

    bool operator==(const SteadyWindow&) const = default;
};

/// Returns the time from the first scheduled start to 1 ns after the last request left the system, without
/// warm-up. The span is empty without records.
TimeSpan run_of(const RequestTable& records);

/// Finds the steady window. It ends at SummaryOptions::last_dispatch (core/result/summary.h) unless a level
/// shifts. In a closed loop it begins when half of the first SummaryOptions::concurrency requests have
/// ended (these all start together and are not typical) or, if too little time or too few requests are left
/// then, when 95 % of `concurrency` were in flight. If they never were, there is no steady state. A closed
/// loop without `concurrency` is treated as an open loop. In an open loop the window begins when the number
/// in flight first reaches its mean over the second half of the arrivals, or later if the start of the run
/// differs from the rest. If the plan's rate of arrivals changes, the window lies in one of the parts in
/// which it is constant (SummaryOptions::constant_rate): in the steady one with the most requests, if it has
/// a quarter of all. The rules for a run then hold for this part. The window needs at least max(10, 2 ×
/// number in flight) requests and 3 × the median time of a request. The window of a closed loop is then
/// shortened to whole rounds, in which a multiple of `concurrency` requests ended, if enough requests are
/// left. There is no steady state if more than half of its requests failed, if the number of requests of an
/// open loop that are due and not over grows over the second half of the arrivals (where their rate is not
/// constant, also in relation to it), or if there is a trend in the time to first token, the time per output
/// token, the cache hits, (open loop) the number in flight, or, unless SummaryOptions::stationary, the number
/// of arrivals. If one of these shifts to another level, the window is the first part with one level that has
/// at least a quarter of the requests; `how` names the shift.
SteadyWindow steady_window_of(const RequestTable& records, const SummaryOptions& options);

/// Returns when the request left the system: when its exchange was over.
TimePoint end_of(const RequestRecord& record);

/// Returns whether metrics include a request: not warm-up, and not cut off by the end of the run.
constexpr bool is_counted(const RequestRecord& record) {
    return !record.warmup && record.outcome != Outcome::cancelled;
}

}  // namespace paretoken
