#include "tests/virtual_gpu/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/random.h"
#include "tests/virtual_gpu/small_kernel.h"

namespace paretoken::virtual_gpu {
namespace {

using testing::Each;
using testing::HasSubstr;

/// Stores %r20 at the thread's word of the output.
constexpr std::string_view kStore =
    "\nmul.wide.u32 %rd60, %r1, 4;\nadd.s64 %rd61, %rd2, %rd60;\nst.global.u32 [%rd61], %r20;\n";

std::vector<std::uint32_t> run_lanes(const std::string& body, unsigned threads = 32,
                                     std::string_view shared = "") {
    return words_of_block(body + std::string(kStore), threads, shared);
}

// ---- divergence ----

TEST(Divergence, LanesTakeTheirOwnWayAndMeetAgain) {
    const auto words = run_lanes(R"(
	and.b32 %r10, %r1, 1;
	setp.eq.s32 %p1, %r10, 0;
	@%p1 bra $even;
	mul.lo.s32 %r20, %r1, 3;
	bra.uni $end;
$even:
	add.s32 %r20, %r1, 1000;
$end:
	vote.sync.ballot.b32 %r11, 1, -1;
	setp.eq.s32 %p2, %r11, -1;
	@!%p2 mov.u32 %r20, 0;)");
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(words[lane], lane % 2 == 0 ? lane + 1000 : lane * 3);
}

TEST(Divergence, LoopsOfDifferentLengthsNestAndLeaveEarly) {
    // The sum over i < tid of (the sum over j < i % 5 of j + 1). Threads with an odd tid leave the outer loop
    // at the first i whose inner sum is 10.
    const auto words = run_lanes(R"(
	mov.u32 %r20, 0;
	mov.u32 %r10, 0;
	and.b32 %r15, %r1, 1;
	setp.ne.s32 %p5, %r15, 0;
$outer:
	setp.ge.u32 %p1, %r10, %r1;
	@%p1 bra $done;
	rem.u32 %r11, %r10, 5;
	mov.u32 %r12, 0;
	mov.u32 %r13, 0;
$inner:
	setp.ge.u32 %p2, %r12, %r11;
	@%p2 bra $inner_done;
	add.s32 %r12, %r12, 1;
	add.s32 %r13, %r13, %r12;
	bra $inner;
$inner_done:
	setp.eq.s32 %p3, %r13, 10;
	and.pred %p4, %p3, %p5;
	@%p4 bra $done;
	add.s32 %r20, %r20, %r13;
	add.s32 %r10, %r10, 1;
	bra $outer;
$done:)",
                                 100);
    for (std::uint32_t thread = 0; thread < 100; ++thread) {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < thread; ++i) {
            std::uint32_t inner = 0;
            for (std::uint32_t j = 0; j < i % 5; ++j) inner += j + 1;
            if (inner == 10 && thread % 2 == 1) break;
            sum += inner;
        }
        EXPECT_EQ(words[thread], sum) << thread;
    }
}

/// A random structured program with branches and loops whose conditions depend on the lane, as PTX (text) and
/// as a computation in C++ (value).
class RandomProgram {
  public:
    explicit RandomProgram(std::uint64_t seed) : random_(seed) { block(4); }
    const std::string& text() const { return text_; }

    std::uint32_t value(std::uint32_t thread) const {
        std::uint32_t x = thread;
        for (std::size_t at = 0; at < steps_.size();) at = step(at, x);
        return x;
    }

  private:
    enum class What { add, multiply, skip_if, loop };
    struct Step {
        What what = What::add;
        std::uint32_t number = 0;
        std::size_t end = 0;  ///< end of the steps that are skipped or repeated
    };

