#include "microbench/gpu/ceilings/ceilings_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace paretoken::microbench::gpu {
namespace {

/// Returns how often all threads together visit each word.
template <Access kAccess>
std::vector<int> visits(std::size_t words, std::uint32_t blocks) {
    std::vector<int> count(words, 0);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        for (std::uint32_t thread = 0; thread < kWalkThreads; ++thread) {
            walk<kAccess>(
                {block, blocks, thread}, words, [](std::size_t i) { return i; },
                [&](std::size_t i, std::size_t loaded) {
                    EXPECT_EQ(i, loaded);
                    ++count.at(i);
                });
        }
    }
    return count;
}

TEST(Walk, each_word_is_visited_once_whatever_its_number_is_divided_by) {
    for (const std::size_t words : {1, 511, 512, 513, 2047, 2048, 2049, 6 * 2048, 70001, 65536 + 333}) {
        for (const std::uint32_t blocks : {1U, 3U, 132U}) {
            const auto once = [](int count) { return count == 1; };
            const auto strided = visits<Access::strided>(words, blocks);
            const auto shares = visits<Access::shares>(words, blocks);
            EXPECT_TRUE(std::all_of(strided.begin(), strided.end(), once)) << words << " by " << blocks;
            EXPECT_TRUE(std::all_of(shares.begin(), shares.end(), once)) << words << " by " << blocks;
        }
    }
}

TEST(Walk, shares_are_contiguous_and_strided_blocks_are_side_by_side) {
    std::vector<std::size_t> seen;
    const auto keep = [&](std::size_t i, std::size_t) { seen.push_back(i); };
    const auto load = [](std::size_t i) { return i; };
    walk<Access::shares>({1, 4, 0}, 40000, load, keep);
    EXPECT_EQ(seen.front(), 10000u);
    EXPECT_LT(seen.back(), 20000u);
    seen.clear();
    walk<Access::strided>({1, 4, 0}, 40000, load, keep);
    EXPECT_EQ(seen.front(), 2048u);
    EXPECT_EQ(seen[4], 2048u + 4 * 2048u);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
