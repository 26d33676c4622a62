#include "microbench/devices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paretoken::microbench {
namespace {

const cards::HostFacts kHost{
    .name = "vm", .cpu = "AMD EPYC", .cores = 2, .kernel = "Linux", .memory_bytes = 16'000'000'000};

/// The GPU backend's context for an H200.
const ContextPairs kH200{{"gpu", "NVIDIA H200"},
                         {"gpu_pci_bus_id", "0000:65:00.0"},
                         {"gpu_sm", "9.0"},
                         {"gpu_memory_bytes", "150000000000"},
                         {"gpu_memory_clock_khz", "3201000"},
                         {"gpu_sm_clock_khz", "1980000"},
                         {"gpu_peak_bytes_per_second_by_clock", "4916736000000"},
                         {"gpu_driver", "580.82.07"}};

nlohmann::json devices(const ContextPairs& gpu, const std::vector<cards::GpuDevice>& of_driver = {}) {
    return nlohmann::json::parse(devices_json(kHost, gpu, of_driver));
}

TEST(Devices, a_machine_without_a_gpu_has_its_cpu_alone) {
    const auto all = devices({});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0], nlohmann::json::parse(
                          R"({"id": "cpu", "backend": "cpu", "name": "AMD EPYC", "cores": 2,
                              "memory_bytes": 16000000000})"));
}

TEST(Devices, a_gpu_is_described_by_its_backend_and_by_the_driver_of_its_bus) {
    const std::vector<cards::GpuDevice> of_driver{
        {.name = "NVIDIA H200", .pci_bus_id = "00000000:64:00.0", .uuid = "GPU-other", .driver = "1"},
        {.name = "NVIDIA H200",
         .pci_bus_id = "00000000:65:00.0",
         .uuid = "GPU-own",
         .driver = "580.82.07",
         .memory_bytes = 150'754'820'096,
         .power_limit_w = 700,
         .mig = false}};
    const auto gpu = devices(kH200, of_driver).at(1);
    EXPECT_EQ(gpu.at("id"), "gpu0");
    EXPECT_EQ(gpu.at("backend"), "gpu");
    EXPECT_EQ(gpu.at("card"), "h200");
    EXPECT_EQ(gpu.at("uuid"), "GPU-own");
    EXPECT_EQ(gpu.at("memory_bytes"), 150'754'820'096);
    EXPECT_EQ(gpu.at("sm_clock_hz"), 1.98e9);
    EXPECT_EQ(gpu.at("memory_clock_hz"), 3.201e9);
    EXPECT_EQ(gpu.at("driver"), "580.82.07");
    EXPECT_EQ(gpu.at("power_limit_w"), 700);
    EXPECT_EQ(gpu.at("mig"), false);
    EXPECT_EQ(gpu.at("compute_capability"), "9.0");
}

TEST(Devices, what_is_not_known_is_absent_and_an_unknown_gpu_keeps_its_name) {
    ContextPairs unknown = kH200;
    unknown[0].second = "NVIDIA H900 Imaginary";
    unknown[4].second = "0";
    const auto gpu = devices(unknown).at(1);
    EXPECT_EQ(gpu.at("name"), "NVIDIA H900 Imaginary");
    EXPECT_EQ(gpu.at("memory_bytes"), 150e9);
    for (const char* const key : {"card", "uuid", "power_limit_w", "mig", "memory_clock_hz"})
        EXPECT_FALSE(gpu.contains(key)) << key;
}

}  // namespace
}  // namespace paretoken::microbench
