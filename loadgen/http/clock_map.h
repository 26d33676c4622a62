#pragma once
// Converts the kernel's receive stamps (CLOCK_REALTIME) to CLOCK_MONOTONIC. The offset is measured again when
// it is older than 100 ms, so that a change of the realtime clock falsifies only the stamps of a short time.
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
