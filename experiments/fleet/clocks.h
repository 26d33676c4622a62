#pragma once
// The difference between the clocks of two hosts, from exchanges of their times.
#include <optional>
#include <span>

#include "core/units.h"

namespace paretoken::experiments {

/// One exchange: asked at `asked` and answered at `answered` on our clock, when the other clock was `other`.
struct ClockExchange {
    TimePoint asked;
    TimePoint other;
    TimePoint answered;
};

struct ClockOffset {
    Duration offset{};  ///< the time on the other clock − the time on ours
    Duration error{};   ///< largest error of `offset`

    bool operator==(const ClockOffset&) const = default;
};

/// Returns the offset by the exchange with the shortest round trip: the other clock was read between the
/// question and the answer, so that half of it bounds the error. Nothing without exchanges.
std::optional<ClockOffset> offset_of(std::span<const ClockExchange> exchanges);

/// Returns the largest error between two measured offsets: the larger one plus the change of the offset.
Duration error_between(const ClockOffset& before, const ClockOffset& after);

}  // namespace paretoken::experiments
