#include "tests/virtual_gpu/block_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/random.h"
#include "tests/virtual_gpu/small_kernel.h"

namespace paretoken::virtual_gpu {
namespace {

using testing::HasSubstr;

/// Every block stores one word per thread and increments the counter at %rd1. The block that increments it
/// last loads the words of its predecessor in the grid; the predecessor of the first block is the last block.
std::string last_adds_up(std::string_view fence, std::string_view load) {
    return fmt::format(
        "mov.u32 %r3, %ntid.x;\nmov.u32 %r4, %nctaid.x;\nmad.lo.s32 %r5, %r2, %r3, %r1;\nmul.wide.s32 %rd3, "
        "%r5, 4;\n"
        "add.s64 %rd4, %rd2, %rd3;\nst.global.u32 [%rd4], %r5;\n{}\nbar.warp.sync -1;\n"
        "setp.ne.s32 %p1, %r1, 0;\nmov.u32 %r6, 0;\n@!%p1 atom.global.add.u32 %r6, [%rd1], 1;\n"
        "shfl.sync.idx.b32 %r7, %r6, 0, 31, -1;\nsub.s32 %r8, %r4, 1;\nsetp.ne.s32 %p2, %r7, %r8;\n@%p2 "
        "ret;\n"
        "add.s32 %r9, %r2, %r8;\nrem.s32 %r9, %r9, %r4;\nmad.lo.s32 %r9, %r9, %r3, %r1;\nmul.wide.s32 %rd5, "
        "%r9, 4;\n"
        "add.s64 %rd6, %rd2, %rd5;\n{} %r10, [%rd6];",
        fence, load);
}

std::optional<Fault> fault_of_blocks(const std::string& body, bool check_races = true) {
    Device device;
    auto* const counter = device.holding(std::vector<std::uint32_t>(1));
    auto* const words = device.room<std::uint32_t>(4 * 32);
    return device
        .run(small_kernel(body), counter, words, {.grid = {4, 1, 1}, .block = {32, 1, 1}},
             {.check_races = check_races})
        .fault;
}

void expect_race(const std::string& body, const std::string& why) {
    const auto fault = fault_of_blocks(body);
    ASSERT_TRUE(fault) << body;
    EXPECT_EQ(fault->kind, FaultKind::race) << fault->message;
    EXPECT_THAT(fault->message, HasSubstr(why));
    EXPECT_FALSE(fault_of_blocks(body, false));
}
void expect_legal(const std::string& body) {
    const auto fault = fault_of_blocks(body);
    EXPECT_FALSE(fault) << fault->message << "\n" << body;
}

TEST(BlockOrder, the_last_block_sees_what_others_wrote_only_behind_a_fence_and_past_l1) {
    expect_legal(last_adds_up("membar.gl;", "ld.global.cg.u32"));
    expect_legal(last_adds_up("membar.sys;", "ld.global.cv.u32"));
    expect_legal(last_adds_up("fence.acq_rel.gpu;", "ld.relaxed.gpu.global.u32"));
    expect_race(last_adds_up("", "ld.global.cg.u32"), "without a fence");
    expect_race(last_adds_up("membar.cta;", "ld.global.cg.u32"), "without a fence");
    expect_race(last_adds_up("membar.gl;", "ld.global.u32"), "L1");
    expect_race(last_adds_up("membar.gl;", "ld.global.nc.u32"), "L1");
}

TEST(BlockOrder, a_fence_behind_a_barrier_is_for_all_who_met_there) {
    expect_legal(last_adds_up("bar.sync 0;\nsetp.ne.s32 %p3, %r1, 0;\n@!%p3 membar.gl;", "ld.global.cg.u32"));
    BlockOrder order;
    order.stored(0, 0, 100, 4);
    order.stored(1, 0, 200, 4);
    order.fenced(0, 0);
    order.end_block();
    EXPECT_EQ(order.trouble(100, 4, true), nullptr);
    EXPECT_NE(order.trouble(200, 4, true), nullptr);  // another warp wrote it, and no barrier lies between
}

TEST(BlockOrder, a_blocks_own_bytes_and_their_neighbours_concern_nobody) {
    BlockOrder order;
    order.stored(0, 0, 100, 8);
    EXPECT_FALSE(order.concerns(100, 8));
    order.end_block();
    EXPECT_TRUE(order.concerns(100, 1));
    EXPECT_TRUE(order.concerns(107, 1));
    EXPECT_FALSE(order.concerns(99, 1));
    EXPECT_FALSE(order.concerns(108, 4));
    order.stored(3, 0, 102, 2);  // this block overwrites two of the bytes
    EXPECT_FALSE(order.concerns(102, 2));
    EXPECT_TRUE(order.concerns(100, 8));
}

TEST(BlockOrder, a_block_may_load_what_it_overwrote_with_adjacent_stores) {
    BlockOrder order;
    order.stored(0, 0, 100, 8);
    order.end_block();
    order.stored(0, 0, 96, 4);   // bytes that no other block wrote
    order.stored(0, 0, 100, 4);  // continues the store before, over bytes of the earlier block
    EXPECT_FALSE(order.concerns(100, 4));
    EXPECT_EQ(order.trouble(96, 8, false), nullptr);
    EXPECT_NE(order.trouble(104, 4, true), nullptr);  // this block did not overwrite these bytes
    order.stored(0, 0, 104, 4);
    EXPECT_EQ(order.trouble(96, 12, false), nullptr);
}

TEST(BlockOrder, agrees_with_a_map_of_bytes_on_random_blocks) {
    Random random(5);
    for (int run = 0; run < 200; ++run) {
        BlockOrder order;
        std::map<std::uintptr_t, bool> earlier;  // byte → fenced
        for (int block = 0; block < 6; ++block) {
            std::map<std::uintptr_t, std::pair<int, bool>> own;  // byte → warp, fenced
            const auto compare = [&] {
                for (std::uintptr_t at = 60; at < 140; ++at) {
                    const auto found = earlier.find(at);
                    ASSERT_EQ(order.concerns(at, 1), found != earlier.end()) << run << ' ' << at;
                    ASSERT_EQ(order.trouble(at, 1, true) == nullptr, found == earlier.end() || found->second);
                    ASSERT_EQ(order.trouble(at, 1, false) == nullptr, found == earlier.end());
                }
            };
            for (int i = 0; i < 20; ++i) {
                const int warp = static_cast<int>(random.below(3));
                if (random.below(4) == 0) {
                    order.fenced(warp, 0);
                    for (auto& [at, store] : own) store.second |= store.first == warp;
                    continue;
                }
                const std::uintptr_t at = 64 + random.below(60);
                const std::size_t bytes = std::size_t{1} << random.below(4);
                order.stored(warp, 0, at, bytes);
                for (std::size_t b = 0; b < bytes; ++b) {
                    own[at + b] = {warp, false};
                    earlier.erase(at + b);
                }
            }
            compare();  // while the block runs, it may load what it has stored
            order.end_block();
            for (const auto& [at, store] : own) earlier[at] = store.second;
            compare();
        }
    }
}

}  // namespace
}  // namespace paretoken::virtual_gpu
