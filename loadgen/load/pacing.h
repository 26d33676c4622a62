#pragma once
// What paces the requests of a class besides their arrivals.
#include <cstdint>
#include <optional>

#include "core/plan/hang_up.h"
#include "core/plan/random_duration.h"
#include "core/units.h"

namespace paretoken::loadgen {

/// The rules that pace requests besides their arrivals and the cap on those in flight.
struct Pacing {
    /// Most requests in flight, if the dispatcher's cap counts live jobs.
    std::optional<std::uint64_t> requests = {};
    std::optional<std::uint64_t> prefills = {};  ///< most requests in flight without a first token
    /// Time over which the slots open evenly; nothing: they open one by one (Slots::open_next()).
    std::optional<Duration> ramp_up = Duration{};
    /// The pause of a closed loop's slot after each job, and of a job before each further turn.
    std::optional<RandomDuration> think_time = {};
    double tool_scale = 1;  ///< factor of the times that tools take in the dataset
    /// What replaces the times of tools in the dataset, where there are any.
    std::optional<RandomDuration> tool_time = {};
    std::optional<Duration> idle_cap = {};      ///< longest pause of the dataset before a turn, after scaling
    std::optional<Duration> idle_job_cap = {};  ///< longest time in which a live job has nothing in flight
    /// The longest time with nothing in flight before turns of jobs; one dispatcher has the load.
    std::optional<Duration> idle_system_cap = {};
    std::optional<HangUp> hang_up = {};

    bool operator==(const Pacing&) const = default;
};

}  // namespace paretoken::loadgen