    void block(int depth) {
        const std::uint64_t count = 1 + random_.below(4);
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto what = static_cast<What>(random_.below(depth > 0 ? 4 : 2));
            const auto number = static_cast<std::uint32_t>(1 + random_.below(7));
            const std::size_t at = steps_.size();
            const int label = labels_++;
            steps_.push_back({what, number, 0});
            switch (what) {
                case What::add:
                    text_ += fmt::format("add.s32 %r20, %r20, {};\n", number);
                    break;
                case What::multiply:
                    text_ += fmt::format("mul.lo.s32 %r20, %r20, {};\n", 2 * number + 1);
                    break;
                case What::skip_if:  // skips the nested steps if x % (number + 1) == 0
                    text_ +=
                        fmt::format("rem.u32 %r30, %r20, {};\nsetp.eq.s32 %p1, %r30, 0;\n@%p1 bra $L{};\n",
                                    number + 1, label);
                    block(depth - 1);
                    text_ += fmt::format("$L{}:\n", label);
                    break;
                case What::loop:  // runs the nested steps x % number + 1 times; each depth has its own
                                  // counter
                    text_ += fmt::format("rem.u32 %r{1}, %r20, {0};\n$L{2}:\n", number, 40 + depth, label);
                    block(depth - 1);
                    text_ +=
                        fmt::format("sub.s32 %r{0}, %r{0}, 1;\nsetp.ge.s32 %p1, %r{0}, 0;\n@%p1 bra $L{1};\n",
                                    40 + depth, label);
                    break;
            }
            steps_[at].end = steps_.size();
        }
    }
    std::size_t step(std::size_t at, std::uint32_t& x) const {
        const Step& s = steps_[at];
        switch (s.what) {
            case What::add:
                x += s.number;
                return at + 1;
            case What::multiply:
                x *= 2 * s.number + 1;
                return at + 1;
            case What::skip_if:
                return x % (s.number + 1) == 0 ? s.end : at + 1;
            case What::loop:
                for (std::uint32_t left = x % s.number + 1; left > 0; --left) {
                    for (std::size_t inner = at + 1; inner < s.end;) inner = step(inner, x);
                }
                return s.end;
        }
        return at + 1;
    }

    Random random_;
    std::vector<Step> steps_;
    std::string text_;
    int labels_ = 0;
};

TEST(Divergence, RandomProgramsGiveWhatEachThreadWouldGiveAlone) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const RandomProgram program(seed);
        const auto words = run_lanes("mov.u32 %r20, %r1;\n" + program.text() + "bar.warp.sync -1;\n", 45);
        for (std::uint32_t thread = 0; thread < 45; ++thread)
            ASSERT_EQ(words[thread], program.value(thread)) << "seed " << seed << ", thread " << thread;
    }
}

TEST(Divergence, LanesThatHaveLeftAreNotWaitedForAtBarriers) {
    const auto words = run_lanes(R"(
	mov.u32 %r20, 7;
	mul.wide.u32 %rd60, %r1, 4;
	add.s64 %rd61, %rd2, %rd60;
	st.global.u32 [%rd61], %r1;
	setp.ge.u32 %p1, %r1, 40;
	@%p1 ret;
	setp.lt.u32 %p2, %r1, 5;
	@%p2 exit;
	bar.sync 0;
	bar.warp.sync -1;)",
                                 96);
    for (std::uint32_t thread = 0; thread < 96; ++thread)
        EXPECT_EQ(words[thread], thread >= 5 && thread < 40 ? 7 : thread);
}

TEST(Barrier, WhatOtherWarpsWroteBeforeItIsReadAfterIt) {
    const auto words = run_lanes(R"(
	mov.u32 %r10, memory;
	shl.b32 %r11, %r1, 2;
	add.s32 %r12, %r10, %r11;
	mul.lo.s32 %r13, %r1, 5;
	st.shared.u32 [%r12], %r13;
	bar.sync 0;
	mov.u32 %r14, %ntid.x;
	sub.s32 %r15, %r14, %r1;
	shl.b32 %r15, %r15, 2;
	add.s32 %r15, %r10, %r15;
	ld.shared.u32 %r20, [%r15+-4];)",
                                 200, ".shared .align 4 .b8 memory[800];");
    for (std::uint32_t thread = 0; thread < 200; ++thread) EXPECT_EQ(words[thread], (199 - thread) * 5);
}

