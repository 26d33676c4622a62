#include "tests/virtual_gpu/runtime/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::virtual_gpu {
namespace {

TEST(Model, a_gpu_is_described_by_what_differs_from_the_usual_one) {
    EXPECT_EQ(settings_of(""), Settings{});
    const Settings settings =
        settings_of("sm:80,multiprocessors:7,memory:64M,l2:2M,order:eager,graph_runs:1,races:off");
    EXPECT_EQ(settings.name(), "virtual GPU (sm_80)");
    EXPECT_EQ(settings.multiprocessors, 7);
    EXPECT_EQ(settings.memory_bytes, 64'000'000U);
    EXPECT_FALSE(settings.lazy);
    EXPECT_EQ(settings.graph_runs, 1U);
    EXPECT_FALSE(settings.check_races);
    EXPECT_TRUE(settings.check_initialised);
}

TEST(Model, what_there_is_not_is_refused_with_what_there_is) {
    const auto refusal = [](const char* text) -> std::string {
        try {
            settings_of(text);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "(accepted)";
    };
    EXPECT_THAT(refusal("sm:75"), ::testing::HasSubstr("80, 86, 89, 90"));
    EXPECT_THAT(refusal("cores:4"), ::testing::HasSubstr("multiprocessors"));
    EXPECT_THAT(refusal("order:random"), ::testing::HasSubstr("lazy or eager"));
    EXPECT_THAT(refusal("lazy"), ::testing::HasSubstr("sm:90"));
    EXPECT_THAT(refusal("memory:much"), ::testing::HasSubstr("'much'"));
}

TEST(Model, threads_shared_memory_and_slots_bound_the_resident_blocks) {
    const Limits& large = limits_of(90);
    EXPECT_EQ(resident_blocks(large, 256, 0), 4);          // the registers suffice for 1024 threads
    EXPECT_EQ(resident_blocks(large, 32, 0), 32);          // the limit of blocks per multiprocessor
    EXPECT_EQ(resident_blocks(large, 128, 227 << 10), 1);  // one block uses all of the shared memory
    EXPECT_EQ(resident_blocks(large, 128, 113 << 10), 2);  // a block uses half of it, with 1 KiB reserved
    EXPECT_EQ(resident_blocks(large, 128, 114 << 10), 1);
    EXPECT_EQ(resident_blocks(large, 128, (227 << 10) + 1), 0);
    EXPECT_EQ(resident_blocks(limits_of(89), 32, 0), 24);
    EXPECT_EQ(resident_blocks(limits_of(120), 128, 100 << 10), 0);
}

TEST(Model, a_launch_takes_what_its_slowest_part_does) {
    const Speeds speeds;
    EXPECT_DOUBLE_EQ(launch_seconds(speeds, {}, speeds.launch_s), speeds.launch_s);
    EXPECT_DOUBLE_EQ(
        launch_seconds(speeds, {.read_bytes = 3'000'000'000, .written_bytes = 1'300'000'000}, 1e-6), 1e-3);
    EXPECT_DOUBLE_EQ(launch_seconds(speeds, {.read_bytes = 4300, .mma_flops = 600'000'000'000}, 1e-6), 1e-3);
}

}  // namespace
}  // namespace paretoken::virtual_gpu
