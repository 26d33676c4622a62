#include "reports/analysis/micro/micro_machine.h"

#include <gtest/gtest.h>

namespace paretoken::reports {
namespace {

const cards::HostFacts kHost{
    .name = "vm", .cpu = "AMD EPYC", .cores = 2, .kernel = {}, .memory_bytes = 16'000'000'000};
const std::vector<cards::GpuDevice> kGpus{{.name = "NVIDIA H200",
                                           .pci_bus_id = "0",
                                           .uuid = "GPU-1",
                                           .driver = "580.82",
                                           .memory_bytes = 150'000'000'000},
                                          {.name = "NVIDIA H200",
                                           .pci_bus_id = "1",
                                           .uuid = "GPU-2",
                                           .driver = "580.82",
                                           .memory_bytes = 150'000'000'000}};

MicroDevice cpu() {
    return {.id = "cpu", .name = "AMD EPYC", .cores = 2, .memory_bytes = 16.1e9};
}
MicroDevice gpu() {
    return {.id = "gpu0",
            .backend = MicroBackend::gpu,
            .name = "NVIDIA H200",
            .card = "h200",
            .uuid = "GPU-2",
            .driver = "580.82",
            .memory_bytes = 150e9};
}

TEST(MicroMachine, ItsOwnDevicesDifferInNothing) {
    EXPECT_EQ(difference_from(kHost, kGpus, cpu()), "");
    EXPECT_EQ(difference_from(kHost, kGpus, gpu()), "");
    MicroDevice unnamed = gpu();
    unnamed.uuid.reset();
    EXPECT_EQ(difference_from(kHost, kGpus, unnamed), "");
}

TEST(MicroMachine, AnotherCpuOrItsMemoryIsADifference) {
    MicroDevice device = cpu();
    device.name = "Intel Xeon";
    EXPECT_EQ(difference_from(kHost, kGpus, device),
              "it was measured on Intel Xeon, and this machine has AMD EPYC");
    device = cpu();
    device.cores = 4;
    EXPECT_NE(difference_from(kHost, kGpus, device).find("4 cores"), std::string::npos);
    device = cpu();
    device.memory_bytes = 32e9;
    EXPECT_EQ(difference_from(kHost, kGpus, device),
              "it was measured with 32 GB of memory, and this machine has 16 GB");
    device.memory_bytes.reset();
    EXPECT_NE(difference_from(kHost, kGpus, device), "");
}

TEST(MicroMachine, AnotherGpuItsDriverOrItsMemoryIsADifference) {
    EXPECT_EQ(difference_from(kHost, {}, gpu()), "it was measured on NVIDIA H200, and this machine has none");
    MicroDevice device = gpu();
    device.uuid = "GPU-9";
    EXPECT_NE(difference_from(kHost, kGpus, device), "");
    device = gpu();
    device.driver = "570.1";
    EXPECT_EQ(difference_from(kHost, kGpus, device),
              "NVIDIA H200 was measured with driver 570.1, and this machine has 580.82");
    device = gpu();
    device.memory_bytes = 80e9;
    EXPECT_NE(difference_from(kHost, kGpus, device).find("80 GB"), std::string::npos);
}

TEST(MicroMachine, DevicesOfOthersAreLeftOutOneByOne) {
    MicroResults own;
    own.device = cpu();
    MicroResults other;
    other.device = gpu();
    const ResultsOfMachine split = results_of_machine({own, other}, kHost, {});
    ASSERT_EQ(split.same.size(), 1u);
    EXPECT_EQ(split.same[0].device.id, "cpu");
    EXPECT_EQ(split.others.size(), 1u);
}

}  // namespace
}  // namespace paretoken::reports
