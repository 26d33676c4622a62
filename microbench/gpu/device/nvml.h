#pragma once
// What the driver's management library says of one GPU: clocks, slowdowns, who else uses it. Loaded at run
// time, asked only, never told to change anything; every answer may be missing.
#include <memory>
#include <optional>
#include <string>

#include "microbench/gpu/ceilings/copy_link.h"
#include "microbench/gpu/device/validity.h"

namespace paretoken::microbench::gpu {

class Nvml {
  public:
    /// Of the GPU with this PCI bus id ("0000:65:00.0"). When the library or the GPU is not found, every
    /// answer is missing.
    explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    std::optional<std::string> driver_version() const;
    /// The fastest that this GPU and this machine allow each other; idle links are slower.
    std::optional<PcieLink> pcie_link() const;
    /// Violation times count from the driver's start: subtract with `during`.
    GpuConditions conditions() const;

  private:
    struct Library;
    std::unique_ptr<Library> library_;
};

/// Conditions of the time between two answers: clocks and reasons of the later, violation times as
/// differences.
GpuConditions during(const GpuConditions& before, const GpuConditions& after);

}  // namespace paretoken::microbench::gpu
