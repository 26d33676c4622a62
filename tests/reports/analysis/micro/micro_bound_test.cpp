#include "reports/analysis/micro/micro_bound.h"

#include <gtest/gtest.h>

namespace paretoken::reports {
namespace {

TEST(MicroBound, IsTheCeilingThatIsNear) {
    EXPECT_EQ(bound_by(0.97, 0.3), Bound::memory);
    EXPECT_EQ(bound_by(0.6, 0.7), Bound::compute);
    EXPECT_EQ(bound_by(0.4, 0.2), Bound::neither);
    EXPECT_EQ(bound_by(0.95, {}), Bound::memory);
    EXPECT_EQ(bound_by({}, 0.7), Bound::compute);
}

TEST(MicroBound, OfTwoNearCeilingsIsTheNearer) {
    EXPECT_EQ(bound_by(0.93, 0.7), Bound::memory);
    EXPECT_EQ(bound_by(0.85, 0.95), Bound::compute);
}

TEST(MicroBound, IsNotGuessedFromTooLittle) {
    EXPECT_EQ(bound_by(0.5, {}), std::nullopt);
    EXPECT_EQ(bound_by({}, {}), std::nullopt);
}

TEST(MicroBound, GrowsOutOfMemoryAsArithmeticGetsNearer) {
    // With more work per byte a kernel's share of memory falls and that of arithmetic grows, so the bound
    // changes only once.
    Bound last = Bound::memory;
    int changes = 0;
    for (double work = 0.1; work < 3; work += 0.01) {
        const Bound bound = *bound_by(0.95 / std::max(1.0, work / 0.95), std::min(work, 0.95));
        if (bound != last) ++changes;
        last = bound;
    }
    EXPECT_EQ(last, Bound::compute);
    EXPECT_EQ(changes, 1);
}

MicroRow kernel(const std::string& name, double of_ceiling, double flops_per_s) {
    MicroRow row{.name = name};
    row.of_ceiling = of_ceiling;
    row.flops_per_s = flops_per_s;
    return row;
}

MicroRow ceiling(const std::string& name, double flops_per_s) {
    MicroRow row{.name = name};
    row.flops_per_s = flops_per_s;
    return row;
}

TEST(MicroBound, HoldsARowAgainstTheArithmeticOfItsOwnNumbersAndThreads) {
    std::vector<MicroRow> rows{
        ceiling("ceiling/flops/kind:int8_dot/backend:cpu/threads:1", 400e9),
        ceiling("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", 800e9),
        ceiling("ceiling/flops/kind:bf16_dot/backend:cpu/threads:2", 400e9),
        kernel("weights/w:q4_0/layout:packed/batch:8/backend:cpu/threads:2", 0.6, 500e9),
        kernel("weights/w:bf16/layout:packed/batch:8/backend:cpu/threads:2", 0.7, 300e9),
        kernel("weights/w:bf16/layout:packed/batch:1/backend:cpu/threads:2", 0.98, 40e9),
        kernel("weights/w:bf16/layout:packed/batch:8/backend:cpu/threads:1", 0.7, 300e9),
        kernel("weights/w:q4_0/layout:row/batch:1/backend:cpu/threads:1", 0.5, 100e9),
        kernel("attention/kv:bf16/heads:32x8x128/ctx:4096/backend:cpu/threads:2", 0.5, 350e9)};
    const auto bounds = bounds_of(rows);
    ASSERT_EQ(bounds.size(), rows.size());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(bounds[i], std::nullopt);
    EXPECT_EQ(bounds.at(3).value().by, Bound::compute);
    EXPECT_EQ(bounds.at(4).value().by, Bound::compute);
    EXPECT_EQ(bounds.at(5).value().by, Bound::memory);
    EXPECT_EQ(bounds[6], std::nullopt);  // there is no ceiling of bf16 with one thread
    EXPECT_EQ(bounds.at(7).value().by, Bound::neither);
    EXPECT_EQ(bounds.at(8).value().by, Bound::compute);
    rows[1].valid = false;  // this arithmetic is no bound then
    EXPECT_EQ(bounds_of(rows)[3], std::nullopt);
    rows[5].valid = false;
    EXPECT_EQ(bounds_of(rows)[5], std::nullopt);
}

TEST(MicroBound, HoldsALibrarysProductsAgainstTheirOwnNumbersAndOurKernelsAgainst16Bits) {
    const std::vector<MicroRow> rows{
        ceiling("ceiling/flops/mma_sync/w:bf16/backend:gpu/mode:ring", 500e12),
        ceiling("ceiling/flops/lib/w:bf16/backend:gpu/mode:ring", 700e12),
        ceiling("ceiling/flops/lib/w:fp8/backend:gpu/mode:ring", 1400e12),
        kernel("prefill/gemm/engine:lib/preset:llama3-8b/op:qkv/w:bf16/tokens:2048/backend:gpu/mode:ring",
               0.2, 600e12),
        kernel("prefill/gemm/engine:lib/preset:llama3-8b/op:qkv/w:fp8/tokens:512/backend:gpu/mode:ring", 0.2,
               600e12),
        kernel("gemm_lib/preset:llama3-8b/op:qkv/w:fp8/batch:256/backend:gpu/mode:ring", 0.5, 1000e12),
        kernel("weights/preset:llama3-8b/op:qkv/w:fp8/batch:32/backend:gpu/mode:ring", 0.5, 400e12)};
    const auto bounds = bounds_of(rows);
    EXPECT_EQ(bounds.at(3).value().by, Bound::compute);
    EXPECT_EQ(bounds.at(4).value().by, Bound::neither);
    EXPECT_EQ(bounds.at(5).value().by, Bound::compute);
    EXPECT_EQ(bounds.at(6).value().by, Bound::compute);
}

TEST(MicroBound, OfAKernelThatTellsItsSpeedInCacheIsHeldAgainstThat) {
    const std::string threads = "/backend:cpu/threads:1";
    std::vector<MicroRow> rows{ceiling("ceiling/flops/kind:int8_dot" + threads, 500e9),
                               kernel("weights/w:q6_k/layout:packed/batch:8" + threads, 0.5, 240e9),
                               kernel("attention/kv:int8/heads:32x8x128/ctx:4096" + threads, 0.7, 260e9)};
    EXPECT_EQ(bounds_of(rows).at(1).value().by, Bound::neither);  // 48 % of the arithmetic ceiling
    rows[1].cached_flops_per_s = 250e9;
    rows[2].cached_flops_per_s = 400e9;
    const auto bounds = bounds_of(rows);
    EXPECT_EQ(bounds.at(1).value().by, Bound::compute);
    EXPECT_EQ(text_of(*bounds[1]), "compute (96 % of its speed in cache, 48 % of int8_dot)");
    EXPECT_EQ(bounds.at(2).value().by, Bound::neither);  // although above half of the ceiling
    EXPECT_EQ(text_of(*bounds[2]), "neither (65 % of its speed in cache, 52 % of int8_dot)");
}

TEST(HeldBackBy, names_page_walks_arithmetic_overlap_or_the_order_of_reading) {
    MicroRow row = kernel("weights/w:q4_0/layout:packed/batch:4/backend:cpu/threads:2", 0.78, 300e9);
    EXPECT_EQ(held_back_by(row), "") << "the row does not tell";
    row.cached_flops_per_s = 320e9;
    EXPECT_EQ(held_back_by(row), "its instructions alone take 94 % of the time");
    row.cached_flops_per_s = 600e9;
    EXPECT_EQ(held_back_by(row),
              "its instructions alone take 50 % of the time and overlap with its reads only in part");
    row.cached_flops_per_s = 3000e9;
    EXPECT_EQ(
        held_back_by(row),
        "its instructions alone take 10 % of the time, so its order of reading is slower than the ceiling's");
    row.huge_page_share = 0.25;
    EXPECT_EQ(held_back_by(row), "page walks slow its reads: 25 % of the memory is in huge pages");
    row.huge_page_share = 1;
    row.valid = false;
    EXPECT_EQ(held_back_by(row), "");
    row.valid = true;
    row.of_ceiling = 0.91;
    EXPECT_EQ(held_back_by(row), "");
    EXPECT_EQ(held_back_by(ceiling("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", 900e9)), "");
}

TEST(MicroBound, OfMemoryIsSaidWithoutArithmetic) {
    EXPECT_EQ(text_of({.by = Bound::memory, .of_cached = 0.4}), "memory");
    EXPECT_EQ(text_of({.by = Bound::compute, .of_arithmetic = 0.87, .arithmetic = "bf16_dot"}),
              "compute (87 % of bf16_dot)");
    EXPECT_EQ(text_of(RowBound{}), "neither");
}

TEST(MicroBound, OfTypesWithoutAKindIsTheBestCeilingOfTheBackend) {
    const std::vector<MicroRow> rows{ceiling("ceiling/flops/mma_sync/backend:gpu", 500e12),
                                     ceiling("ceiling/flops/kind:int8_dot/backend:cpu/threads:2", 900e12),
                                     kernel("weights/w:fp8/batch:128/backend:gpu/mode:ring", 0.5, 400e12)};
    EXPECT_EQ(bounds_of(rows).at(2).value().by, Bound::compute);
}

}  // namespace
}  // namespace paretoken::reports
