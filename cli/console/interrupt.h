#pragma once
// Turns SIGINT, SIGTERM and SIGHUP into stop requests. The first signal ends the measurement properly; the
// second cuts requests in flight off if the command follows them, and the last one ends the process. Create
// the InterruptWatch before any thread, because threads inherit the blocked signals.
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
        "\nending the run: what was measured is being written (press Ctrl-C again to end at once)\n";

    static constexpr std::string_view kFollowing =
        "\nno further request is started; those in flight are followed for the time of --grace (press Ctrl-C "
        "again to cut them off)\n";
    static constexpr std::string_view kCuttingOff =
        "\ncutting off the requests in flight: what was measured is being written (press Ctrl-C again to end "
        "at once)\n";

    /// `first` is printed on the first signal. If `second` is given, it is printed on the second signal,
    /// which then requests cut_off(). Neither text is copied: both must outlive this object, as literals do.
    explicit InterruptWatch(std::string_view first = kEndingTheRun, std::string_view second = {});
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    /// The time in which there is no measurement to end properly. A signal then makes the thread of the
    /// InterruptWatch call `last`, print that nothing was measured, and end the process, until end() is
    /// called or this object is destroyed. The InterruptWatch must outlive it.
    class Preparation {
      public:
        Preparation(InterruptWatch& watch, std::function<void()> last);
        ~Preparation() { end(); }
        Preparation(const Preparation&) = delete;
        Preparation& operator=(const Preparation&) = delete;
        void end();

      private:
        InterruptWatch& watch_;
    };

    /// Makes `say` print the texts instead, so that they do not land in the middle of a panel; an empty
    /// function ends this. `say` is called by the thread of this object.
    void print_by(std::function<void(std::string_view)> say);

    std::stop_token token() const { return source_.get_token(); }
    /// The second signal requests the stop of this token, if the constructor was given `second`.
    std::stop_token cut_off() const { return cut_off_.get_token(); }

  private:
    void watch();
    void print(std::string_view text);

    std::string_view first_;
    std::string_view second_;
    std::stop_source source_;
    std::stop_source cut_off_;
    std::atomic<bool> over_{false};
    std::mutex mutex_;  ///< guards last_ and say_
    std::function<void()> last_;
    std::function<void(std::string_view)> say_;
    std::thread thread_;
};

}  // namespace paretoken::cli
