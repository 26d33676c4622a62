#pragma once
// Repeats a task at a fixed interval on a thread of its own while a load is made.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "core/units.h"

namespace paretoken::loadgen {

class Periodic {
  public:
    /// Calls `task`, which must not throw, on a new thread from `interval` on; missed calls are skipped.
    Periodic(Duration interval, std::function<void()> task);
    ~Periodic();  ///< waits for the current call; none follows
    Periodic(const Periodic&) = delete;
    Periodic& operator=(const Periodic&) = delete;

  private:
    void run();

    Duration interval_;
    std::function<void()> task_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace paretoken::loadgen
