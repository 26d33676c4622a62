#pragma once
// Ctrl-C (SIGTERM, or SIGHUP of a terminal that closes) as a stop request: the first ends the measurement in
// good order, the second ends the process. Make one before any thread is started: threads inherit the blocked
// signals.
#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>

namespace paretoken::cli {

class InterruptWatch {
  public:
    static constexpr std::string_view kEndingTheRun =
        "\nending the run: what was measured is being written (once more to give up)\n";

    /// `first` is what the first signal prints; it must outlive this (a literal).
    explicit InterruptWatch(std::string_view first = kEndingTheRun);
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    /// From here on the first signal ends the process at once, after `last`, which another thread calls:
    /// while a command prepares, there is nothing to end in good order, and it may be waiting for a file or a
    /// server.
    void end_at_once(std::function<void()> last);
    /// Undoes it.
    void end_in_order();

    std::stop_token token() const { return source_.get_token(); }

  private:
    void watch();

    std::string_view first_;
    std::stop_source source_;
    std::atomic<bool> over_{false};
    std::mutex mutex_;  ///< of last_
    std::function<void()> last_;
    std::thread thread_;
};

}  // namespace paretoken::cli
