#pragma once
// Ctrl-C (or SIGTERM) as a stop request: the first ends the measurement in good order, the second ends the process.
// Make one before any thread is started: threads inherit the blocked signals.
#include <atomic>
#include <stop_token>
#include <thread>

namespace paretoken::cli {

class InterruptWatch {
  public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    std::stop_token token() const { return source_.get_token(); }

  private:
    void watch();

    std::stop_source source_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace paretoken::cli