TEST(Block, ThreadsAndBlocksKnowTheirPlaces) {
    Device device;
    auto* const out = device.room<std::uint32_t>(2 * 3 * 2 * 4 * 3 * 5);
    const LaunchReport report = device.run(small_kernel(R"(
	mov.u32 %r10, %tid.x;
	mov.u32 %r11, %tid.y;
	mov.u32 %r12, %tid.z;
	mov.u32 %r13, %ntid.x;
	mov.u32 %r14, %ntid.y;
	mov.u32 %r15, %ntid.z;
	mov.u32 %r16, %ctaid.x;
	mov.u32 %r17, %ctaid.y;
	mov.u32 %r18, %ctaid.z;
	mov.u32 %r19, %nctaid.x;
	mov.u32 %r21, %nctaid.y;
	mad.lo.s32 %r30, %r12, %r14, %r11;
	mad.lo.s32 %r30, %r30, %r13, %r10;
	mad.lo.s32 %r31, %r18, %r21, %r17;
	mad.lo.s32 %r31, %r31, %r19, %r16;
	mul.lo.s32 %r32, %r13, %r14;
	mul.lo.s32 %r32, %r32, %r15;
	mad.lo.s32 %r33, %r31, %r32, %r30;
	mul.wide.u32 %rd60, %r33, 4;
	add.s64 %rd61, %rd2, %rd60;
	mov.u32 %r34, %laneid;
	shl.b32 %r34, %r34, 16;
	or.b32 %r33, %r33, %r34;
	st.global.u32 [%rd61], %r33;)"),
                                           nullptr, out, {.grid = {2, 3, 2}, .block = {4, 3, 5}});
    ASSERT_FALSE(report.fault) << report.fault->message;
    for (std::uint32_t i = 0; i < 720; ++i) EXPECT_EQ(out[i], i | i % 60 % 32 << 16) << i;
}

TEST(Block, TheOrderOfBlocksIsDrawnFromTheSeed) {
    const auto order = [](std::uint64_t seed) {
        Device device;
        auto* const counter = device.holding(std::vector<std::uint32_t>(1));
        auto* const out = device.room<std::uint32_t>(50);
        device.run(small_kernel("atom.global.add.u32 %r10, [%rd1], 1;\nmul.wide.u32 %rd10, %r2, 4;\n"
                                "add.s64 %rd11, %rd2, %rd10;\nst.global.u32 [%rd11], %r10;"),
                   counter, out, {.grid = {50, 1, 1}}, {.seed = seed});
        return std::vector<std::uint32_t>(out, out + 50);
    };
    EXPECT_EQ(order(1), order(1));
    EXPECT_NE(order(1), order(2));
    const auto places = order(3);
    EXPECT_EQ(std::set<std::uint32_t>(places.begin(), places.end()).size(), 50U);
}

// ---- exchanges ----

/// The value of %r20 per lane: 100 + tid of the source lane, plus 1000 if the predicate says that the source
/// lane was in range.
std::vector<std::uint32_t> shuffled(std::string_view mode, int offset, int clamp_and_segment) {
    return run_lanes(
        fmt::format("add.s32 %r10, %r1, 100;\nshfl.sync.{}.b32 %r20|%p1, %r10, {}, {}, -1;\n"
                    "@%p1 add.s32 %r20, %r20, 1000;",
                    mode, offset, clamp_and_segment));
}

TEST(Shuffle, ReadsFromTheLaneThatTheManualNames) {
    for (const int width : {32, 16, 8, 4, 2, 1}) {
        const int segment = (32 - width) << 8;
        for (const int offset : {0, 1, 2, 3, 5, 8, 16, 31}) {
            const auto up = shuffled("up", offset, segment);
            const auto down = shuffled("down", offset, segment | 31);
            const auto butterfly = shuffled("bfly", offset, segment | 31);
            const auto index = shuffled("idx", offset, segment | 31);
            for (int lane = 0; lane < 32; ++lane) {
                const int first = lane / width * width;
                const int last = first + width - 1;
                const auto at = static_cast<std::size_t>(lane);
                // If the source is out of the segment, the lane gets its own value and a false predicate.
                const auto expected = [&](int source, bool in_range) {
                    return static_cast<std::uint32_t>(in_range ? 1100 + source : 100 + lane);
                };
                EXPECT_EQ(up[at], expected(lane - offset, lane - offset >= first)) << width << " " << offset;
                EXPECT_EQ(down[at], expected(lane + offset, lane + offset <= last)) << width << " " << offset;
                EXPECT_EQ(butterfly[at], expected(lane ^ offset, (lane ^ offset) <= last))
                    << width << " " << offset;
                EXPECT_EQ(index[at], expected(first + offset % width, true)) << width << " " << offset;
            }
        }
    }
}

