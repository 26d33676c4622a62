#pragma once
// Computes from the records and the client's report whether the client itself was the bottleneck.
#include <optional>

#include "core/record/request_table.h"
#include "core/result/result.h"
#include "core/run/client_report.h"

namespace paretoken {

/// Returns how late this process sent a request (sent − scheduled), without its waits for caps and for a
/// connection, at least 0; nothing if it was never sent.
std::optional<Duration> loop_lag_of(const RequestRecord& record);

/// Returns the client's figures. Waits for the caps and the achieved rate exist in open loops only, the mean
/// lateness in closed loops only. `window` is as in ClientHealth.
ClientHealth health_of(const RequestTable& requests, const ClientReport& client, bool open_loop,
                       const TimeSpan& window);

}  // namespace paretoken
