#pragma once
// Kernel receive stamps are CLOCK_REALTIME; everything here is CLOCK_MONOTONIC. The offset between the two is
// measured by reading the realtime clock between two readings of the monotonic clock. It is renewed every 100
// ms, so that a slewed clock causes an error of microseconds at most.
#include <ctime>

#include "core/units.h"

namespace paretoken::http {

class ClockMap {
  public:
    ClockMap();

    /// Renews the offset when it is older than 100 ms.
    void refresh(TimePoint now);

    TimePoint monotonic(const timespec& realtime) const;

    /// Largest change of the offset between two renewals: above ~50 µs the wall clock was stepped.
    Duration largest_jump() const { return largest_jump_; }

  private:
    void measure();

    Duration offset_{};  ///< monotonic − realtime
    TimePoint renewed_;
    Duration largest_jump_{};
};

}  // namespace paretoken::http
