#pragma once
// What readings of power come to: energy, mean power, and joules per token. Pure.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cards/power_meter.h"
#include "core/result/result.h"
#include "core/result/totals.h"
#include "core/units.h"

namespace paretoken::power {

struct PowerReading {
    TimePoint at;
    cards::PowerSample sample;

    bool operator==(const PowerReading&) const = default;
};

/// What was read while a load was made.
struct PowerReadings {
    std::string source;                  ///< "nvml", "rapl", "dcgm"; empty: nothing was there to be read
    std::vector<PowerReading> readings;  ///< ascending in time
};

/// Readings further apart than this say nothing of the time between them.
inline constexpr Duration kLongestGap = std::chrono::seconds(3);

/// Joules over `span`: the integral of the power by the trapezoid rule, interpolated at the edges; of a meter
/// that only counts energy, the growth of its counter, interpolated likewise. Nothing where readings are
/// further apart than kLongestGap anywhere in the span, or do not enclose it.
std::optional<double> energy_over(std::span<const PowerReading> readings, TimeSpan span);

/// Joules over `span` by the energy counter; nothing where there is none, or as above.
std::optional<double> counted_energy_over(std::span<const PowerReading> readings, TimeSpan span);

/// `totals`: of the window. Nothing when there are no readings.
std::optional<PowerFigures> power_figures(const PowerReadings& power, TimeSpan window, const Totals& totals);

/// Mean power per second, in seconds since `zero`: the series "power_w".
std::optional<Series> power_series(const PowerReadings& power, TimePoint zero);

}  // namespace paretoken::power
