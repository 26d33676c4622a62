#include "reports/analysis/sweep/longer_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/result/metrics.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

/// Returns whether the worst request is within the limit. It is not if nothing is known of it.
bool none_is_over(const SloResult& slo) {
    if (!slo.worst || slo.over > 0) return false;
    const Metric* const metric = metric_named(std::string_view(slo.key).substr(0, slo.key.rfind("_p")));
    const bool least = metric != nullptr && metric->better == Better::higher;
    return least ? *slo.worst >= slo.limit : *slo.worst <= slo.limit;
}

}  // namespace

std::optional<double> times_to_offer(const SloResult& slo) {
    constexpr double kIfNoneIsOver = 1.2;
    constexpr double kIfSomeAreOver = 2.4;  // (2.33 + 1.28)² ÷ 2.33²: 9 in 10 instead of half, at 99 %
    constexpr double kLeast = 4;            // a small factor was found in a run that was good by chance
    if (slo.shown || !slo.times_enough) return std::nullopt;
    if (none_is_over(slo)) return kIfNoneIsOver * *slo.times_enough;
    return std::max(kLeast, kIfSomeAreOver * *slo.times_enough);
}

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
