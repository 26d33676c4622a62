#pragma once
// Service level objectives: limits on per-request metrics, e.g. "ttft:500 tpot:15" (milliseconds, as users of
// other tools write them). A request is good when it succeeded and met every one; an undefined metric passes.
#include <string>
#include <string_view>
#include <vector>

#include "core/record.h"

namespace paretoken {

struct Slo {
    std::string tag;   ///< a per-request metric of core/metrics.h
    double limit = 0;  ///< in the metric's unit

    bool operator==(const Slo&) const = default;
};

/// "ttft:500", times in milliseconds, or with a unit of their own ("ttft:0.5s"); other limits in the metric's
/// unit
/// ("interactivity:35", at least). "e2el" is accepted for "e2e".
/// Throws UsageError on an unknown tag, naming the known ones.
Slo parse_slo(std::string_view text);

/// In an open loop "ttft" and "e2e" are judged from the scheduled start (ttft_intended, e2e_intended).
bool is_good(const RequestRecord& record, const std::vector<Slo>& slos, bool open_loop);

}  // namespace paretoken
