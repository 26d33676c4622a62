#include "microbench/gpu/protocol.h"

#include <gtest/gtest.h>

namespace paretoken::microbench::gpu {
namespace {

/// The work of a matrix product that reads its weights once.
Work product(double bits, double rows, double k, double batch) {
    return {.read_bytes = rows * k * bits / 8 + batch * k * 2,
            .written_bytes = batch * rows * 2,
            .flops = 2 * rows * k * batch};
}

TEST(Protocol, prompts_and_large_batches_are_bound_by_arithmetic_and_decode_steps_are_not) {
    for (const double batch : {1.0, 8.0, 32.0}) {
        for (const double bits : {4.25, 8.0, 16.0})
            EXPECT_FALSE(is_bound_by_arithmetic(product(bits, 28672, 4096, batch))) << bits << " " << batch;
    }
    for (const double tokens : {256.0, 2048.0})
        EXPECT_TRUE(is_bound_by_arithmetic(product(16, 28672, 4096, tokens)));
    EXPECT_TRUE(is_bound_by_arithmetic({.flops = 1}));
    EXPECT_FALSE(is_bound_by_arithmetic({})) << "an empty launch";
    EXPECT_FALSE(is_bound_by_arithmetic({.read_bytes = 1}));
}

TEST(Protocol, quick_takes_less_of_everything) {
    const Protocol usual = protocol_of({});
    const Protocol quick = protocol_of({.quick = true});
    EXPECT_LT(quick.replay_s * quick.replays, usual.replay_s * usual.replays);
    EXPECT_LT(quick.warm_up_s, usual.warm_up_s);
    EXPECT_LT(quick.settling_s, usual.settling_s);
    EXPECT_EQ(quick.first_warm_up_s, usual.first_warm_up_s)
        << "an idle GPU needs this time in a quick run too";
    EXPECT_EQ(protocol_of({.full = true}), usual);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
