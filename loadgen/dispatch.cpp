#include "loadgen/dispatch.h"

#include <algorithm>

namespace paretoken::loadgen {
namespace {

constexpr Duration kFirstRest = std::chrono::milliseconds(10);
constexpr int kMostDoublings = 7;  // 1.28 s

}  // namespace

Dispatcher::Dispatcher(const Schedule& schedule, const Limits& limits, std::optional<std::uint64_t> cap,
                       TimePoint begin)
    : schedule_(schedule), duration_(limits.duration), capped_(cap.has_value()), begin_(begin) {
    for (std::uint64_t i = 0; i < cap.value_or(0); ++i) free_slots_.push(begin);
}

bool Dispatcher::exhausted(TimePoint now) {
    if (ran_dry_) return true;
    if (stopped_ || !schedule_.next()) {
        ran_dry_ = now;
    } else if (duration_ && first_measured_) {
        // An arrival before the end is started however late it is; a closed loop starts nothing after it.
        const TimePoint end = *first_measured_ + *duration_;
        const TimePoint would_start = schedule_.at_once() ? now : begin_ + schedule_.next()->at;
        if (would_start >= end) ran_dry_ = std::min(now, end);
    }
    return ran_dry_.has_value();
}

Step Dispatcher::next(TimePoint now) {
    if (exhausted(now)) {
        if (in_flight_ == 0) return Done{};
        return Wait{};
    }
    const TimePoint due = begin_ + schedule_.next()->at;
    if (due > now) return Wait{due};
    if (!capped_) return start(due, {}, now);
    if (free_slots_.empty()) return Wait{};
    const TimePoint free_since = free_slots_.top();
    if (free_since > now) return Wait{free_since};
    free_slots_.pop();
    if (schedule_.at_once()) return start(std::max(due, free_since), {}, now);
    return start(due, std::max(Duration{}, free_since - due), now);
}

Step Dispatcher::start(TimePoint scheduled, Duration slot_wait, TimePoint now) {
    const Planned planned = *schedule_.next();
    schedule_.pop();
    ++in_flight_;
    if (!planned.warmup && !first_measured_) first_measured_ = now;
    return Start{
        .index = planned.index, .warmup = planned.warmup, .scheduled = scheduled, .slot_wait = slot_wait};
}

void Dispatcher::finished(TimePoint slot_free, bool failed) {
    --in_flight_;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
    if (!capped_) return;
    const Duration rest =
        failed ? kFirstRest * (1 << std::min(failures_in_a_row_ - 1, kMostDoublings)) : Duration{};
    free_slots_.push(slot_free + rest);
}

}  // namespace paretoken::loadgen
