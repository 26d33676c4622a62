#include "cards/gpu_devices.h"

#include <gtest/gtest.h>

#include "tests/support/paths.h"

namespace paretoken::cards {
namespace {

TEST(GpuDevices, are_what_the_driver_says_of_them) {
    const auto gpus = gpus_of_driver(paths::binary_dir() + "/fake_nvml.so");
    ASSERT_EQ(gpus.size(), 2u);
    EXPECT_EQ(gpus[0], (GpuDevice{.name = "NVIDIA H200",
                                  .pci_bus_id = "00000000:65:00.0",
                                  .uuid = "GPU-11111111-2222-3333-4444-555555555555",
                                  .driver = "580.82.07",
                                  .memory_bytes = 150754820096ULL,
                                  .sm_clock_hz = 1.98e9,
                                  .memory_clock_hz = 3.201e9,
                                  .power_limit_w = 700,
                                  .mig = false}));
}

TEST(GpuDevices, what_the_driver_does_not_answer_is_absent) {
    const auto gpus = gpus_of_driver(paths::binary_dir() + "/fake_nvml.so");
    ASSERT_EQ(gpus.size(), 2u);
    EXPECT_EQ(gpus[1], (GpuDevice{.name = "NVIDIA H900 Imaginary",
                                  .pci_bus_id = "00000000:B6:00.0",
                                  .uuid = "",
                                  .driver = "580.82.07"}));
}

TEST(GpuDevices, a_machine_without_the_library_has_none) {
    EXPECT_TRUE(gpus_of_driver("libno-such-nvml.so").empty());
    EXPECT_TRUE(gpus_of_driver("libm.so.6").empty());
}

TEST(GpuDevices, are_found_by_their_bus_however_long_its_domain_is_written) {
    EXPECT_TRUE(same_bus("00000000:65:00.0", "0000:65:00.0"));
    EXPECT_TRUE(same_bus("00000000:B6:00.0", "0000:b6:00.0"));
    EXPECT_FALSE(same_bus("00000000:65:00.0", "0000:66:00.0"));
    EXPECT_FALSE(same_bus("", ""));
}

}  // namespace
}  // namespace paretoken::cards
