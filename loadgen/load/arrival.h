#pragma once
// The table of arrival processes, which set when requests start. A row has a name, its fields, and a
// generator of times. The i-th time depends on the seed and i only (recorded times depend on i only). To add
// a process, add a row.
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
    /// The parts in which the plan keeps one rate, in order: for a ramp the time after it, for steps each
    /// step. For bursts, which repeat, and for recorded times, which have no planned rate, it is the whole
    /// load.
    std::vector<LoadPart> constant_rate = {LoadPart{}};
    /// Returns the seconds within which n requests are expected. Only ramps and steps have it.
    std::function<double(double n)> time_of = {};
    bool recorded = false;  ///< whether the dataset has the times; with_recorded_times() sets `times`
    double time_scale = 1;  ///< factor of recorded times
    /// If several rows have the same recorded time, they are spread evenly over this duration from that time
    /// on. time_scale then multiplies the resulting times.
    Duration spread{};
    /// The number n of users who take turns: the k-th time (from 0) belongs to user k modulo n. Absent if
    /// times do not belong to users.
    std::optional<std::uint64_t> users = {};
    /// Makes the times for a seed. Empty for at_once, and for recorded times until with_recorded_times() sets
    /// it.
    std::function<ArrivalTimes(std::uint64_t seed)> times = {};
};

struct ArrivalRow {
    std::string_view name;
    std::string_view fields;  ///< fields shown by --help
    std::string_view title;
    Arrivals (*make)(const Spec& spec);
};
std::span<const ArrivalRow> arrival_table();

/// Returns the process that `spec` names. Throws UsageError naming the known processes or the mistake in a
/// field.
Arrivals arrivals_of(const Spec& spec);

/// Reads "at_once", "constant:rate=8", "poisson:rate=8", "gamma:rate=8,burstiness=0.5". Throws UsageError.
Arrivals parse_arrivals(std::string_view text);

/// Returns recorded arrivals with the times of `dataset`, which must outlive every generator made of them,
/// and with their mean rate. Returns other arrivals unchanged. Throws UsageError when the dataset has no
/// times.
Arrivals with_recorded_times(Arrivals arrivals, const datasets::Dataset& dataset);

}  // namespace paretoken::loadgen
