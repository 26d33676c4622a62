#pragma once
// The table of arrival processes, which set when requests start: a name, fields, and a generator of times.
// The i-th time depends on the seed and i only. To add a process, add a row.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/load_shape.h"
#include "core/spec.h"
#include "core/units.h"
#include "datasets/dataset.h"

namespace paretoken::loadgen {

/// Returns the times of arrivals since the run's start, one with each call, never earlier than the one
/// before; nothing when there are no more. A copy continues independently from the original's position.
using ArrivalTimes = std::function<std::optional<Duration>()>;

/// An arrival process whose fields have been read and checked.
struct Arrivals {
    std::string text;  ///< text of the user, e.g. "poisson:rate=8"
    /// Whether every request is due at the start, so that only the in-flight cap paces them (closed loop).
    bool at_once = true;
    /// The arrivals per second. For a ramp it is the mean over the ramp, for steps the mean of the rates, for
    /// at_once 0, and for recorded times 0 until with_recorded_times() computes it.
    double rate = 0;
    bool stationary = false;  ///< whether the rate is constant
    /// The parts of constant rate, in order: the time after a ramp, each step, or the whole load.
    std::vector<LoadPart> constant_rate = {LoadPart{}};
    /// Returns the seconds within which n requests are expected. Only ramps and steps have it.
    std::function<double(double n)> time_of = {};
    bool recorded = false;  ///< whether the dataset has the times; with_recorded_times() sets `times`
    double time_scale = 1;  ///< factor of recorded times
    /// If several rows have the same recorded time, they are spread evenly over this duration from that time
    /// on. time_scale then multiplies the resulting times.
    Duration spread{};
    /// The number n of users in turn: the k-th time belongs to user k modulo n. Absent: no users.
    std::optional<std::uint64_t> users = {};
    /// Makes the times for a seed; empty for at_once, and before with_recorded_times().
    std::function<ArrivalTimes(std::uint64_t seed)> times = {};
};

struct ArrivalRow {
    std::string_view name;
    std::string_view fields;  ///< fields shown by --help
    std::string_view title;
    Arrivals (*make)(const Spec& spec);
};
std::span<const ArrivalRow> arrival_table();

/// Returns the process that `spec` names. Throws UsageError naming the known ones or the mistake.
Arrivals arrivals_of(const Spec& spec);

/// Returns recorded arrivals with the times and the mean rate of `dataset`, which must outlive every
/// generator, and others unchanged. Throws UsageError when the dataset has no times.
Arrivals with_recorded_times(Arrivals arrivals, const datasets::Dataset& dataset);

}  // namespace paretoken::loadgen
