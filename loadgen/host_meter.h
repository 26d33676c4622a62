#pragma once
// Measures how long the host was frozen. A thread sleeps for 2 ms at a time. If it wakes more than 1 ms late,
// the delay counts as a pause. The thread is needed because virtual machines can lose time slices without any
// steal counter showing it.
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

    /// Ends the measurement. Returns the sum of the pauses ÷ the time since construction. Call it once.
    double lost_share();

  private:
    void watch();

    std::atomic<bool> stop_{false};
    TimePoint began_;
    Duration lost_{};
    std::thread thread_;
};

}  // namespace paretoken::loadgen
