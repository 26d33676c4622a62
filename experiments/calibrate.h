#pragma once
// How much this host's client can carry, found against the simulated server with fixed times.
#include <functional>
#include <optional>
#include <stop_token>

#include "experiments/target/provenance.h"

namespace paretoken::experiments {

/// About so many streams are open while the rate of events is searched for.
inline constexpr std::uint64_t kCalibrationStreams = 256;

/// One level of the search: what came, and whether it was read in time.
struct CalibrationLevel {
    double asked_per_s = 0;             ///< stream events
    double events_per_s = 0;            ///< that came
    std::optional<double> delay_p99_s;  ///< read − kernel stamp
    bool carried = false;
};

/// Stream events per second that one worker carries; 0 when not even the lowest rate was. `level_done` is
/// told of every level. Leaves no files. Throws RuntimeError when interrupted or a request failed.
double events_ceiling(const Invocation& invocation, const std::stop_token& stop,
                      const std::function<void(const CalibrationLevel&)>& level_done);

/// One-token requests per second that one worker carries over kept-alive connections. Throws as above.
double requests_ceiling(const Invocation& invocation, const std::stop_token& stop);

/// Streams that the limit on file descriptors leaves room for.
std::uint64_t streams_ceiling();

}  // namespace paretoken::experiments
