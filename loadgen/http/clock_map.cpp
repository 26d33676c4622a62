#include "loadgen/http/clock_map.h"

#include <algorithm>

namespace paretoken::http {
namespace {

constexpr Duration kRenewal = std::chrono::milliseconds(100);

Duration since_epoch(const timespec& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

ClockMap::ClockMap() {
    measure();
    largest_jump_ = {};
}

void ClockMap::refresh(TimePoint now) {
    if (now - renewed_ < kRenewal) return;
    const Duration before = offset_;
    measure();
    largest_jump_ = std::max(largest_jump_, std::chrono::abs(offset_ - before));
}

TimePoint ClockMap::monotonic(const timespec& realtime) const {
    return TimePoint(since_epoch(realtime) + offset_);
}

void ClockMap::measure() {
    // The tightest of a few brackets is the one least disturbed by an interrupt.
    Duration tightest = Duration::max();
    for (int i = 0; i < 4; ++i) {
        timespec real{};
        const TimePoint before = Clock::now();
        clock_gettime(CLOCK_REALTIME, &real);
        const TimePoint after = Clock::now();
        if (after - before < tightest) {
            tightest = after - before;
            offset_ = before.time_since_epoch() + (after - before) / 2 - since_epoch(real);
        }
        renewed_ = after;
    }
}

}  // namespace paretoken::http
