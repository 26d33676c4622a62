#pragma once
// Asks the driver's management library (NVML) for the clocks and slowdowns of one GPU and for other processes
// that use it. The library is loaded at run time and is never told to change anything. Every answer may be
// missing.
#include <memory>
#include <optional>
#include <string>

#include "microbench/gpu/device/copy_link.h"
#include "microbench/gpu/device/validity.h"

namespace paretoken::microbench::gpu {

class Nvml {
  public:
    /// Selects the GPU with this PCI bus id, such as "0000:65:00.0". If the library cannot be loaded and
    /// initialised, every answer is missing. If it does not find the GPU, only driver_version() answers.
    explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// The version of the driver, such as "580.65.06".
    std::optional<std::string> driver_version() const;
    /// The fastest PCIe link that both this GPU and this machine support. The current link of an idle GPU may
    /// be slower.
    std::optional<PcieLink> pcie_link() const;
    /// Returns the conditions at this moment. Violation times count from the start of the driver; `during`
    /// subtracts those of two answers.
    GpuConditions conditions() const;

  private:
    struct Library;
    std::unique_ptr<Library> library_;
};

/// Returns the conditions of the time between two answers of Nvml::conditions(). The violation times are
/// differences, which are absent if either answer lacks them. All other values are those of the later
/// answer.
GpuConditions during(const GpuConditions& before, const GpuConditions& after);

}  // namespace paretoken::microbench::gpu
