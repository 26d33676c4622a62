#pragma once
// Notices when the host freezes. A thread sleeps 2 ms at a time and adds up how much later than that it
// wakes. Virtual machines lose time slices that no steal counter shows, and a run must know of them.
#include <atomic>
#include <thread>

#include "core/units.h"

namespace paretoken::loadgen {

class HostMeter {
  public:
    HostMeter();
    ~HostMeter();
    HostMeter(const HostMeter&) = delete;
    HostMeter& operator=(const HostMeter&) = delete;

    /// Ends the measurement. Returns the share of the time since construction lost in pauses above 1 ms.
    double lost_share();

  private:
    void watch();

    std::atomic<bool> stop_{false};
    TimePoint began_;
    Duration lost_{};
    std::thread thread_;
};

}  // namespace paretoken::loadgen
