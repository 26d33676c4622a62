#include "tests/virtual_gpu/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace paretoken::virtual_gpu {
namespace {

using testing::HasSubstr;

SharedMemory begun(std::size_t bytes = 64) {
    SharedMemory memory(bytes, true, true);
    memory.begin_block();
    return memory;
}

constexpr Accessor kFirst{.thread = 0, .warp = 0, .warp_epoch = 1};
constexpr Accessor kSecond{.thread = 1, .warp = 0, .warp_epoch = 1};
constexpr Accessor kOtherWarp{.thread = 32, .warp = 1, .warp_epoch = 1};

TEST(SharedMemory, HoldsWhatLiesInsideToTheLastByte) {
    const SharedMemory memory = begun(64);
    EXPECT_TRUE(memory.holds(0, 64));
    EXPECT_TRUE(memory.holds(60, 4));
    EXPECT_TRUE(memory.holds(64, 0));
    EXPECT_FALSE(memory.holds(61, 4));
    EXPECT_FALSE(memory.holds(~std::uint64_t{0}, 4));
}

TEST(SharedMemory, AnotherBlockFindsNothingWritten) {
    SharedMemory memory = begun();
    EXPECT_TRUE(memory.touch(0, 16, Touch::write, kFirst));
    EXPECT_TRUE(memory.touch(0, 16, Touch::read, kFirst));
    *memory.at(3) = std::byte{7};
    memory.begin_block();
    EXPECT_EQ(*memory.at(3), std::byte{0xa5});
    EXPECT_FALSE(memory.touch(0, 16, Touch::read, kOtherWarp));
    EXPECT_TRUE(memory.trouble().uninitialised);
    EXPECT_TRUE(memory.touch(0, 16, Touch::write, kOtherWarp))
        << "writes of the previous block cannot race with writes of this one";
}

TEST(SharedMemory, ACopyOfALaunchThatNobodyWaitedForDoesNotReachTheNextBlock) {
    SharedMemory memory = begun();
    EXPECT_TRUE(memory.touch(0, 16, Touch::copy, kFirst));
    EXPECT_FALSE(memory.touch(4, 4, Touch::write, kFirst));
    EXPECT_THAT(memory.trouble().what,
                HasSubstr("byte 4 of shared memory: the asynchronous copy by thread 0 to it"));
    memory.begin_block();
    EXPECT_TRUE(memory.touch(4, 4, Touch::write, kSecond));
}

/// A slow and simple reference: it keeps all accesses to each byte and checks each pair of them.
class History {
  public:
    bool touch(std::uint64_t at, std::size_t bytes, Touch how, const Accessor& who, int epoch) {
        for (std::uint64_t byte = at; byte < at + bytes; ++byte) {
            for (const Past& past : bytes_[byte]) {
                const bool reads_only = how == Touch::read && past.how == Touch::read;
                if (!reads_only && !ordered(past, who, epoch)) return false;
            }
        }
        for (std::uint64_t byte = at; byte < at + bytes; ++byte) bytes_[byte].push_back({how, who, epoch});
        return true;
    }

  private:
    struct Past {
        Touch how;
        Accessor who;
        int epoch;
    };
    static bool ordered(const Past& past, const Accessor& who, int epoch) {
        if (past.who.thread == who.thread || past.epoch != epoch) return true;
        return past.who.warp == who.warp && past.who.warp_epoch != who.warp_epoch;
    }
    std::vector<Past> bytes_[16];
};

TEST(SharedMemory, FindsTheRaceAtTheAccessWhereAFullHistoryFindsIt) {
    int races = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Random random(seed);
        SharedMemory memory(16, true, false);
        memory.begin_block();
        History history;
        int epoch = 0;
        std::uint32_t warp_epochs[3] = {1, 1, 1};
        for (int step = 0; step < 200; ++step) {
            if (random.below(6) == 0) {
                memory.pass_barrier();
                ++epoch;
                for (std::uint32_t& warp_epoch : warp_epochs) ++warp_epoch;
            }
            const auto warp = static_cast<std::int16_t>(random.below(3));
            if (random.below(4) == 0) ++warp_epochs[warp];
            const Accessor who{
                .thread = static_cast<std::int16_t>(warp * 32 + static_cast<int>(random.below(3))),
                .warp = warp,
                .warp_epoch = warp_epochs[warp]};
            const std::size_t bytes = std::size_t{1} << random.below(5);
            const std::uint64_t at = random.below(16 / bytes) * bytes;
            const Touch how = random.below(3) == 0 ? Touch::write : Touch::read;
            const bool expected = history.touch(at, bytes, how, who, epoch);
            ASSERT_EQ(memory.touch(at, bytes, how, who), expected) << "seed " << seed << ", step " << step;
            if (!expected) {
                ++races;
                break;
            }
        }
    }
    EXPECT_GT(races, 1000);
}

}  // namespace
}  // namespace paretoken::virtual_gpu
