#pragma once
// Reads the electrical power of this machine from its own meters: GPUs by NVIDIA's management library, CPU
// packages by the kernel's powercap files. The meters are only read; no setting is changed.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::cards {

/// One reading. A quantity is absent if the meter does not have it or did not report it.
struct PowerSample {
    std::optional<std::uint32_t> devices = {};  ///< number of GPUs or CPU packages that were read
    std::optional<double> watts = {};           ///< power of all devices together
    std::optional<double> counter_j = {};       ///< energy of all devices since some moment; never falls
    std::optional<bool> throttled = {};         ///< whether power or temperature lowers any device's clocks
    std::optional<double> utilization = {};     ///< share of the time that a GPU is busy, mean of all devices
    std::optional<double> sm_clock_hz = {};     ///< lowest SM clock of the devices
    std::optional<double> memory_clock_hz = {};  ///< lowest memory clock of the devices
    std::optional<double> temperature_c = {};    ///< highest temperature of a device
    std::optional<double> memory_bytes = {};     ///< memory in use, of all devices together

    bool operator==(const PowerSample&) const = default;
};

class PowerMeter {
  public:
    virtual ~PowerMeter() = default;

    virtual std::string_view source() const = 0;  ///< "nvml", "rapl"
    /// Takes a reading; nothing when one of the devices did not answer, because the sums would be too low.
    /// Must not be called from several threads at once.
    virtual std::optional<PowerSample> read() = 0;
};

/// The meter of those GPUs that run compute processes at the time of the call, or of all GPUs if none does.
/// GPUs that do not report their power are left out. Null when no GPU is left, or when NVML, whose file name
/// is `library`, is absent.
std::unique_ptr<PowerMeter> gpu_power_meter(const std::string& library = "libnvidia-ml.so.1");

/// The meter of the CPU packages. Null when there is none whose counter may be read. A counter that falls has
/// wrapped at its range, so it must be read more often than it wraps (once a minute is enough).
std::unique_ptr<PowerMeter> cpu_power_meter(const std::string& powercap = "/sys/class/powercap");

}  // namespace paretoken::cards
