#pragma once
// Computes energy, mean power and joules per token from readings of power. The functions are pure.
#include <optional>
#include <span>

#include "core/record/power_reading.h"
#include "core/result/result.h"
#include "core/result/totals.h"
#include "core/units.h"

namespace paretoken {

/// The most readings that a run of any length keeps.
inline constexpr std::size_t kMostReadings = 16384;

/// Adds a reading. Above kMostReadings, neighbours are merged and `stride` doubles; later readings are merged
/// `stride` at a time. The energy between kept readings and the longest gap stay.
void add_reading(PowerReadings& power, const PowerReading& reading);

/// The longest gap between readings that may be interpolated.
inline constexpr Duration kLongestGap = std::chrono::seconds(3);

/// Returns the joules over `span`: the integral of the power by the trapezoid rule, interpolated at the
/// edges; for a meter that only counts energy, the growth of its counter, also interpolated. Returns nothing
/// if readings are further apart than kLongestGap anywhere in the span, or do not enclose it.
std::optional<double> energy_over(std::span<const PowerReading> readings, TimeSpan span);

/// Returns the joules over `span` by the energy counter. Returns nothing if there is no counter, or if the
/// readings have a gap or do not enclose the span (as in energy_over()).
std::optional<double> counted_energy_over(std::span<const PowerReading> readings, TimeSpan span);

/// Returns the figures of the time `window`. `totals` are the sums of its requests and tokens, from which
/// the figures per token follow. Returns nothing when there are no readings or the window is empty.
std::optional<PowerFigures> power_figures(const PowerReadings& power, TimeSpan window, const Totals& totals);

/// Returns the series "power_w": the mean W of intervals of at least 1 s between readings, at their middles
/// in seconds since `zero`, without those of unknown energy; nothing if none is left.
std::optional<Series> power_series(const PowerReadings& power, TimePoint zero);

}  // namespace paretoken
