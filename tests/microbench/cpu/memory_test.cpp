#include "microbench/cpu/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "microbench/threads.h"

namespace paretoken::microbench {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

void touch(HugeMemory& memory) {
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
}

TEST(HugeMemory, begins_at_a_huge_page) {
    HugeMemory memory(3 * kHugePage + 5);
    EXPECT_EQ(memory.size(), 3 * kHugePage + 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePage, 0U);
    touch(memory);
}

TEST(HugeMemory, that_is_given_back_is_used_again_on_its_cpu) {
    PinnedThreads threads({0});
    threads.run([](std::size_t) {
        const std::byte* first = nullptr;
        {
            HugeMemory memory(8 * kHugePage);
            touch(memory);
            first = memory.data();
        }
        HugeMemory smaller(4 * kHugePage);
        EXPECT_EQ(smaller.data(), first);
        EXPECT_EQ(smaller.size(), 4 * kHugePage);
        HugeMemory second(4 * kHugePage);
        EXPECT_NE(second.data(), first) << "it is in use";
        touch(second);
    });
}

TEST(HugeMemory, that_is_too_small_is_not_used_again) {
    PinnedThreads threads({0});
    threads.run([](std::size_t) {
        {
            HugeMemory memory(2 * kHugePage);
            touch(memory);
        }
        HugeMemory larger(64 * kHugePage);
        touch(larger);
    });
}

TEST(HugePages, are_a_share_of_the_memory_that_was_touched) {
    HugeMemory memory(64 * kHugePage);
    touch(memory);
    const auto share = huge_page_share();
    if (!share) GTEST_SKIP() << "the kernel does not tell";
    EXPECT_GE(*share, 0);
    EXPECT_LE(*share, 1);
}

}  // namespace
}  // namespace paretoken::microbench
