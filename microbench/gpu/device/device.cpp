#include "microbench/gpu/device/device.h"

#include <fmt/format.h>

#include "cards/gpu.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;

}  // namespace

Presence presence_of(int cuda_status, int devices, bool has_control_node) {
    if (cuda_status == kSuccess) return devices > 0 ? Presence::present : Presence::none;
    if (cuda_status == kNoDevice) return Presence::none;
    if (cuda_status == kInsufficientDriver)
        return has_control_node ? Presence::driver_too_old : Presence::none;
    return Presence::broken;
}

std::optional<double> DeviceFacts::peak_bytes_per_second() const {
    if (memory_clock_khz <= 0 || memory_bus_bits <= 0) return std::nullopt;
    return 2.0 * memory_clock_khz * 1e3 * memory_bus_bits / 8;
}

std::vector<std::pair<std::string, std::string>> context_of(const DeviceFacts& device) {
    std::vector<std::pair<std::string, std::string>> context{
        {"gpu", device.name},
        {"gpu_pci_bus_id", device.pci_bus_id},
        {"gpu_sm", fmt::format("{}.{}", device.capability / 10, device.capability % 10)},
        {"gpu_multiprocessors", fmt::format("{}", device.multiprocessors)},
        {"gpu_l2_bytes", fmt::format("{}", device.l2_bytes)},
        {"gpu_memory_bytes", fmt::format("{}", device.memory_bytes)},
        {"gpu_memory_clock_khz", fmt::format("{}", device.memory_clock_khz)},
        {"gpu_sm_clock_khz", fmt::format("{}", device.sm_clock_khz)},
        {"gpu_driver_cuda",
         fmt::format("{}.{}", device.driver_version / 1000, device.driver_version % 1000 / 10)},
        {"gpu_runtime_cuda",
         fmt::format("{}.{}", device.runtime_version / 1000, device.runtime_version % 1000 / 10)},
    };
    if (const auto peak = device.peak_bytes_per_second()) {
        context.emplace_back("gpu_peak_bytes_per_second_by_clock", fmt::format("{:.0f}", *peak));
    }
    if (const auto card = cards::find_gpu(device.name)) {
        context.emplace_back("gpu_peak_bytes_per_second_datasheet",
                             fmt::format("{:.0f}", card->memory_bytes_per_s));
        context.emplace_back("gpu_peak_source", card->source);
    }
    return context;
}

}  // namespace paretoken::microbench::gpu
