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

/// A reading, or several neighbouring ones merged into the last of them.
struct PowerReading {
    TimePoint at;
    cards::PowerSample sample;  ///< the utilization is the mean of what was merged
    std::uint32_t merged = 1;   ///< readings that it stands for
    // Of merged readings only:
    std::optional<double> joules = {};           ///< by the power, since the reading before this one
    std::optional<double> throttled_share = {};  ///< of the readings
    Duration longest_gap{};                      ///< between these and the reading before this one

    bool operator==(const PowerReading&) const = default;
};

/// What was read while a load was made.
struct PowerReadings {
    std::string source;                  ///< "nvml", "rapl", "dcgm"; empty: nothing was there to be read
    std::vector<PowerReading> readings;  ///< ascending in time
    std::uint32_t stride = 1;            ///< readings that each of them stands for by now, at most
};

/// A run of any length holds no more than this.
inline constexpr std::size_t kMostReadings = 16384;

/// Adds a reading in bounded memory: where there are too many, neighbours are merged, each time twice as
/// many as before. The energy between those that stay is that of all readings, and no gap is lost.
void add_reading(PowerReadings& power, const PowerReading& reading);

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
