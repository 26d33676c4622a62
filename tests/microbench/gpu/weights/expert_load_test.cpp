#include "microbench/gpu/weights/expert_load.h"

#include <gtest/gtest.h>

namespace paretoken::microbench::gpu {
namespace {

TEST(GpuExpertLoad, of_one_token_is_one_token_for_each_chosen_expert) {
    EXPECT_EQ(expert_load(128, 8, 1), (ExpertLoad{.entries = 8, .columns = 1}));
    EXPECT_EQ(expert_load(7, 7, 1), (ExpertLoad{.entries = 7, .columns = 1}));
}

TEST(GpuExpertLoad, counts_the_experts_that_independent_tokens_touch) {
    // 8 · (1 - (6/8)^2) = 3.5 experts, rounded to 4; 4 choices over 4 experts.
    EXPECT_EQ(expert_load(8, 2, 2), (ExpertLoad{.entries = 4, .columns = 1}));
    // 8 · (1 - (6/8)^8) = 7.2; 16 choices over 7 experts.
    EXPECT_EQ(expert_load(8, 2, 8), (ExpertLoad{.entries = 7, .columns = 3}));
    EXPECT_EQ(expert_load(8, 2, 8).places(), 21U);
}

TEST(GpuExpertLoad, of_a_large_batch_touches_every_expert) {
    EXPECT_EQ(expert_load(16, 2, 4096), (ExpertLoad{.entries = 16, .columns = 512}));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
