#pragma once
// When requests are meant to start: THE table of arrival processes. A new one is a struct-free row: a name
// and the gap before its i-th request, a pure function of (seed, i).
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/spec.h"
#include "core/units.h"

namespace paretoken::loadgen {

/// A process and its fields, checked. `at_once`: every request is due at the start and the in-flight cap
/// paces them (closed loop).
struct Arrivals {
    std::string text;  ///< as given, e.g. "poisson:rate=8"
    bool at_once = true;
    double rate = 0;        ///< requests/s; 0 when at_once
    double burstiness = 1;  ///< shape of gamma gaps: 1 = Poisson, < 1 burstier
    Duration (*gap)(const Arrivals&, std::uint64_t seed, std::uint64_t index) = nullptr;
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

}  // namespace paretoken::loadgen
