#pragma once
// Lists the GPUs of this machine as NVIDIA's driver reports them. The driver's management library (NVML) is
// loaded at run time and used only for reading; on a machine without it the list is empty.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::cards {

/// One GPU. A figure is absent if the driver did not report it.
struct GpuDevice {
    std::string name;             ///< product name: "NVIDIA H200"
    std::string pci_bus_id = {};  ///< "00000000:65:00.0"
    std::string uuid;             ///< "GPU-…"; empty when not reported
    std::string driver;           ///< "580.82.07"; empty when not reported
    std::optional<std::uint64_t> memory_bytes = {};
    std::optional<double> sm_clock_hz = {};      ///< highest clock
    std::optional<double> memory_clock_hz = {};  ///< highest clock
    std::optional<double> power_limit_w = {};    ///< limit that is enforced
    std::optional<bool> mig = {};                ///< whether MIG (Multi-Instance GPU) mode is on

    bool operator==(const GpuDevice&) const = default;
};

/// The GPUs of this machine in the driver's order. `library` is the file name of NVML.
std::vector<GpuDevice> gpus_of_driver(const std::string& library = "libnvidia-ml.so.1");

/// Whether two PCI bus ids name the same device; false if `a` is empty. NVML writes the domain with 8 digits
/// and CUDA with 4, so only its last 4 digits are compared. Upper and lower case are equal.
bool same_bus(std::string_view a, std::string_view b);

}  // namespace paretoken::cards
