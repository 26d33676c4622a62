#include "microbench/gpu/device/copy_link.h"

#include <gtest/gtest.h>

namespace paretoken::microbench::gpu {
namespace {

TEST(PcieLink, each_generation_is_what_its_specification_gives_sixteen_lanes) {
    const double gigabytes[] = {4.0, 8.0, 15.75, 31.51, 63.02, 118.0};
    for (unsigned generation = 1; generation <= 6; ++generation) {
        const auto speed = PcieLink{generation, 16}.bytes_per_second();
        ASSERT_TRUE(speed);
        EXPECT_NEAR(*speed / 1e9, gigabytes[generation - 1], 0.01) << generation;
    }
}

TEST(PcieLink, lanes_add_up) {
    EXPECT_DOUBLE_EQ(*(PcieLink{5, 16}.bytes_per_second()), 2 * *(PcieLink{5, 8}.bytes_per_second()));
    EXPECT_EQ(name_of(PcieLink{5, 8}), "gen 5 x8");
}

TEST(PcieLink, nothing_is_claimed_of_a_link_that_is_not_known) {
    EXPECT_FALSE((PcieLink{0, 16}.bytes_per_second()));
    EXPECT_FALSE((PcieLink{7, 16}.bytes_per_second()));
    EXPECT_FALSE((PcieLink{4, 0}.bytes_per_second()));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