TEST(Shuffle, LanesMeetThereThoughTheyCameByDifferentWays) {
    const auto words = run_lanes(R"(
	setp.lt.u32 %p1, %r1, 10;
	@%p1 bra $low;
	mov.u32 %r10, 5;
	bra $meet;
$low:
	mov.u32 %r10, 9;
$meet:
	shfl.sync.bfly.b32 %r20, %r10, 16, 31, -1;)");
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], (lane ^ 16) < 10 ? 9U : 5U);
}

TEST(Shuffle, EachHalfOfAWarpMayExchangeUnderItsOwnMask) {
    const auto words = run_lanes(R"(
	setp.lt.u32 %p1, %r1, 16;
	selp.b32 %r10, 0xffff, 0xffff0000, %p1;
	shfl.sync.bfly.b32 %r20, %r1, 1, 31, %r10;
	vote.sync.ballot.b32 %r11, %p1, %r10;
	shl.b32 %r11, %r11, 8;
	add.s32 %r20, %r20, %r11;)");
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(words[lane], (lane ^ 1) + (lane < 16 ? 0xffff00U : 0U));
}

TEST(Vote, CountsTheLanesOfItsMask) {
    const auto words = run_lanes(R"(
	setp.gt.u32 %p1, %r1, 28;
	setp.gt.u32 %p2, %r1, 40;
	setp.lt.u32 %p3, %r1, 32;
	vote.sync.any.pred %p4, %p1, -1;
	vote.sync.any.pred %p5, %p2, -1;
	vote.sync.all.pred %p6, %p1, -1;
	vote.sync.all.pred %p7, %p3, -1;
	vote.sync.ballot.b32 %r10, %p1, -1;
	selp.u32 %r11, 1, 0, %p4;
	selp.u32 %r12, 2, 0, %p5;
	selp.u32 %r13, 4, 0, %p6;
	selp.u32 %r14, 8, 0, %p7;
	or.b32 %r20, %r10, %r11;
	or.b32 %r20, %r20, %r12;
	or.b32 %r20, %r20, %r13;
	or.b32 %r20, %r20, %r14;)");
    EXPECT_THAT(words, Each(0xe0000000U | 1 | 8));
}

TEST(LoadMatrices, EachLaneHoldsTwoElementsOfItsRow) {
    // The 16-bit element (m, row, column) is 64 · m + 8 · row + column. The rows are 48 bytes apart, so that
    // a wrong order of the rows changes the result.
    for (const int count : {1, 2, 4}) {
        for (const bool transposed : {false, true}) {
            std::string body =
                "mul.lo.s32 %r10, %r1, 48;\nmov.u32 %r11, memory;\nadd.s32 %r10, %r10, %r11;\n"
                "shl.b32 %r12, %r1, 3;\n";
            for (int column = 0; column < 8; ++column)
                body += fmt::format(
                    "add.s32 %r13, %r12, {0};\ncvt.u16.u32 %rs1, %r13;\nst.shared.u16 [%r10+{1}], %rs1;\n",
                    column, 2 * column);
            body += "bar.warp.sync -1;\n";
            const std::string registers = count == 1   ? "{%r30}"
                                          : count == 2 ? "{%r30, %r31}"
                                                       : "{%r30, %r31, %r32, %r33}";
            body += fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%r10];\n", count,
                                transposed ? ".trans" : "", registers);
            for (int matrix = 0; matrix < count; ++matrix) {
                const auto words = run_lanes(body + fmt::format("mov.u32 %r20, %r{};", 30 + matrix), 32,
                                             ".shared .align 16 .b8 memory[1536];");
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    // The figure in the PTX manual: lane = 4 · row + pair, in the matrix or, with .trans, in
                    // the transposed matrix.
                    const std::uint32_t row = lane / 4;
                    const std::uint32_t column = lane % 4 * 2;
                    const auto element = [&](std::uint32_t r, std::uint32_t c) {
                        return 64 * static_cast<std::uint32_t>(matrix) + (transposed ? 8 * c + r : 8 * r + c);
                    };
                    EXPECT_EQ(words[lane], element(row, column + 1) << 16 | element(row, column));
                }
            }
        }
    }
}

