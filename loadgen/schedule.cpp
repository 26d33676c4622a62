#include "loadgen/schedule.h"

namespace paretoken::loadgen {

Schedule::Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share)
    : at_once_(arrivals.at_once), limits_(limits), seed_(seed), share_(share) {
    if (!at_once_) times_ = arrivals.times(seed);
    advance();
}

void Schedule::pop() {
    advance();
}

void Schedule::advance() {
    next_.reset();
    while (true) {
        const std::uint64_t position = position_;
        const bool warmup = position < limits_.warmups;
        const std::uint64_t index = warmup ? position : position - limits_.warmups;
        if (!warmup && limits_.requests && index >= *limits_.requests) return;
        const std::optional<Duration> at = at_once_ ? Duration{} : times_();
        if (!at) return;
        ++position_;
        if (position % share_.workers != share_.worker) continue;
        next_ = Planned{.index = index, .warmup = warmup, .at = *at};
        return;
    }
}

}  // namespace paretoken::loadgen
