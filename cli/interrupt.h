#pragma once
// Ctrl-C (SIGTERM, or SIGHUP of a terminal that closes) as a stop request: the first ends the measurement in
// good order, the second ends the process. Where requests in flight are followed after the first, the second
// cuts them off, and the third ends the process. Make one before any thread is started: threads inherit the
// blocked signals.
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

    static constexpr std::string_view kFollowing =
        "\nnothing more is started; requests in flight are followed for the time of --grace (once more to "
        "cut "
        "them off)\n";
    static constexpr std::string_view kCuttingOff =
        "\ncutting off what is in flight: what was measured is being written (once more to give up)\n";

    /// `first` is what the first signal prints; it must outlive this (a literal). With `second`, what the
    /// second one prints, the second signal asks to cut off.
    explicit InterruptWatch(std::string_view first = kEndingTheRun, std::string_view second = {});
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
    std::stop_token cut_off() const { return cut_off_.get_token(); }

  private:
    void watch();

    std::string_view first_;
    std::string_view second_;
    std::stop_source source_;
    std::stop_source cut_off_;
    std::atomic<bool> over_{false};
    std::mutex mutex_;  ///< of last_
    std::function<void()> last_;
    std::thread thread_;
};

}  // namespace paretoken::cli
