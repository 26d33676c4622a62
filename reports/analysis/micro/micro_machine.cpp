#include "reports/analysis/micro/micro_machine.h"

#include <fmt/format.h>

#include <cmath>

namespace paretoken::reports {
namespace {

/// The relative difference up to which memory sizes count as equal, because the operating system's kernel
/// reserves an amount that depends on its version.
constexpr double kSameMemory = 0.02;

bool is_same_memory(double measured, double present) {
    return std::abs(measured / present - 1) <= kSameMemory;
}

std::string gigabytes(double bytes) {
    return fmt::format("{:.4g} GB", bytes / 1e9);
}

std::string difference_of_cpu(const cards::HostFacts& host, const MicroDevice& device) {
    if (device.name != host.cpu)
        return fmt::format("it was measured on {}, and this machine has {}", device.name, host.cpu);
    if (device.cores && *device.cores != host.cores)
        return fmt::format("it was measured with {} cores, and this process has {}", *device.cores,
                           host.cores);
    const auto memory = static_cast<double>(host.memory_bytes);
    if (!device.memory_bytes || !(memory > 0) || !is_same_memory(*device.memory_bytes, memory))
        return fmt::format("it was measured with {} of memory, and this machine has {}",
                           device.memory_bytes ? gigabytes(*device.memory_bytes) : "an unknown amount",
                           gigabytes(memory));
    return {};
}

std::string difference_of_gpu(const cards::GpuDevice& gpu, const MicroDevice& device) {
    if (device.driver.value_or("") != gpu.driver)
        return fmt::format("{} was measured with driver {}, and this machine has {}", device.name,
                           device.driver.value_or("unknown"),
                           gpu.driver.empty() ? "an unknown one" : gpu.driver);
    const double memory = static_cast<double>(gpu.memory_bytes.value_or(0));
    if (!device.memory_bytes || !(memory > 0) || !is_same_memory(*device.memory_bytes, memory))
        return fmt::format("{} was measured with {} of memory, and this machine's has {}", device.name,
                           device.memory_bytes ? gigabytes(*device.memory_bytes) : "an unknown amount",
                           gigabytes(memory));
    return {};
}

}  // namespace

std::string difference_from(const cards::HostFacts& host, std::span<const cards::GpuDevice> gpus,
                            const MicroDevice& device) {
    if (device.backend == MicroBackend::cpu) return difference_of_cpu(host, device);
    std::string difference = fmt::format("it was measured on {}, and this machine has none", device.name);
    for (const cards::GpuDevice& gpu : gpus) {
        if (gpu.name != device.name || (device.uuid && !gpu.uuid.empty() && *device.uuid != gpu.uuid))
            continue;
        difference = difference_of_gpu(gpu, device);
        if (difference.empty()) return difference;
    }
    return difference;
}

ResultsOfMachine results_of_machine(std::vector<MicroResults> results, const cards::HostFacts& host,
                                    std::span<const cards::GpuDevice> gpus) {
    ResultsOfMachine split;
    for (MicroResults& one : results) {
        std::string difference = difference_from(host, gpus, one.device);
        if (difference.empty())
            split.same.push_back(std::move(one));
        else
            split.others.push_back(std::move(difference));
    }
    return split;
}

}  // namespace paretoken::reports
