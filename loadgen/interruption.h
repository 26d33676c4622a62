#pragma once
// The two requests by which code outside a run can end it: to start nothing more, and to cancel the rest.
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace paretoken::loadgen {

struct Interruption {
    Interruption() = default;
    /// Converts implicitly, because most callers have only one way to stop.
    Interruption(std::stop_token stop, std::stop_token cut = {})  // NOLINT(google-explicit-constructor)
        : stop_starting(std::move(stop)), cut_off(std::move(cut)) {}

    /// Request to start nothing more. Requests in flight have WorkerOptions::grace, and are then cancelled.
    std::stop_token stop_starting;
    /// Request to start nothing more and to cancel requests in flight at once.
    std::stop_token cut_off;
};

/// Calls functions when an interruption requests to start nothing more, and to cancel what is in flight.
class OnInterruption {
  public:
    OnInterruption(const Interruption& interruption, std::function<void()> stop, std::function<void()> cut)
        : stop_(interruption.stop_starting, std::move(stop)), cut_(interruption.cut_off, std::move(cut)) {}

  private:
    std::stop_callback<std::function<void()>> stop_;
    std::stop_callback<std::function<void()>> cut_;
};

/// An interruption that passes on those of others.
class PassedOn {
  public:
    /// Requests what `from` requests.
    void follow(const Interruption& from) {
        followed_.push_back(std::make_unique<OnInterruption>(
            from, [this] { stop_.request_stop(); }, [this] { cut_.request_stop(); }));
    }
    void interrupt() {
        stop_.request_stop();
        cut_.request_stop();
    }
    Interruption interruption() const { return {stop_.get_token(), cut_.get_token()}; }

  private:
    std::stop_source stop_;
    std::stop_source cut_;
    std::vector<std::unique_ptr<OnInterruption>> followed_;
};

}  // namespace paretoken::loadgen
