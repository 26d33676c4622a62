#pragma once
// Computes from the records and the client's report whether the client itself was the bottleneck. The
// functions are pure.
#include <optional>

#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/run/client_report.h"

namespace paretoken {

/// Returns the lateness of one request that this process caused: RequestRecord::sent −
/// RequestRecord::scheduled, less the time spent waiting for the caps on requests in flight and on prefills
/// and for a connection; never below 0. Returns nothing if the request was never sent.
std::optional<Duration> loop_lag_of(const RequestRecord& record);

/// Returns the client's figures. Only an open loop has the waits for the caps and the achieved rate; only a
/// closed loop has the mean lateness. The lateness and the waits of requests, the achieved rate and the
/// load of the CPU are those of `window`, the time that the run's headline figures cover; all other figures
/// are those of the whole run.
ClientHealth health_of(const RequestTable& requests, const ClientReport& client, bool open_loop,
                       const TimeSpan& window);

}  // namespace paretoken
