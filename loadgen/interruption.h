#pragma once
// How a run is ended from outside: first gently, nothing more is started and what is in flight is followed
// for a time; then at once.
#include <stop_token>
#include <utility>

namespace paretoken::loadgen {

struct Interruption {
    Interruption() = default;
    /// Implicit, since most callers know only one way to stop.
    Interruption(std::stop_token stop, std::stop_token cut = {})  // NOLINT(google-explicit-constructor)
        : stop_starting(std::move(stop)), cut_off(std::move(cut)) {}

    std::stop_token stop_starting;
    std::stop_token cut_off;  ///< what is in flight is cancelled
};

}  // namespace paretoken::loadgen
