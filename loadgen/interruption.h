#pragma once
// The two requests by which code outside a run can end it: to start nothing more, and to cancel the requests
// in flight as well.
#include <stop_token>
#include <utility>

namespace paretoken::loadgen {

struct Interruption {
    Interruption() = default;
    /// Converts implicitly, because most callers have only one way to stop.
    Interruption(std::stop_token stop, std::stop_token cut = {})  // NOLINT(google-explicit-constructor)
        : stop_starting(std::move(stop)), cut_off(std::move(cut)) {}

    /// Request to start nothing more. Requests in flight are still followed for WorkerOptions::grace
    /// (loadgen/worker.h), and then cancelled.
    std::stop_token stop_starting;
    /// Request to start nothing more and to cancel requests in flight at once.
    std::stop_token cut_off;
};

}  // namespace paretoken::loadgen
