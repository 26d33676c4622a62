#pragma once
// Finds the steady part of a run. The number in flight of a closed loop is constant by construction and
// proves nothing, so latency must be steady too. There may be no steady state.
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

/// Returns the time from the first scheduled start to 1 ns after the last end, without warm-up.
TimeSpan run_of(const RequestTable& records);

/// Finds the part of the run, up to SummaryOptions::last_dispatch, in which load and times show no trend, or
/// the first long part with one level; `how` names the shift (docs/statistics.md).
SteadyWindow steady_window_of(const RequestTable& records, const SummaryOptions& options);

/// Returns when the request left the system: when its exchange was over.
TimePoint end_of(const RequestRecord& record);

/// Returns whether metrics include a request: not warm-up, and not cut off by the end of the run.
constexpr bool is_counted(const RequestRecord& record) {
    return !record.warmup && record.outcome != Outcome::cancelled;
}

}  // namespace paretoken
