#include "microbench/gpu/device/nvml.h"

#include <array>

#include "cards/nvml_library.h"

namespace paretoken::microbench::gpu {
namespace {

// The part of NVML's ABI that is used here. NVML's API reference documents it, and it has been stable since
// the symbols of version 2.
constexpr int kInsufficientSize = 7;
constexpr int kPowerPolicy = 0;
constexpr int kThermalPolicy = 1;
constexpr int kBoardPolicy = 3;

struct ViolationTime {
    unsigned long long reference_us;
    unsigned long long violation_ns;
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

}  // namespace

struct Nvml::Library : cards::NvmlLibrary {
    using NvmlLibrary::NvmlLibrary;

    Device device = nullptr;

    std::optional<unsigned> clock(const char* name, int type) const {
        return value<unsigned>(name, device, type);
    }
    std::optional<std::uint64_t> violation(int policy) const {
        const auto time = value<ViolationTime>("nvmlDeviceGetViolationStatus", device, policy);
        if (!time) return std::nullopt;
        return time->violation_ns;
    }
    std::optional<unsigned> slowdowns() const {
        for (const char* name :
             {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
            if (const auto bits = value<unsigned long long>(name, device))
                return static_cast<unsigned>(*bits);
        }
        return std::nullopt;
    }
    /// Number of other processes on the GPU. One of the listed processes is assumed to be this one, because
    /// process ids differ between namespaces and cannot be compared.
    std::optional<unsigned> other_processes() const {
        std::array<ProcessInfo, 64> infos{};
        unsigned count = infos.size();
        const auto ask =
            function<int (*)(Device, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3");
        if (ask == nullptr) return std::nullopt;
        const int status = ask(device, &count, infos.data());
        if (status != kSuccess && status != kInsufficientSize) return std::nullopt;
        return count > 1 ? count - 1 : 0;
    }
    std::optional<bool> mig() const {
        unsigned current = 0;
        unsigned pending = 0;
        const auto ask = function<int (*)(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
        if (ask == nullptr || ask(device, &current, &pending) != kSuccess) return std::nullopt;
        return current != 0;
    }
};

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library)
    : library_(std::make_unique<Library>(library)) {
    if (!library_->ready()) return;
    library_->device =
        library_->value<Library::Device>("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str())
            .value_or(nullptr);
}

Nvml::~Nvml() = default;

std::optional<std::string> Nvml::driver_version() const {
    if (!library_->ready()) return std::nullopt;
    std::string version = library_->text("nvmlSystemGetDriverVersion");
    if (version.empty()) return std::nullopt;
    return version;
}

std::optional<PcieLink> Nvml::pcie_link() const {
    if (library_->device == nullptr) return std::nullopt;
    const auto generation = library_->value<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", library_->device);
    const auto width = library_->value<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", library_->device);
    if (!generation || !width) return std::nullopt;
    return PcieLink{*generation, *width};
}

GpuConditions Nvml::conditions() const {
    if (library_->device == nullptr) return {};
    const Library& l = *library_;
    return {.memory_clock_mhz = l.clock("nvmlDeviceGetClockInfo", Library::kMemoryClock),
            .max_memory_clock_mhz = l.clock("nvmlDeviceGetMaxClockInfo", Library::kMemoryClock),
            .sm_clock_mhz = l.clock("nvmlDeviceGetClockInfo", Library::kSmClock),
            .thermal_violation_ns = l.violation(kThermalPolicy),
            .hardware_violation_ns = l.violation(kBoardPolicy),
            .power_violation_ns = l.violation(kPowerPolicy),
            .slowdown_reasons = l.slowdowns(),
            .other_processes = l.other_processes(),
            .mig = l.mig()};
}

GpuConditions during(const GpuConditions& before, const GpuConditions& after) {
    const auto between = [](std::optional<std::uint64_t> first, std::optional<std::uint64_t> last) {
        if (!first || !last) return std::optional<std::uint64_t>{};
        return std::optional<std::uint64_t>(*last > *first ? *last - *first : 0);
    };
    GpuConditions conditions = after;
    conditions.thermal_violation_ns = between(before.thermal_violation_ns, after.thermal_violation_ns);
    conditions.hardware_violation_ns = between(before.hardware_violation_ns, after.hardware_violation_ns);
    conditions.power_violation_ns = between(before.power_violation_ns, after.power_violation_ns);
    return conditions;
}

}  // namespace paretoken::microbench::gpu
