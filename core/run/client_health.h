#pragma once
// Computes from the records and the client's report whether the client itself was the bottleneck.
#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/run/client_report.h"

namespace paretoken {

/// Returns the client's figures. Waits for the caps and the achieved rate exist in open loops only, the mean
/// lateness in closed loops only. `window` is as in ClientHealth.
ClientHealth health_of(const RequestTable& requests, const ClientReport& client, bool open_loop,
                       const TimeSpan& window);

}  // namespace paretoken
