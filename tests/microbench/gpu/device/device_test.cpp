#include "microbench/gpu/device/device.h"

#include <gtest/gtest.h>

#include <map>

#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {
namespace {

TEST(Presence, a_machine_without_a_gpu_is_no_error_and_an_old_driver_is) {
    EXPECT_EQ(presence_of(0, 1, true), Presence::present);
    EXPECT_EQ(presence_of(0, 0, true), Presence::none);
    EXPECT_EQ(presence_of(100, 0, true), Presence::none);
    EXPECT_EQ(presence_of(100, 0, false), Presence::none);
    EXPECT_EQ(presence_of(35, 0, false), Presence::none);
    EXPECT_EQ(presence_of(35, 0, true), Presence::driver_too_old);
    EXPECT_EQ(presence_of(999, 0, true), Presence::broken);
}

DeviceFacts h200() {
    return {.name = "NVIDIA H200",
            .pci_bus_id = "0000:65:00.0",
            .capability = 90,
            .multiprocessors = 132,
            .l2_bytes = 60ULL << 20,
            .memory_bytes = 150754820096ULL,
            .shared_bytes_per_block = 232448,
            .memory_bus_bits = 6144,
            .memory_clock_khz = 3201000,
            .sm_clock_khz = 1980000,
            .driver_version = 13000,
            .runtime_version = 13000};
}

TEST(DeviceFacts, both_peaks_stand_in_the_context_with_their_source) {
    std::map<std::string, std::string> context;
    for (const auto& [key, value] : context_of(h200())) context[key] = value;
    EXPECT_EQ(context["gpu"], "NVIDIA H200");
    EXPECT_EQ(context["gpu_sm"], "9.0");
    EXPECT_EQ(context["gpu_driver_cuda"], "13.0");
    EXPECT_EQ(context["gpu_l2_bytes"], "62914560");
    EXPECT_EQ(context["gpu_peak_bytes_per_second_by_clock"], "4916736000000");
    EXPECT_EQ(context["gpu_peak_bytes_per_second_datasheet"], "4800000000000");
    EXPECT_NE(context["gpu_peak_source"].find("datasheet"), std::string::npos);
}

TEST(DeviceFacts, an_unknown_gpu_or_clock_has_no_peak) {
    DeviceFacts unknown = h200();
    unknown.name = "NVIDIA Unheard-of";
    unknown.memory_clock_khz = 0;
    EXPECT_FALSE(unknown.peak_bytes_per_second());
    for (const auto& [key, value] : context_of(unknown))
        EXPECT_EQ(key.find("peak"), std::string::npos) << key;
}

TEST(GpuIdentity, is_json_with_or_without_a_gpu) {
    EXPECT_EQ(gpu_identity({.absent_because = "no GPU"}), R"({"gpu": null, "because": "no GPU"})");
    EXPECT_EQ(gpu_identity({.context = {{"gpu", "A \"b\""}, {"gpu_sm", "9.0"}}}),
              R"({"gpu": "A \"b\"", "gpu_sm": "9.0"})");
}

}  // namespace
}  // namespace paretoken::microbench::gpu
