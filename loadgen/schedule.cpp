#include "loadgen/schedule.h"

namespace paretoken::loadgen {

Schedule::Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share)
    : at_once_(arrivals.at_once),
      recorded_(arrivals.recorded),
      limits_(limits),
      seed_(seed),
      share_(share),
      warming_up_(arrivals.at_once && limits.warmup_duration) {
    if (!at_once_) times_ = arrivals.times(seed);
    advance();
}

void Schedule::pop() {
    advance();
}

void Schedule::end_warmup() {
    if (!warming_up_) return;
    warming_up_ = false;
    position_ = 0;
    advance();
}

void Schedule::advance() {
    next_.reset();
    while (true) {
        const std::uint64_t position = position_;
        const std::optional<Duration> at = at_once_ ? Duration{} : times_();
        if (!at) return;
        const bool warmup = is_warmup(position, *at);
        if (!warmup && !first_measured_) first_measured_ = position;
        const std::uint64_t index = warmup ? position : position - *first_measured_;
        if (!warmup && limits_.requests && index >= *limits_.requests) return;
        ++position_;
        if (position % share_.workers != share_.worker) continue;
        next_ =
            Planned{.index = index, .warmup = warmup, .at = *at, .place = place_of(position, index, warmup)};
        return;
    }
}

bool Schedule::is_warmup(std::uint64_t position, Duration at) const {
    if (warming_up_) return true;
    if (limits_.warmup_duration) return !at_once_ && at < *limits_.warmup_duration;
    return position < limits_.warmups;
}

/// Warm-up requests are drawn from far behind the measured ones, so that no prompt is seen twice. A trace has
/// one request for every time.
std::uint64_t Schedule::place_of(std::uint64_t position, std::uint64_t index, bool warmup) const {
    constexpr std::uint64_t kWarmups = std::uint64_t{1} << 40;
    if (recorded_) return position;
    return warmup ? kWarmups + index : index;
}

}  // namespace paretoken::loadgen