// ---- memory ----

TEST(Memory, PartsAndSignsOfLoadsAreTheRegisters) {
    const auto words = words_of_block(
        "ld.global.s8 %rs1, [%rd1];\nld.global.u8 %rs2, [%rd1];\nld.global.s16 %r10, [%rd1];\n"
        "ld.global.v2.u16 {%rs3, %rs4}, [%rd1];\nld.global.s32 %rd10, [%rd1];\ncvt.s32.s16 %r11, %rs1;\n"
        "cvt.s32.s16 %r12, %rs2;\ncvt.u32.u16 %r13, %rs4;\nshr.u64 %rd11, %rd10, 32;\ncvt.u32.u64 %r14, "
        "%rd11;\n"
        "st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};\nst.global.u32 [%rd2+16], %r14;",
        8, "", {0x8765fff1});
    EXPECT_EQ(words[0], 0xfffffff1U);
    EXPECT_EQ(words[1], 0xfffffff1U);
    EXPECT_EQ(words[2], 0xf1U);
    EXPECT_EQ(words[3], 0x8765U);
    EXPECT_EQ(words[4], 0xffffffffU);
}

TEST(Memory, GenericAddressesReachDeviceAndSharedMemory) {
    const auto words = run_lanes(R"(
	mov.u32 %r10, memory;
	shl.b32 %r11, %r1, 2;
	add.s32 %r10, %r10, %r11;
	{ .reg .b64 %tmp;
	  cvt.u64.u32 	%tmp, %r10;
	  cvta.shared.u64 	%rd10, %tmp; }
	st.u32 [%rd10], %r1;
	ld.shared.u32 %r12, [%r10];
	cvta.to.shared.u64 %rd11, %rd10;
	cvt.u32.u64 %r13, %rd11;
	ld.shared.u32 %r14, [%r13];
	ld.u32 %r15, [%rd10];
	cvta.to.global.u64 %rd12, %rd1;
	cvta.global.u64 %rd13, %rd12;
	ld.u32 %r16, [%rd13];
	add.s32 %r20, %r12, %r14;
	add.s32 %r20, %r20, %r15;
	add.s32 %r20, %r20, %r16;)",
                                 32, ".shared .align 4 .b8 before[36];\n.shared .align 8 .b8 memory[128];");
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], 3 * lane);
}

TEST(Memory, AtomicsGiveWhatWasThereAndLoseNothing) {
    Device device;
    auto* const cells = device.holding(std::vector<std::uint32_t>{0, 0xff, 0, 100, 50, 0, 0, 0});
    auto* const out = device.room<std::uint32_t>(256);
    const LaunchReport report = device.run(small_kernel(R"(
	shl.b32 %r12, 1, %r1;
	atom.global.add.u32 %r10, [%rd1], 3;
	atom.global.and.b32 %r11, [%rd1+4], 0x0f;
	red.global.or.b32 [%rd1+8], %r12;
	red.global.min.s32 [%rd1+12], -4;
	atom.global.max.u32 %r13, [%rd1+16], %r1;
	red.global.add.f32 [%rd1+20], 0f3F000000;
	mov.u64 %rd10, 1;
	atom.global.add.u64 %rd10, [%rd1+24], %rd10;
	cvt.u32.u64 %r14, %rd10;
	mad.lo.s32 %r15, %r2, 64, %r1;
	mul.wide.u32 %rd11, %r15, 4;
	add.s64 %rd12, %rd2, %rd11;
	st.global.u32 [%rd12], %r14;)"),
                                           cells, out, {.grid = {4, 1, 1}, .block = {64, 1, 1}});
    ASSERT_FALSE(report.fault) << report.fault->message;
    EXPECT_EQ(cells[0], 3 * 256U);
    EXPECT_EQ(cells[1], 0x0fU);
    EXPECT_EQ(cells[2], 0xffffffffU);
    EXPECT_EQ(cells[3], 0xfffffffcU);
    EXPECT_EQ(cells[4], 63U);
    EXPECT_EQ(cells[5], 0x43000000U) << "128.0F, the sum of 256 times 0.5F";
    EXPECT_EQ(cells[6], 256U);
    EXPECT_EQ(std::set<std::uint32_t>(out, out + 256).size(), 256U) << "each thread got a different number";
}

