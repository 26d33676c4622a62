#include "core/result/speculation.h"

#include <gtest/gtest.h>

namespace paretoken {
namespace {

TEST(Speculation, GivesMoreTokensPerPass) {
    EXPECT_NEAR(speculative_tokens_per_pass(0.9, 4), 4.0951, 5e-5);
    EXPECT_EQ(speculative_tokens_per_pass(0, 4), 1);
    EXPECT_EQ(speculative_tokens_per_pass(1, 4), 5);
    EXPECT_EQ(speculative_tokens_per_pass(0.9, 0), 1);
}

}  // namespace
}  // namespace paretoken
