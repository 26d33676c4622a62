#include <fmt/format.h>

#include "core/error.h"
#include "microbench/gpu/device/nvml.h"
#include "microbench/gpu/measure.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

using Family = std::vector<GpuRow> (*)(const GpuSettings&, const DeviceFacts&);
constexpr Family kFamilies[] = {ceiling_rows, weight_rows, attention_rows, mla_rows,
                                layer_rows,   gemm_rows,   prefill_rows,   copy_rows};

Row benchmark_row(const GpuRow& row, const std::shared_ptr<GpuSession>& session) {
    return {fmt::format("{}/backend:gpu/mode:{}", row.name,
                        row.launching == Launching::graph ? "ring" : "stream"),
            [row, session] { return session->measured(row); }};
}

}  // namespace

GpuBackend gpu_backend(const GpuSettings& settings) {
    const DeviceQuery query = queried_device();
    switch (query.presence) {
        case Presence::present:
            break;
        case Presence::none:
            return {.absent_because = "no GPU"};
        case Presence::driver_too_old:
            throw RuntimeError(
                "the NVIDIA driver is older than the CUDA version of this build: update the driver, or build "
                "with -DPARETOKEN_CUDA=OFF");
        case Presence::broken:
            throw RuntimeError(
                fmt::format("the GPU cannot be used: {}; run nvidia-smi to find the cause", query.message));
    }
    if (query.facts.capability < 80) {
        return {.absent_because = fmt::format("{} has sm_{}; the kernels need sm_80 or later",
                                              query.facts.name, query.facts.capability)};
    }
    GpuBackend backend{.context = context_of(query.facts)};
    const Nvml nvml(query.facts.pci_bus_id);
    if (const auto driver = nvml.driver_version()) backend.context.emplace_back("gpu_driver", *driver);
    if (const auto link = nvml.pcie_link()) {
        backend.context.emplace_back("gpu_pcie", name_of(*link));
        if (const auto speed = link->bytes_per_second())
            backend.context.emplace_back("gpu_pcie_bytes_per_second", fmt::format("{:.0f}", *speed));
    }
    const auto session = std::make_shared<GpuSession>(query.facts, settings);
    for (const Family family : kFamilies) {
        for (const GpuRow& row : family(settings, query.facts))
            backend.rows.push_back(benchmark_row(row, session));
    }
    return backend;
}

}  // namespace paretoken::microbench::gpu
