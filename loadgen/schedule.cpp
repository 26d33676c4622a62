#include "loadgen/schedule.h"

namespace paretoken::loadgen {

Schedule::Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share)
    : arrivals_(arrivals), limits_(limits), seed_(seed), share_(share) {
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
        if (!arrivals_.at_once) at_ += arrivals_.gap(arrivals_, seed_, position);
        ++position_;
        if (position % share_.workers != share_.worker) continue;
        next_ = Planned{.index = index, .warmup = warmup, .at = at_};
        return;
    }
}

}  // namespace paretoken::loadgen
