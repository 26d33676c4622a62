#pragma once
// The two ways to end a run from outside. The first starts nothing more and follows requests in flight for
// a time; the second cancels them at once.
#include <stop_token>
#include <utility>

namespace paretoken::loadgen {

struct Interruption {
    Interruption() = default;
    /// Converts implicitly, because most callers have only one way to stop.
    Interruption(std::stop_token stop, std::stop_token cut = {})  // NOLINT(google-explicit-constructor)
        : stop_starting(std::move(stop)), cut_off(std::move(cut)) {}

    std::stop_token stop_starting;
    std::stop_token cut_off;  ///< request to cancel what is in flight
};

}  // namespace paretoken::loadgen
