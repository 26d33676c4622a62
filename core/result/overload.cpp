#include "core/result/overload.h"

#include <fmt/format.h>

#include "core/result/figures.h"
#include "core/text/number_text.h"

namespace paretoken {

bool kept_up(const RunResult& result) {
    return !result.window.overloaded && (!result.stop || result.stop->rule != kDiverging);
}

std::string served_text(const RunResult& result) {
    const auto served = result.throughput.at(figure::kRequests);
    if (!result.request_rate || !served) return {};
    const double window_s = result.window.end_s - result.window.begin_s;
    const bool has_arrivals = result.window.steady && result.counts.in_window > 0 && window_s > 0;
    const double arrived = has_arrivals ? static_cast<double>(result.counts.in_window) / window_s : 0;
    if (kept_up(result) && *served >= (has_arrivals ? arrived : *result.request_rate)) return {};
    if (kept_up(result) && has_arrivals)
        return fmt::format("served {} of the {} req/s that arrived", number_text(*served),
                           number_text(arrived));
    return fmt::format("served {} of {} req/s", number_text(*served), number_text(*result.request_rate));
}

std::string overload_text(const RunResult& result) {
    if (kept_up(result)) return {};
    const std::string served = served_text(result);
    return fmt::format("the server does not keep up with the arrivals{}",
                       served.empty() ? "" : fmt::format(" ({})", served));
}

}  // namespace paretoken