// ---- asynchronous copies ----

/// Each thread copies its 16 bytes to shared memory and then loads the last 4 of them into %r20. `after`
/// stands between the copy and the load; `size` is the number of bytes that are read from device memory.
std::string copying(std::string_view after, std::string_view size = "16") {
    return fmt::format(R"(
	shl.b32 %r10, %r1, 4;
	mov.u32 %r11, memory;
	add.s32 %r12, %r11, %r10;
	mul.wide.u32 %rd10, %r1, 16;
	add.s64 %rd11, %rd1, %rd10;
	st.shared.v4.u32 [%r12], {{%r1, %r1, %r1, %r1}};
	cp.async.cg.shared.global [%r12], [%rd11], 16, {};
{}
	ld.shared.u32 %r20, [%r12+12];)",
                       size, after);
}
constexpr std::string_view kCopyMemory = ".shared .align 16 .b8 memory[2048];";

std::vector<std::uint32_t> numbers(std::uint32_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) values[i] = 1000 + i;
    return values;
}

TEST(CopyAsync, ArrivesWhenItsGroupIsWaitedFor) {
    for (const char* const wait :
         {"cp.async.commit_group;\ncp.async.wait_group 0;", "cp.async.wait_all;",
          "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;"}) {
        const auto words = words_of_block(copying(wait) + std::string(kStore), 64, kCopyMemory, numbers(256));
        for (std::uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(words[thread], 1003 + 4 * thread);
    }
}

TEST(CopyAsync, BytesBeyondTheSizeAreZeros) {
    const std::string wait = "cp.async.wait_all;";
    for (const auto& [size, expected] : {std::pair{"16", 1003U}, {"12", 0U}, {"0", 0U}}) {
        const auto words =
            words_of_block(copying(wait, size) + std::string(kStore), 1, kCopyMemory, numbers(4));
        EXPECT_EQ(words[0], expected);
    }
    // The source address of a copy that reads 0 bytes may be invalid.
    const auto words = words_of_block(
        "mov.u32 %r12, memory;\ncp.async.cg.shared.global [%r12], [%rd50], 16, 0;\ncp.async.wait_all;\n"
        "ld.shared.u32 %r20, [%r12];" +
            std::string(kStore),
        1, kCopyMemory);
    EXPECT_EQ(words[0], 0U);
}

TEST(CopyAsync, OldGroupsArriveWhileYoungOnesAreUnderWay) {
    const std::string body = R"(
	mov.u32 %r11, memory;
	cp.async.ca.shared.global [%r11], [%rd1], 4;
	cp.async.commit_group;
	add.s32 %r12, %r11, 4;
	add.s64 %rd10, %rd1, 4;
	cp.async.ca.shared.global [%r12], [%rd10], 4;
	cp.async.commit_group;
	cp.async.wait_group 1;
	ld.shared.u32 %r20, [%r11];
)";
    EXPECT_EQ(words_of_block(body + std::string(kStore), 1, kCopyMemory, numbers(4))[0], 1000U);
    const auto fault = fault_of_block(body + "ld.shared.u32 %r20, [%r12];", 1, kCopyMemory);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::race);
    EXPECT_THAT(fault->message, HasSubstr("has not been waited for"));
}

TEST(CopyAsync, MayBeUnderWayWhenItsThreadEnds) {
    EXPECT_FALSE(fault_of_block("mov.u32 %r11, memory;\ncp.async.ca.shared.global [%r11], [%rd1], 4;", 1,
                                kCopyMemory, {.grid = {3, 1, 1}}));
}

}  // namespace
}  // namespace paretoken::virtual_gpu
