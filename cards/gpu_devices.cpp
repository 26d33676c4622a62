#include "cards/gpu_devices.h"

#include <array>

#include "cards/nvml_library.h"
#include "core/text/letter_case.h"

namespace paretoken::cards {
namespace {

using Device = NvmlLibrary::Device;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;

struct PciInfo {
    std::array<char, 16> legacy_bus_id;
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    std::array<char, 32> bus_id;
};

std::optional<double> scaled(const std::optional<unsigned>& value, double unit) {
    return value ? std::optional(*value * unit) : std::nullopt;
}

GpuDevice device_of(const NvmlLibrary& nvml, Device device) {
    GpuDevice gpu{.name = nvml.text("nvmlDeviceGetName", device),
                  .uuid = nvml.text("nvmlDeviceGetUUID", device),
                  .driver = nvml.text("nvmlSystemGetDriverVersion")};
    if (const auto pci = nvml.value<PciInfo>("nvmlDeviceGetPciInfo_v3", device))
        gpu.pci_bus_id = pci->bus_id.data();
    if (const auto memory = nvml.value<NvmlLibrary::Memory>("nvmlDeviceGetMemoryInfo", device))
        gpu.memory_bytes = memory->total;
    gpu.sm_clock_hz =
        scaled(nvml.value<unsigned>("nvmlDeviceGetMaxClockInfo", device, NvmlLibrary::kSmClock), kMega);
    gpu.memory_clock_hz =
        scaled(nvml.value<unsigned>("nvmlDeviceGetMaxClockInfo", device, NvmlLibrary::kMemoryClock), kMega);
    gpu.power_limit_w = scaled(nvml.value<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device), kMilli);
    unsigned current = 0;
    unsigned pending = 0;
    const auto mig_mode = nvml.function<int (*)(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
    if (mig_mode != nullptr && mig_mode(device, &current, &pending) == NvmlLibrary::kSuccess)
        gpu.mig = current != 0;
    return gpu;
}

/// The id with only the last four digits of its domain: "00000000:65:00.0" and "0000:65:00.0" →
/// "0000:65:00.0".
std::string bus_of(std::string_view id) {
    const std::string text = lower_case(id);
    const auto colon = text.find(':');
    constexpr std::size_t kDigits = 4;
    return colon != std::string::npos && colon > kDigits ? text.substr(colon - kDigits) : text;
}

}  // namespace

std::vector<GpuDevice> gpus_of_driver(const std::string& library) {
    const NvmlLibrary nvml(library);
    if (!nvml.ready()) return {};
    std::vector<GpuDevice> gpus;
    const unsigned count = nvml.value<unsigned>("nvmlDeviceGetCount_v2").value_or(0);
    for (unsigned i = 0; i < count; ++i)
        if (const auto device = nvml.value<Device>("nvmlDeviceGetHandleByIndex_v2", i))
            gpus.push_back(device_of(nvml, *device));
    return gpus;
}

bool same_bus(std::string_view a, std::string_view b) {
    return !a.empty() && bus_of(a) == bus_of(b);
}

}  // namespace paretoken::cards
