#pragma once
// When requests are meant to start: THE table of arrival processes. A new one is a row: a name, its fields,
// and a generator of times that is a function of the seed, so that the i-th time is one of seed and i.
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

/// The times of arrivals since the run's start, one with each call, ascending; nothing when there are no
/// more. A copy goes on by itself from where the original is.
using ArrivalTimes = std::function<std::optional<Duration>()>;

/// A process and its fields, checked. `at_once`: every request is due at the start and the in-flight cap
/// paces them (closed loop).
struct Arrivals {
    std::string text;  ///< as given, e.g. "poisson:rate=8"
    bool at_once = true;
    double rate = 0;          ///< requests/s, of a process whose rate changes the mean; 0 when at_once
    bool stationary = false;  ///< the rate is the same at all times
    bool recorded = false;    ///< the dataset has the times: `times` is empty until with_recorded_times()
    double time_scale = 1;    ///< recorded times are multiplied by it
    Duration spread{};        ///< rows of one recorded time are spread over it, before scaling
    /// How many users take turns, the k-th time being that of user k modulo n; nothing: nobody knows whose a
    /// time is.
    std::optional<std::uint64_t> users = {};
    std::function<ArrivalTimes(std::uint64_t seed)> times = {};  ///< empty when at_once
};

struct ArrivalRow {
    std::string_view name;
    std::string_view fields;  ///< for --help
    std::string_view title;
    Arrivals (*make)(const Spec& spec);
};
std::span<const ArrivalRow> arrival_table();

/// Throws UsageError, naming the known processes or what is wrong with a field.
Arrivals arrivals_of(const Spec& spec);

/// "at_once", "constant:rate=8", "poisson:rate=8", "gamma:rate=8,burstiness=0.5". Throws UsageError.
Arrivals parse_arrivals(std::string_view text);

/// Arrivals whose times are those of `dataset`, which must outlive every generator made of them; others as
/// they are. Throws UsageError when the dataset has no times.
Arrivals with_recorded_times(Arrivals arrivals, const datasets::Dataset& dataset);

}  // namespace paretoken::loadgen
