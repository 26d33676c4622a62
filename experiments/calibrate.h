#pragma once
// Finds the largest load that the client on this host can generate without distorting what it measures. The
// load goes to the simulated server, whose response times are fixed.
#include <functional>
#include <optional>
#include <stop_token>

#include "experiments/server/provenance.h"

namespace paretoken::experiments {

/// The approximate number of open streams during the search for the rate of events.
inline constexpr std::uint64_t kCalibrationStreams = 256;

/// One level of the search: the events that came, and whether they were read in time.
struct CalibrationLevel {
    double asked_per_s = 0;             ///< wanted stream events
    double events_per_s = 0;            ///< stream events that came
    std::optional<double> delay_p99_s;  ///< p99 of the time from the kernel's receive stamp to the read
    bool carried = false;               ///< whether delay_p99_s < 1 ms and events_per_s > 90 % of asked_per_s
};

/// Returns the highest rate of stream events per second, up to about 1 million, that one worker reads in time
/// (0: not even 8000), and calls `level_done` after every level. Leaves no files. Throws RuntimeError when
/// interrupted, when the simulated server does not start, or when a request failed.
double events_ceiling(const Invocation& invocation, const std::stop_token& stop,
                      const std::function<void(const CalibrationLevel&)>& level_done);

/// Returns the highest number of one-token requests per second that one worker carries, with 64 requests in
/// flight over kept-alive connections. Throws as events_ceiling() does.
double requests_ceiling(const Invocation& invocation, const std::stop_token& stop);

/// Returns how many streams the limit on file descriptors allows beside 64 files; 0 if none or unknown.
std::uint64_t streams_ceiling();

}  // namespace paretoken::experiments
