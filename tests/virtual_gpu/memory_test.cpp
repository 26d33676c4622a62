#include "tests/virtual_gpu/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"

namespace paretoken::virtual_gpu {
namespace {

std::uintptr_t address(const std::byte* at) {
    return reinterpret_cast<std::uintptr_t>(at);
}

TEST(Memory, AllocatesAlignedAndPoisonedWhatItsCapacityHolds) {
    Memory memory(1000);
    std::byte* const first = memory.allocate(600);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(address(first) % 256, 0U);
    EXPECT_EQ(first[599], std::byte{0xa5});
    EXPECT_EQ(memory.allocate(401), nullptr);
    std::byte* const second = memory.allocate(400);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(memory.used(), 1000U);
    EXPECT_FALSE(memory.free(first + 1));
    EXPECT_TRUE(memory.free(first));
    EXPECT_FALSE(memory.free(first)) << "it had already been freed";
    EXPECT_EQ(memory.used(), 400U);
    EXPECT_EQ(memory.find(address(first), 1), nullptr) << "it had been freed";
}

TEST(Memory, FindsAllocationsThatHoldAllOfARange) {
    Memory memory(10000);
    std::byte* const at = memory.allocate(100);
    std::byte* const other = memory.allocate(100);
    // In the second round, find() first tries the allocation that it found last.
    for (int round = 0; round < 2; ++round) {
        ASSERT_NE(memory.find(address(at), 100), nullptr);
        EXPECT_EQ(memory.find(address(at), 100)->data(), at);
        EXPECT_EQ(memory.find(address(other) + 99, 1)->data(), other);
        EXPECT_EQ(memory.find(address(at) + 1, 100), nullptr);
        EXPECT_EQ(memory.find(address(at) - 1, 2), nullptr);
        EXPECT_EQ(memory.find(address(at), ~std::size_t{0}), nullptr);
    }
    EXPECT_EQ(memory.nearest(address(at) + 104)->data(), at);
    EXPECT_EQ(memory.nearest(address(other) - 4)->data(), other);
    EXPECT_EQ(Memory(10).nearest(1), nullptr);
}

TEST(Memory, RemembersEveryByteThatWasWritten) {
    Random random(4);
    for (int round = 0; round < 50; ++round) {
        const std::size_t size = 1 + random.below(500);
        Allocation allocation(size);
        std::vector<bool> written(size);
        for (int step = 0; step < 60; ++step) {
            const std::size_t at = random.below(size);
            const std::size_t bytes =
                std::min(size - at, std::size_t{1} + random.below(step % 7 == 0 ? 200 : 17));
            bool all = true;
            for (std::size_t i = at; i < at + bytes; ++i) all = all && written[i];
            ASSERT_EQ(allocation.is_written(at, bytes), all);
            if (random.below(3) == 0) continue;
            allocation.mark_written(at, bytes);
            for (std::size_t i = at; i < at + bytes; ++i) written[i] = true;
        }
        allocation.mark_written(0, size);
        EXPECT_TRUE(allocation.is_wholly_written());
        EXPECT_TRUE(allocation.is_written(0, size));
    }
}

TEST(Memory, WhatTheHostWritesMustLieInAnAllocation) {
    Memory memory(1000);
    std::byte* const at = memory.allocate(100);
    EXPECT_TRUE(memory.mark_written(at + 50, 50));
    EXPECT_FALSE(memory.mark_written(at + 50, 51));
    EXPECT_TRUE(memory.find(address(at), 100)->is_written(50, 50));
    EXPECT_FALSE(memory.find(address(at), 100)->is_written(49, 2));
}

TEST(Memory, SectorsAreTouchedOncePerLaunch) {
    Allocation allocation(1000);
    EXPECT_TRUE(allocation.touch_sector(31, false));
    EXPECT_FALSE(allocation.touch_sector(31, false));
    EXPECT_TRUE(allocation.touch_sector(31, true)) << "reads and writes are counted separately";
    EXPECT_TRUE(allocation.touch_sector(0, false));
    allocation.forget_touched();
    EXPECT_TRUE(allocation.touch_sector(31, false));
}

}  // namespace
}  // namespace paretoken::virtual_gpu
