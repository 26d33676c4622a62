#pragma once
// What a power meter said during a load.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace paretoken {

/// One reading. A quantity is absent if no device reported it, `counter_j` unless all did. `memory_bytes` is
/// too low if a device did not report its memory.
struct PowerSample {
    std::optional<std::uint32_t> devices = {};  ///< number of GPUs or CPU packages that were read
    std::optional<double> watts = {};           ///< power of all devices together
    /// The energy of all devices since any moment; the difference of two readings is what counts.
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
    PowerSample sample = {};   ///< values; the utilization is the mean over merged readings
    std::uint32_t merged = 1;  ///< number of readings that it replaces
    // For merged readings only:
    std::optional<double> joules = {};           ///< integral of the power since the previous kept reading
    std::optional<double> throttled_share = {};  ///< share of the readings that were throttled
    Duration longest_gap{};                      ///< longest gap since the previous kept reading

    bool operator==(const PowerReading&) const = default;
};

struct PowerReadings {
    std::string source;                  ///< "nvml", "rapl", "dcgm"; empty means that there was no meter
    std::vector<PowerReading> readings;  ///< ascending in time
    std::uint32_t stride = 1;            ///< largest number of readings that one of them replaces
};

}  // namespace paretoken
