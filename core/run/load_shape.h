#pragma once
// The kind of a load, and its parts in time.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// A part of a load, in time since the run's start. By default it is the whole load.
struct LoadPart {
    Duration begin{};
    Duration end = Duration::max();

    bool operator==(const LoadPart&) const = default;
};

/// Returns the parts of a load that began at `began`, on the clock.
std::vector<TimeSpan> spans_of(const std::vector<LoadPart>& parts, TimePoint began);

struct LoadShape {
    bool open_loop = false;  ///< whether at least one class is an open loop
    bool stationary = true;  ///< whether the arrivals of every class have a constant rate
    std::vector<LoadPart> constant_rate = {LoadPart{}};  ///< parts in which every class has a constant rate
    std::optional<std::uint64_t> concurrency = {};       ///< cap on requests in flight
    std::optional<double> request_rate = {};             ///< wanted requests/s of an open loop
    /// The number of requests that a closed loop keeps in flight. Absent if there is no cap, or if think
    /// times or a cap on prefills keep the load below it.
    std::optional<std::uint64_t> kept_in_flight = {};
    bool virtual_time = false;
    bool keeps_length = false;       ///< whether the server generates as many tokens as it is asked for
    bool ignores_end = false;        ///< whether answers continue after their end of text (ignore_eos)
    bool routes_to_experts = false;  ///< whether the model is known to be a mixture of experts
    std::vector<std::string> targets = {};  ///< URLs of the servers

    bool operator==(const LoadShape&) const = default;
};

}  // namespace paretoken
