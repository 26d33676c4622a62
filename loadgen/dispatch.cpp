#include "loadgen/dispatch.h"

#include <algorithm>
#include <utility>

namespace paretoken::loadgen {
namespace {

constexpr Duration kFirstRest = std::chrono::milliseconds(10);
constexpr int kMostDoublings = 7;  // 1.28 s

}  // namespace

Slots::Slots(std::optional<std::uint64_t> cap, Share share, TimePoint begin, Duration ramp_up)
    : capped_(cap.has_value()) {
    for (std::uint64_t slot = share.worker; slot < cap.value_or(0); slot += share.workers) {
        const double opened = static_cast<double>(slot) / static_cast<double>(*cap);
        free_.push(begin + from_seconds(seconds(ramp_up) * opened));
    }
}

std::optional<TimePoint> Slots::free_since() const {
    if (!capped_) return TimePoint::min();
    if (free_.empty()) return std::nullopt;
    return free_.top();
}

void Slots::take() {
    if (capped_) free_.pop();
}

void Slots::give_back(TimePoint free_since) {
    if (capped_) free_.push(free_since);
}

Dispatcher::Dispatcher(Schedule schedule, const Limits& limits, std::optional<std::uint64_t> cap,
                       const Pacing& pacing, TimePoint begin)
    : schedule_(std::move(schedule)),
      duration_(limits.duration),
      warmup_duration_(limits.warmup_duration),
      pacing_(pacing),
      begin_(begin),
      slots_(cap, schedule_.share(), begin, pacing.ramp_up),
      prefills_(pacing.prefills, schedule_.share(), begin, {}) {}

bool Dispatcher::exhausted(TimePoint now) {
    if (ran_dry_) return true;
    if (schedule_.is_warming_up() && now >= begin_ + *warmup_duration_) schedule_.end_warmup();
    if (stopped_) {
        ran_dry_ = now;
    } else if (!schedule_.next()) {
        ran_dry_ = now;
        ended_by_ = StopKind::requests;
    } else if (duration_ && first_measured_) {
        // An arrival before the end is started however late it is; a closed loop starts nothing after it.
        const TimePoint end = *first_measured_ + *duration_;
        const TimePoint would_start = schedule_.at_once() ? now : begin_ + schedule_.next()->at;
        if (would_start >= end) {
            ran_dry_ = std::min(now, end);
            ended_by_ = StopKind::duration;
        }
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
    const auto slot = slots_.free_since();
    const auto prefill = prefills_.free_since();
    if (!slot || !prefill) return Wait{};
    const TimePoint free_since = std::max({due, *slot, *prefill});
    if (free_since > now) return Wait{free_since};
    if (schedule_.at_once()) return start(free_since, {}, now);
    return start(due, free_since - due, now);
}

Step Dispatcher::start(TimePoint scheduled, Duration slot_wait, TimePoint now) {
    const Planned planned = *schedule_.next();
    schedule_.pop();
    slots_.take();
    prefills_.take();
    ++in_flight_;
    if (prefills_.capped()) without_first_token_.insert({planned.index, planned.warmup});
    if (!planned.warmup && !first_measured_) first_measured_ = now;
    return Start{.planned = planned, .scheduled = scheduled, .slot_wait = slot_wait};
}

void Dispatcher::on_first_token(const RequestKey& request, TimePoint at) {
    if (without_first_token_.erase(request) > 0) prefills_.give_back(at);
}

void Dispatcher::finished(const RequestKey& request, TimePoint slot_free, bool failed) {
    on_first_token(request, slot_free);
    --in_flight_;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
    if (slots_.capped()) slots_.give_back(slot_free + pause_after(request, failed));
}

Duration Dispatcher::pause_after(const RequestKey& request, bool failed) {
    Duration pause{};
    if (failed) pause += kFirstRest * (1 << std::min(failures_in_a_row_ - 1, kMostDoublings));
    if (pacing_.think_time) {
        Random random(
            derived_seed(schedule_.seed(), request.warmup ? "think warm-up" : "think", request.index));
        pause += pacing_.think_time->draw(random);
    }
    return pause;
}

}  // namespace paretoken::loadgen
