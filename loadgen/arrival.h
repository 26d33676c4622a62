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

#include "core/spec.h"
#include "core/units.h"
#include "datasets/dataset.h"

namespace paretoken::loadgen {

/// Returns the times of arrivals since the run's start, one with each call, never earlier than the one
/// before; nothing when there are no more. A copy continues independently from the original's position.
using ArrivalTimes = std::function<std::optional<Duration>()>;

/// A process with its fields, after the checks. `at_once`: every request is due at the start and the
/// in-flight cap paces them (closed loop).
struct Arrivals {
    std::string text;  ///< text of the user, e.g. "poisson:rate=8"
    bool at_once = true;
    double rate = 0;          ///< requests/s; ramp: mean over the ramp; steps: mean of the rates; at_once: 0
    bool stationary = false;  ///< whether the rate is constant
    bool recorded = false;    ///< whether the dataset has the times; with_recorded_times() sets `times`
    double time_scale = 1;    ///< factor of recorded times
    Duration spread{};        ///< time over which rows of one recorded time are spread evenly, before scaling
    /// The number n of users who take turns: the k-th time (from 0) belongs to user k modulo n. Absent if
    /// times do not belong to users.
    std::optional<std::uint64_t> users = {};
    std::function<ArrivalTimes(std::uint64_t seed)> times = {};  ///< empty when at_once
};

struct ArrivalRow {
    std::string_view name;
    std::string_view fields;  ///< fields shown by --help
    std::string_view title;
    Arrivals (*make)(const Spec& spec);
};
std::span<const ArrivalRow> arrival_table();

/// Throws UsageError naming the known processes or the mistake in a field.
Arrivals arrivals_of(const Spec& spec);

/// Reads "at_once", "constant:rate=8", "poisson:rate=8", "gamma:rate=8,burstiness=0.5". Throws UsageError.
Arrivals parse_arrivals(std::string_view text);

/// Returns recorded arrivals with the times of `dataset`, which must outlive every generator made of them,
/// and other arrivals unchanged. Throws UsageError when the dataset has no times.
Arrivals with_recorded_times(Arrivals arrivals, const datasets::Dataset& dataset);

}  // namespace paretoken::loadgen
