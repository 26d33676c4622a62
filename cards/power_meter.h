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
    /// Takes a reading; nothing when one of the devices could not be read, because the sum would be too low.
    /// Must not be called from several threads at once.
    virtual std::optional<PowerSample> read() = 0;
};

/// Returns the meter of the GPUs that run compute processes now, or of all GPUs if none does, without those
/// that do not report their power. Null when no GPU is left or NVML (`library`) cannot be loaded.
std::unique_ptr<PowerMeter> gpu_power_meter(const std::string& library = "libnvidia-ml.so.1");

/// Returns the meter of the CPU packages; null when no energy counter can be read. Counters wrap around, so
/// that read() must be called more often than they do (once a minute is enough).
std::unique_ptr<PowerMeter> cpu_power_meter(const std::string& powercap = "/sys/class/powercap");

}  // namespace paretoken::cards
