#include "reports/analysis/sweep/longer_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/slo.h"
#include "reports/document/table.h"

namespace paretoken::reports {
std::optional<double> times_to_offer(const RunResult& run, const std::vector<SloResult>& slos) {
    constexpr double kUnknown = 2;
    double most = 1;
    for (const SloResult& slo : slos) {
        if (slo.shown) continue;
        const auto times = times_to_offer(slo);
        if (!times && !run.window.steady) return std::nullopt;
        most = std::max(most, times.value_or(kUnknown));
    }
    return most;
}

std::string span_text(double seconds) {
    constexpr double kMinute = 60;
    constexpr double kHour = 3600;
    if (seconds < kMinute) return significant(seconds, 2) + " seconds";
    if (seconds < 2 * kHour) return significant(seconds / kMinute, 2) + " minutes";
    return significant(seconds / kHour, 2) + " hours";
}

}  // namespace paretoken::reports
