#include "experiments/fleet/clocks.h"

#include <algorithm>

namespace paretoken::experiments {

std::optional<ClockOffset> offset_of(std::span<const ClockExchange> exchanges) {
    const auto trip = [](const ClockExchange& exchange) { return exchange.answered - exchange.asked; };
    const auto shortest = std::ranges::min_element(
        exchanges, [&](const ClockExchange& a, const ClockExchange& b) { return trip(a) < trip(b); });
    if (shortest == exchanges.end()) return std::nullopt;
    const Duration half = trip(*shortest) / 2;
    return ClockOffset{.offset = shortest->other - (shortest->asked + half), .error = half};
}

Duration error_between(const ClockOffset& before, const ClockOffset& after) {
    return std::max(before.error, after.error) + std::chrono::abs(after.offset - before.offset);
}

}  // namespace paretoken::experiments
