#pragma once
// Reads the power meters of this machine: NVIDIA's management library (NVML) for GPUs, and powercap files for
// CPU packages. loadgen/power/dcgm.h has the meter for GPUs of other machines.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/record/power_reading.h"

namespace paretoken::cards {

class PowerMeter {
  public:
    virtual ~PowerMeter() = default;

    virtual std::string_view source() const = 0;  ///< "nvml", "rapl" or "dcgm"
    /// Takes a reading. Returns nothing when the power of a GPU (NVML) or the counter of a CPU package could
    /// not be read, because the sum would be too low, or when the exporter (DCGM) gave no power. Must not be
    /// called from several threads at once.
    virtual std::optional<PowerSample> read() = 0;
};

/// Returns the meter of those GPUs that run compute processes at the time of this call, or of all GPUs if
/// none does. GPUs that do not report their power are left out. Returns null when no GPU is left, or when
/// NVML, whose file name is `library`, cannot be loaded.
std::unique_ptr<PowerMeter> gpu_power_meter(const std::string& library = "libnvidia-ml.so.1");

/// Returns the meter of the CPU packages. Returns null when there is none whose energy counter can be read.
/// The kernel's counters wrap around. If a counter is lower than at the last read(), the meter assumes that
/// it has wrapped exactly once. read() must therefore be called more often than a counter wraps (once a
/// minute is enough).
std::unique_ptr<PowerMeter> cpu_power_meter(const std::string& powercap = "/sys/class/powercap");

}  // namespace paretoken::cards
