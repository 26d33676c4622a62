#pragma once
// What this machine's own meters say of its electrical power: GPUs by NVIDIA's management library, CPU
// packages by the kernel's powercap files. Asked only, never told to change anything.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::cards {

/// One reading. A quantity that the meter does not have, or did not answer, is absent.
struct PowerSample {
    std::optional<std::uint32_t> devices = {};  ///< that were read: GPUs or CPU packages
    std::optional<double> watts = {};           ///< of all devices together
    std::optional<double> counter_j = {};       ///< energy since some moment, of all together; never falls
    std::optional<bool> throttled = {};         ///< a device's clocks are held down by power or temperature
    std::optional<double> utilization = {};     ///< mean over the devices, 0 to 1
    std::optional<double> sm_clock_hz = {};     ///< the lowest
    std::optional<double> memory_clock_hz = {};
    std::optional<double> temperature_c = {};  ///< the highest
    std::optional<double> memory_bytes = {};   ///< in use, of all together

    bool operator==(const PowerSample&) const = default;
};

class PowerMeter {
  public:
    virtual ~PowerMeter() = default;

    virtual std::string_view source() const = 0;  ///< "nvml", "rapl"
    /// Nothing when no device answered. Not from several threads at once.
    virtual std::optional<PowerSample> read() = 0;
};

/// The GPUs that run processes, or all where none does. Null when there is no library or no GPU that tells
/// its power.
std::unique_ptr<PowerMeter> gpu_power_meter(const std::string& library = "libnvidia-ml.so.1");

/// The CPU packages. Null when there is none whose counter may be read. A counter that falls has wrapped at
/// its range, so it must be read more often than it wraps (once a minute is enough).
std::unique_ptr<PowerMeter> cpu_power_meter(const std::string& powercap = "/sys/class/powercap");

}  // namespace paretoken::cards
