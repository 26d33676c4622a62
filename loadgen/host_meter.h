#pragma once
// Notices when the host freezes: a thread that sleeps 2 ms at a time and adds up how much later than that it
// woke. Virtual machines lose slices that no steal counter shows; a run must know.
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

    /// Ends the measurement. Share of the time since construction that was lost in pauses above 1 ms.
    double lost_share();

  private:
    void watch();

    std::atomic<bool> stop_{false};
    TimePoint began_;
    Duration lost_{};
    std::thread thread_;
};

}  // namespace paretoken::loadgen
