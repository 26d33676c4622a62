#pragma once
// Computes energy, mean power and joules per token from readings of power. The functions are pure.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "core/result/totals.h"
#include "core/units.h"

namespace paretoken {

/// One reading. A quantity is absent if no device reported it. `counter_j` is absent unless all devices
/// reported their counters. The quantities after `counter_j` are computed from those devices that reported
/// them. `memory_bytes` is therefore too low if a device did not report its memory.
struct PowerSample {
    std::optional<std::uint32_t> devices = {};  ///< number of GPUs or CPU packages that were read
    std::optional<double> watts = {};           ///< power of all devices together
    /// The energy of all devices since a moment that the meter chooses. The difference of two readings is the
    /// energy between them.
    std::optional<double> counter_j = {};
    std::optional<bool> throttled = {};      ///< whether power or temperature lowers a device's clocks
    std::optional<double> utilization = {};  ///< share of the time that a GPU is busy, mean of the devices
    std::optional<double> sm_clock_hz = {};  ///< lowest SM clock of a device
    std::optional<double> memory_clock_hz = {};  ///< lowest memory clock of a device
    std::optional<double> temperature_c = {};    ///< highest temperature of a device
    std::optional<double> memory_bytes = {};     ///< memory in use, sum over the devices

    bool operator==(const PowerSample&) const = default;
};

/// A reading, or several neighbouring readings merged into the last of them.
struct PowerReading {
    TimePoint at;
    PowerSample sample;        ///< values; the utilization is the mean over merged readings
    std::uint32_t merged = 1;  ///< number of readings that it replaces
    // For merged readings only:
    std::optional<double> joules = {};           ///< integral of the power since the previous kept reading
    std::optional<double> throttled_share = {};  ///< share of the readings that were throttled
    Duration longest_gap{};                      ///< longest gap since the previous kept reading

    bool operator==(const PowerReading&) const = default;
};

/// The readings made during a load.
struct PowerReadings {
    std::string source;                  ///< "nvml", "rapl", "dcgm"; empty means that there was no meter
    std::vector<PowerReading> readings;  ///< ascending in time
    std::uint32_t stride = 1;            ///< largest number of readings that one of them replaces
};

/// The most readings that a run of any length keeps.
inline constexpr std::size_t kMostReadings = 16384;

/// Adds a reading. Whenever there are more than kMostReadings, every two neighbours after the first reading
/// are merged and `stride` doubles; later readings are merged as they come, `stride` at a time. The energy
/// between kept readings stays that of all readings, and the longest gap is kept.
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

/// Returns the series "power_w": the mean power in W of consecutive intervals from the first reading on. An
/// interval ends at the first reading that is at least 1 s after its beginning. Times are the middles of the
/// intervals, in seconds since `zero`. Intervals of unknown energy are left out. Returns nothing if none is
/// left.
std::optional<Series> power_series(const PowerReadings& power, TimePoint zero);

}  // namespace paretoken
