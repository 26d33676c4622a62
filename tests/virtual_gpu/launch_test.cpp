#include "tests/virtual_gpu/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/virtual_gpu/small_kernel.h"

namespace paretoken::virtual_gpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kShared = ".shared .align 16 .b8 memory[1024];";

// Stores the number of each thread at %r12 = memory + 4 · tid. %r13 is memory + 4 · (tid ^ 1), the word of
// the neighbouring lane; %r14 is memory + 4 · (tid ^ 32), a word of the neighbouring warp.
const std::string kWriteOwn =
    "shl.b32 %r10, %r1, 2;\nmov.u32 %r11, memory;\nadd.s32 %r12, %r11, %r10;\nxor.b32 %r13, %r10, 4;\n"
    "add.s32 %r13, %r11, %r13;\nxor.b32 %r14, %r10, 128;\nadd.s32 %r14, %r11, %r14;\nst.shared.u32 [%r12], "
    "%r1;\n";

void expect_fault(const std::string& body, FaultKind kind, std::string_view message, unsigned threads = 64,
                  LaunchShape shape = {}) {
    const auto fault = fault_of_block(body, threads, kShared, shape);
    ASSERT_TRUE(fault) << body;
    EXPECT_EQ(fault->kind, kind) << fault->message;
    EXPECT_THAT(fault->message, HasSubstr(std::string(message)));
}
void expect_legal(const std::string& body, unsigned threads = 64, LaunchShape shape = {}) {
    const auto fault = fault_of_block(body, threads, kShared, shape);
    EXPECT_FALSE(fault) << fault->message << "\n" << body;
}

TEST(Fault, NamesKernelBlockThreadLineInstructionAndWhat) {
    Device device;
    auto* const in = device.holding(std::vector<std::uint32_t>(4));
    auto* const out = device.holding(std::vector<std::uint32_t>(4));
    const auto fault = device
                           .run(small_kernel("mov.u32 %r10, 5;\nsetp.eq.s32 %p1, %r1, 35;\n"
                                             "@%p1 ld.global.u32 %r11, [%rd1+64];"),
                                in, out, {.grid = {1, 2, 1}, .block = {40, 1, 1}})
                           .fault;
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::out_of_bounds);
    EXPECT_THAT(fault->message, AllOf(HasSubstr("small: block (0, "), HasSubstr("thread 35, "),
                                      HasSubstr(fmt::format("small.ptx:{}: ", line_of_body(3))),
                                      HasSubstr("ld.global.u32 %r11, [%rd1+64]"), HasSubstr("4 bytes at "),
                                      HasSubstr("48 bytes after the end of an allocation of 16 bytes")));
}

TEST(Fault, TellsTheLineOfTheSourceWhereThePtxHasIt) {
    const std::string ptx =
        small_kernel(
            ".loc 7 12 3\nmov.u32 %r3, 1;\n.loc\t7 13 9, function_name $L__info_string0, inlined_at 7 1 1\n"
            "ld.global.u32 %r10, [%rd1];") +
        "\n.file\t7 \"/some/where/weights.cuh\"\n";
    Device device;
    const auto fault = device.run(ptx, nullptr, nullptr).fault;
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->message, HasSubstr("(weights.cuh:13): ld.global.u32"));
}

TEST(OutOfBounds, OneElementBesideEitherEndIsFoundAndTheLastOnesAreNot) {
    // %rd1 points to 64 words.
    expect_legal(
        "ld.global.u32 %r10, [%rd1];\nld.global.u32 %r10, [%rd1+252];\nst.global.u8 [%rd1+255], %r10;");
    expect_fault("ld.global.u32 %r10, [%rd1+256];", FaultKind::out_of_bounds,
                 "0 bytes after the end of an allocation of 256 bytes");
    expect_fault("ld.global.u32 %r10, [%rd1+-4];", FaultKind::out_of_bounds,
                 "4 bytes before an allocation of 256 bytes");
    expect_fault("st.global.u8 [%rd1+256], %r10;", FaultKind::out_of_bounds, "1 bytes at ");
    expect_fault("ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+256];", FaultKind::out_of_bounds,
                 "16 bytes at ");
    expect_fault("atom.global.add.u32 %r10, [%rd1+256], 1;", FaultKind::out_of_bounds, "4 bytes at ");
    expect_fault("ld.global.u32 %r10, [%rd50];", FaultKind::out_of_bounds, "4 bytes at 0x0");

    const std::string at = "mov.u32 %r11, memory;\n";
    expect_legal(at + "st.shared.u32 [%r11+1020], %r1;\nst.shared.u8 [%r11], %r1;", 1);
    expect_fault(at + "st.shared.u32 [%r11+1024], %r1;", FaultKind::out_of_bounds,
                 "4 bytes at offset 1024 do not lie in the 1024 bytes of shared memory");
    expect_fault(at + "st.shared.u32 [%r11+-4], %r1;", FaultKind::out_of_bounds,
                 "4 bytes at offset -4 do not lie in the 1024 bytes");
    expect_fault(at + "cp.async.cg.shared.global [%r3], [%rd1], 16;\nadd.s32 %r12, %r11, 1024;\n"
                      "cp.async.cg.shared.global [%r12], [%rd1], 16;",
                 FaultKind::out_of_bounds, "16 bytes at offset 1024", 1);
    expect_legal(at + "st.shared.u32 [%r11+1028], %r1;", 1, {.dynamic_shared = 8});
    expect_fault(at + "st.shared.u32 [%r11+1032], %r1;", FaultKind::out_of_bounds,
                 "in the 1032 bytes of shared memory", 1, {.dynamic_shared = 8});
    expect_fault(at + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r11+1024];",
                 FaultKind::out_of_bounds, "16 bytes at offset 1024", 32);
}

TEST(OutOfBounds, AGenericAddressOfSharedMemoryMustBeConverted) {
    const std::string generic = "mov.u64 %rd10, memory;\ncvta.shared.u64 %rd11, %rd10;\n";
    expect_legal(
        generic + "st.u32 [%rd11], %r1;\ncvta.to.shared.u64 %rd12, %rd11;\nst.shared.u32 [%rd12], %r1;", 1);
    expect_fault(generic + "cvt.u32.u64 %r10, %rd11;\nst.shared.u32 [%r10], %r1;", FaultKind::out_of_bounds,
                 "of shared memory", 1);
    expect_fault(generic + "st.global.u32 [%rd11], %r1;", FaultKind::out_of_bounds, "of device memory", 1);
}

TEST(Misaligned, AccessesMustBeMultiplesOfTheirSize) {
    expect_legal(
        "ld.global.v2.u32 {%r10, %r11}, [%rd1+8];\nld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+16];");
    expect_fault("ld.global.v2.u32 {%r10, %r11}, [%rd1+4];", FaultKind::misaligned, "not a multiple of 8");
    expect_fault("ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+8];", FaultKind::misaligned,
                 "not a multiple of 16");
    expect_fault("ld.global.u16 %rs1, [%rd1+1];", FaultKind::misaligned, "not a multiple of 2");
    expect_fault("mov.u32 %r10, memory;\nst.shared.u64 [%r10+4], %rd1;", FaultKind::misaligned,
                 "not a multiple of 8");
    expect_fault(
        "mov.u32 %r10, memory;\nadd.s32 %r10, %r10, 8;\ncp.async.cg.shared.global [%r10], [%rd1], 16;",
        FaultKind::misaligned, "not a multiple of 16");
    expect_fault(
        "mov.u32 %r10, memory;\nadd.s64 %rd3, %rd1, 4;\ncp.async.ca.shared.global [%r10], [%rd3], 8;",
        FaultKind::misaligned, "not a multiple of 8");
    expect_fault("mov.u32 %r10, memory;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r10+8];",
                 FaultKind::misaligned, "not a multiple of 16");
    expect_fault("atom.global.add.u64 %rd10, [%rd1+4], 1;", FaultKind::misaligned, "not a multiple of 8");
}

TEST(Uninitialised, ReadingWhatNobodyWroteIsFound) {
    Device device;
    auto* const empty = device.room<std::uint32_t>(64);
    const auto fault_of = [&](std::string_view body, const LaunchSettings& settings = {}) {
        return device.run(small_kernel(body, kShared), empty, empty, {}, settings).fault;
    };
    const auto fault = fault_of("ld.global.u32 %r10, [%rd1+8];");
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::uninitialised);
    EXPECT_THAT(
        fault->message,
        HasSubstr("4 bytes at offset 8 of an allocation of 256 bytes include bytes that were never written"));
    EXPECT_FALSE(fault_of("ld.global.u32 %r10, [%rd1+8];", {.check_initialised = false}));
    EXPECT_FALSE(fault_of("st.global.u32 [%rd1+8], 1;\nld.global.u32 %r10, [%rd1+8];"));
    EXPECT_TRUE(fault_of("ld.global.v2.u32 {%r10, %r11}, [%rd1+8];"))
        << "the previous launch wrote only half of these bytes";
    EXPECT_TRUE(fault_of("atom.global.add.u32 %r10, [%rd1+32], 1;"));
    EXPECT_TRUE(fault_of("mov.u32 %r3, memory;\ncp.async.ca.shared.global [%r3], [%rd1+16], 4;"));

    expect_fault("mov.u32 %r11, memory;\nld.shared.u32 %r10, [%r11+4];", FaultKind::uninitialised,
                 "byte 4 of shared memory was never written");
    expect_fault("mov.u32 %r11, memory;\nst.shared.u16 [%r11], %rs1;\nld.shared.u32 %r10, [%r11];",
                 FaultKind::uninitialised, "byte 2 of shared memory", 1);
    expect_fault("mov.u32 %r11, memory;\natom.shared.add.u32 %r10, [%r11], 1;", FaultKind::uninitialised,
                 "byte 0", 1);
    expect_legal(
        "mov.u32 %r11, memory;\nst.shared.u16 [%r11], %rs1;\nst.shared.u16 [%r11+2], %rs1;\nld.shared.u32 "
        "%r10, [%r11];",
        1);
    // A block must not see what another block stored in shared memory.
    expect_fault(
        "mov.u32 %r11, memory;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 st.shared.u32 [%r11], %r1;\nld.shared.u32 "
        "%r10, [%r11];",
        FaultKind::uninitialised, "byte 0", 1, {.grid = {2, 1, 1}});
}

TEST(Race, NeighboursOfAWarpNeedItsBarrier) {
    expect_fault(kWriteOwn + "ld.shared.u32 %r20, [%r13];", FaultKind::race,
                 "wrote it, and no barrier separates the two accesses");
    expect_legal(kWriteOwn + "bar.warp.sync -1;\nld.shared.u32 %r20, [%r13];");
    expect_legal(kWriteOwn + "bar.sync 0;\nld.shared.u32 %r20, [%r13];");
    expect_legal(kWriteOwn + "ld.shared.u32 %r20, [%r12];\nst.shared.u32 [%r12], %r20;");
    expect_fault(kWriteOwn + "bar.warp.sync -1;\nld.shared.u32 %r20, [%r13];\nst.shared.u32 [%r12], %r20;",
                 FaultKind::race, "read it, and no barrier separates the two accesses");
    expect_legal(
        kWriteOwn +
        "bar.warp.sync -1;\nld.shared.u32 %r20, [%r13];\nbar.warp.sync -1;\nst.shared.u32 [%r12], %r20;");
}

TEST(Race, WarpsNeedTheBlocksBarrier) {
    // The order of the warps decides whether the store or the load of a word comes first, so that the message
    // may name either.
    const std::string again = kWriteOwn + "bar.sync 0;\nst.shared.u32 [%r12], %r1;\n";
    expect_fault(again + "bar.warp.sync -1;\nld.shared.u32 %r20, [%r14];", FaultKind::race,
                 "no barrier separates the two accesses");
    expect_legal(again + "bar.sync 0;\nld.shared.u32 %r20, [%r14];");
    const std::string read = kWriteOwn + "bar.sync 0;\nld.shared.u32 %r20, [%r14];\n";
    expect_fault(read + "bar.warp.sync -1;\nst.shared.u32 [%r12], %r20;", FaultKind::race,
                 "no barrier separates the two accesses");
    expect_legal(read + "bar.sync 0;\nst.shared.u32 [%r12], %r20;");
    expect_legal(read + "ld.shared.u32 %r21, [%r11];");
}

TEST(Race, AReadOfSeveralWarpsIsRememberedAfterOneOfThemPassesItsOwnBarrier) {
    // All threads read word 0; then the warp of thread 0 passes a barrier of the warp, and thread 0 writes.
    // This is a race with the reads of the other warp.
    expect_fault(
        "mov.u32 %r11, memory;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r11], %r1;\nbar.sync 0;\n"
        "ld.shared.u32 %r20, [%r11];\nbar.warp.sync -1;\n@%p1 st.shared.u32 [%r11], %r1;\nld.shared.u32 "
        "%r20, [%r11];",
        FaultKind::race, "no barrier separates the two accesses");
}

TEST(Race, TwoLanesOfOneStoreMustNotMeet) {
    expect_fault("mov.u32 %r11, memory;\nst.shared.u32 [%r11], %r1;", FaultKind::race, "thread 0 wrote it",
                 32);
    expect_legal("mov.u32 %r11, memory;\nsetp.eq.s32 %p1, %r1, 3;\n@%p1 st.shared.u32 [%r11], %r1;");
}

TEST(Race, BytesOfOneWordMayBelongToDifferentThreads) {
    const std::string bytes = "mov.u32 %r11, memory;\nadd.s32 %r12, %r11, %r1;\nst.shared.u8 [%r12], %rs1;\n";
    expect_legal(bytes);
    expect_legal(bytes + "bar.sync 0;\nld.shared.u32 %r20, [%r11];");
    expect_fault(bytes + "ld.shared.u32 %r20, [%r11];", FaultKind::race, "wrote it");
    expect_fault(bytes + "bar.sync 0;\nld.shared.u32 %r20, [%r11];\nst.shared.u8 [%r12], %rs1;",
                 FaultKind::race, "read it");
}

TEST(Race, AtomicsOnlyRaceWithOtherAccesses) {
    const std::string zero =
        "mov.u32 %r11, memory;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r11], 0;\n";
    const std::string add = "atom.shared.add.u32 %r20, [%r11], 1;\n";
    expect_legal(zero + "bar.sync 0;\n" + add + add + "bar.sync 0;\nld.shared.u32 %r21, [%r11];");
    expect_fault(zero + add, FaultKind::race, "wrote it");
    expect_fault(zero + "bar.sync 0;\n" + add + "ld.shared.u32 %r21, [%r11];", FaultKind::race, "changed it");
    expect_fault(zero + "bar.sync 0;\n" + add + "@%p1 st.shared.u32 [%r11], 0;", FaultKind::race,
                 "changed it");
    expect_fault(zero + "bar.sync 0;\nld.shared.u32 %r21, [%r11];\n" + add, FaultKind::race, "read it");
}

TEST(Race, AreNotLookedForWhereTheSettingsSaySo) {
    Device device;
    auto* const words = device.holding(std::vector<std::uint32_t>(64));
    const std::string ptx = small_kernel(kWriteOwn + "ld.shared.u32 %r20, [%r13];", kShared);
    EXPECT_TRUE(device.run(ptx, words, words, {.block = {64, 1, 1}}).fault);
    EXPECT_FALSE(device.run(ptx, words, words, {.block = {64, 1, 1}}, {.check_races = false}).fault);
}

// Addresses for a copy of word tid by each thread, from %rd11 to %r12. %r14 is a word of the neighbouring
// warp.
const std::string kCopyOwn =
    "shl.b32 %r10, %r1, 2;\nmov.u32 %r11, memory;\nadd.s32 %r12, %r11, %r10;\nxor.b32 %r14, %r10, 128;\n"
    "add.s32 %r14, %r11, %r14;\nmul.wide.u32 %rd10, %r1, 4;\nadd.s64 %rd11, %rd1, %rd10;\n";
const std::string kCopy = "cp.async.ca.shared.global [%r12], [%rd11], 4;\ncp.async.commit_group;\n";

TEST(Race, CopiesMustBeWaitedForAndThenABarrierPassed) {
    // All threads write shared memory before the copies, with a barrier after it.
    const std::string own = kCopyOwn + "st.shared.u32 [%r12], %r1;\nbar.sync 0;\n";
    const std::string wait = "cp.async.wait_group 0;\n";
    const std::string barrier = "bar.sync 0;\n";
    const std::string read_own = "ld.shared.u32 %r20, [%r12];";
    const std::string read_other = "ld.shared.u32 %r20, [%r14];";
    expect_legal(own + kCopy + wait + barrier + read_other);
    expect_legal(own + kCopy + wait + read_own);
    expect_fault(own + kCopy + read_own, FaultKind::race, "has not been waited for");
    expect_fault(own + kCopy + barrier + read_other, FaultKind::race, "has not been waited for");
    // The order of the warps decides whether another warp's copy has arrived, is in progress or has not been
    // issued at the time of the load.
    expect_fault(own + kCopy + barrier + wait + read_other, FaultKind::race, "byte ");
    expect_fault(own + kCopy + wait + read_other, FaultKind::race, "no barrier separates the two accesses");
    expect_fault(own + kCopy + "cp.async.wait_group 1;\n" + barrier + read_other, FaultKind::race,
                 "has not been waited for");
    expect_fault(own + kCopy + "st.shared.u32 [%r12], %r1;", FaultKind::race, "has not been waited for");
    expect_fault(own + kCopy + kCopy, FaultKind::race, "has not been waited for");
}

TEST(Race, ACopyMustNotOvertakeReadersOfWhatWasThere) {
    const std::string write = "st.shared.u32 [%r12], %r1;\nbar.sync 0;\n";
    const std::string read = "ld.shared.u32 %r20, [%r14];\n";
    expect_fault(kCopyOwn + write + read + kCopy, FaultKind::race, "byte ");
    expect_fault(
        kCopyOwn + "st.shared.u32 [%r12], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r20, [%r11];\n" + kCopy,
        FaultKind::race, "read it, and no barrier separates the two accesses", 32);
    expect_legal(kCopyOwn + write + read + "bar.sync 0;\n" + kCopy + "cp.async.wait_all;");
}

TEST(Divergence, LanesMustReachTheSameBarrier) {
    const std::string halves = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $low;\n";
    expect_fault(halves + "bar.sync 0;\nbra $end;\n$low:\nbar.sync 0;\n$end:\n", FaultKind::divergence,
                 "lanes ffff0000 wait here for lanes 0000ffff");
    expect_legal(halves + "mov.u32 %r10, 1;\n$low:\nbar.sync 0;\n");
    expect_fault(halves + "bar.warp.sync -1;\nbra $end;\n$low:\nbar.sync 0;\n$end:\n", FaultKind::divergence,
                 "wait here for lanes");
    expect_legal(
        halves +
            "bar.warp.sync 0xffff0000;\nbra $end;\n$low:\nbar.warp.sync 0x0000ffff;\n$end:\nbar.sync 0;\n",
        32);
    expect_fault("setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;", FaultKind::divergence, "skip the barrier",
                 32);
}

TEST(Divergence, ExchangesNeedTheLanesThatTheyName) {
    const std::string halves = "setp.lt.u32 %p1, %r1, 16;\n";
    expect_fault(halves + "@%p1 shfl.sync.bfly.b32 %r20, %r1, 1, 31, -1;", FaultKind::divergence,
                 "do not take part");
    expect_legal(halves + "@%p1 shfl.sync.bfly.b32 %r20, %r1, 1, 31, 0xffff;");
    expect_fault(halves + "@%p1 shfl.sync.bfly.b32 %r20, %r1, 16, 31, 0xffff;", FaultKind::divergence,
                 "lanes 0000ffff ask for values of lanes that do not take part");
    expect_fault("shfl.sync.bfly.b32 %r20, %r1, 1, 31, 0xffff;", FaultKind::divergence, "does not name them",
                 32);
    expect_fault(halves + "@%p1 bra $end;\nvote.sync.any.pred %p2, %p1, -1;\n$end:\nbar.sync 0;",
                 FaultKind::divergence, "wait here for lanes 0000ffff", 32);
    expect_fault("shfl.sync.down.b32 %r20, %r1, 4, 31, -1;", FaultKind::divergence, "lanes 000f0000", 20);
    expect_legal("shfl.sync.idx.b32 %r20, %r1, 0, 31, -1;", 20);
}

TEST(Divergence, MatrixInstructionsNeedTheWholeWarp) {
    const std::string load =
        "mov.u32 %r10, memory;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r10];";
    const std::string multiply =
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10, %r10, %r10}, "
        "{%r10, %r10}, "
        "{%f1, %f2, %f3, %f4};";
    expect_fault(load, FaultKind::divergence, "needs all lanes of the warp, but only lanes 0000000f are here",
                 4);
    expect_fault(multiply, FaultKind::divergence, "needs all lanes of the warp", 16);
    expect_fault("setp.lt.u32 %p1, %r1, 31;\n@%p1 " + multiply, FaultKind::divergence,
                 "needs all lanes of the warp", 32);
    expect_fault("setp.eq.u32 %p1, %r1, 31;\n@%p1 ret;\n" + multiply, FaultKind::divergence,
                 "needs all lanes of the warp", 32);
    expect_legal(multiply);
}

TEST(Divergence, LanesThatLeaveWhileOthersWaitLetThemGoOn) {
    // The lanes below 16 wait at the exchange; the other lanes exit at a later instruction, which must end
    // the wait.
    expect_legal(
        "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra $leave;\nshfl.sync.idx.b32 %r20, %r1, 0, 31, -1;\nbar.sync "
        "0;\nret;\n$leave:\n"
        "add.s32 %r10, %r1, 1;\nret;");
}

TEST(Endless, ALaunchOfMoreInstructionsThanAllowedIsEnded) {
    Device device;
    const auto report = device.run(small_kernel("$again:\nadd.s32 %r10, %r10, 1;\nbra $again;"), nullptr,
                                   nullptr, {}, {.most_instructions = 10000});
    ASSERT_TRUE(report.fault);
    EXPECT_EQ(report.fault->kind, FaultKind::endless);
    EXPECT_THAT(report.fault->message, HasSubstr("does not end"));
    EXPECT_EQ(report.warp_instructions, 10001U);
}

// ---- counters ----

LaunchReport counted(const std::string& body, std::size_t words = 4096,
                     LaunchShape shape = {.block = {32, 1, 1}}) {
    Device device;
    auto* const in = device.holding(std::vector<std::uint32_t>(words));
    auto* const out = device.holding(std::vector<std::uint32_t>(words));
    const LaunchReport report =
        device.run(small_kernel(body, ".shared .align 16 .b8 memory[8192];"), in, out, shape);
    EXPECT_FALSE(report.fault) << report.fault->message;
    return report;
}

std::string strided_load(int stride, std::string_view load) {
    return fmt::format("mul.wide.u32 %rd10, %r1, {};\nadd.s64 %rd11, %rd1, %rd10;\n{}", stride, load);
}

TEST(Counters, TellRequestsAndTheirSectors) {
    const auto of = [](int stride, std::string_view load = "ld.global.u32 %r10, [%rd11];") {
        const LaunchReport report = counted(strided_load(stride, load));
        EXPECT_EQ(report.load_requests, 1U);
        EXPECT_EQ(report.read_bytes, report.load_sectors * 32);
        return report;
    };
    EXPECT_EQ(of(4).load_sectors, 4U) << "coalesced";
    EXPECT_EQ(of(4).loaded_bytes, 128U);
    EXPECT_EQ(of(8).load_sectors, 8U);
    EXPECT_EQ(of(32).load_sectors, 32U);
    EXPECT_EQ(of(256).load_sectors, 32U);
    EXPECT_EQ(of(0).load_sectors, 1U) << "broadcast";
    EXPECT_EQ(of(0).loaded_bytes, 128U) << "the load of each lane counts";
    EXPECT_EQ(of(16, "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd11];").load_sectors, 16U);
    EXPECT_EQ(
        counted("mul.wide.u32 %rd10, %r1, 4;\nadd.s64 %rd11, %rd1, %rd10;\nld.global.u32 %r10, [%rd11+16];")
            .load_sectors,
        5U)
        << "the addresses are shifted by half a sector";
    EXPECT_EQ(counted("setp.lt.u32 %p1, %r1, 8;\n" + strided_load(4, "@%p1 ld.global.u32 %r10, [%rd11];"))
                  .load_sectors,
              1U);
    // The number of sectors does not depend on the order of the addresses; here it is descending.
    EXPECT_EQ(counted("sub.s32 %r10, 31, %r1;\nmul.wide.u32 %rd10, %r10, 4;\nadd.s64 %rd11, %rd1, %rd10;\n"
                      "ld.global.u32 %r11, [%rd11];")
                  .load_sectors,
              4U);
}

TEST(Counters, DistinctBytesAreThoseOfALaunchWhateverIsAskedForAgain) {
    const std::string twice = strided_load(4,
                                           "ld.global.u32 %r10, [%rd11];\nld.global.u32 %r10, [%rd11+64];\n"
                                           "st.global.u32 [%rd2], %r10;\nst.global.u32 [%rd2+4], %r10;");
    const LaunchReport report = counted(twice, 4096, {.grid = {5, 1, 1}, .block = {32, 1, 1}});
    EXPECT_EQ(report.loaded_bytes, 5 * 256U);
    EXPECT_EQ(report.load_requests, 10U);
    EXPECT_EQ(report.read_bytes, 6 * 32U);
    EXPECT_EQ(report.stored_bytes, 5 * 256U);
    EXPECT_EQ(report.written_bytes, 32U);

    Device device;
    auto* const in = device.holding(std::vector<std::uint32_t>(64));
    const std::string ptx = small_kernel(strided_load(4, "ld.global.u32 %r10, [%rd11];"));
    for (int launch = 0; launch < 2; ++launch)
        EXPECT_EQ(device.run(ptx, in, in, {.block = {32, 1, 1}}).read_bytes, 128U)
            << "the second launch counts the same sectors again";
}

TEST(Counters, CopiesCountAsLoadsOfDeviceMemoryAndAccessesToShared) {
    const LaunchReport report =
        counted("shl.b32 %r10, %r1, 4;\nmov.u32 %r11, memory;\nadd.s32 %r12, %r11, %r10;\n" +
                strided_load(16, "cp.async.cg.shared.global [%r12], [%rd11], 16;\ncp.async.wait_all;"));
    EXPECT_EQ(report.load_requests, 1U);
    EXPECT_EQ(report.loaded_bytes, 512U);
    EXPECT_EQ(report.read_bytes, 512U);
    EXPECT_EQ(report.shared_requests, 1U);
    EXPECT_EQ(report.shared_wavefronts, 4U);
}

TEST(Counters, TellBankConflicts) {
    const auto wavefronts = [](int stride, std::string_view access = "st.shared.u32 [%r12], %r1;",
                               int threads = 32) {
        const LaunchReport report = counted(fmt::format("mul.lo.s32 %r10, %r1, {};\nmov.u32 %r11, "
                                                        "memory;\nadd.s32 %r12, %r11, %r10;\nbar.sync 0;\n{}",
                                                        stride, access),
                                            4096, {.block = {static_cast<unsigned>(threads), 1, 1}});
        EXPECT_EQ(report.shared_requests, 1U);
        return std::pair(report.shared_wavefronts, report.shared_least);
    };
    const auto pair = [](std::uint64_t a, std::uint64_t b) { return std::pair(a, b); };
    EXPECT_EQ(wavefronts(4), pair(1, 1));
    EXPECT_EQ(wavefronts(8), pair(2, 1));
    EXPECT_EQ(wavefronts(128), pair(32, 1));
    EXPECT_EQ(wavefronts(132), pair(1, 1)) << "a stride of 33 words has no conflicts";
    EXPECT_EQ(wavefronts(12), pair(1, 1)) << "a stride of 3 words has no conflicts";
    EXPECT_EQ(wavefronts(128, "st.shared.u32 [%r12], %r1;", 5), pair(5, 1));
    EXPECT_EQ(wavefronts(2, "st.shared.u16 [%r12], %rs1;"), pair(1, 1)) << "two lanes share a word";
    const std::string_view wide = "st.shared.v4.u32 [%r12], {%r1, %r1, %r1, %r1};";
    EXPECT_EQ(wavefronts(16, wide), pair(4, 4)) << "lanes with 16 bytes each are served eight at a time";
    EXPECT_EQ(wavefronts(32, wide), pair(8, 4));
    EXPECT_EQ(wavefronts(128, wide), pair(32, 4));
    EXPECT_EQ(wavefronts(144, wide), pair(4, 4))
        << "rows of 128 bytes with a padding of 16 bytes have no conflicts";
    EXPECT_EQ(wavefronts(8, "st.shared.v2.u32 [%r12], {%r1, %r1};"), pair(2, 2));
    EXPECT_EQ(wavefronts(16, "st.shared.v2.u32 [%r12], {%r1, %r1};"), pair(4, 2));
    // A load of one word by all lanes is a broadcast: one wavefront, after one for the store.
    const LaunchReport same = counted(
        "mov.u32 %r11, memory;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r11], %r1;\n"
        "bar.sync 0;\nld.shared.u32 %r10, [%r11];");
    EXPECT_EQ(same.shared_wavefronts, 2U);
}

TEST(Counters, CountInstructionsOfWarpsAndProductsOfMatrices) {
    EXPECT_EQ(counted("mov.u32 %r3, 1;", 64, {.grid = {3, 1, 1}, .block = {33, 1, 1}}).warp_instructions,
              3U * 2 * 6);
    const LaunchReport report = counted(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10, %r10, %r10}, "
        "{%r10, %r10}, "
        "{%f1, %f2, %f3, %f4};",
        64, {.block = {64, 1, 1}});
    EXPECT_EQ(report.mma_flops, 2U * 2 * 16 * 8 * 16);
}

TEST(Launch, RefusesParametersOfAnotherSize) {
    Memory memory(1 << 20);
    const LoadedModule module(small_kernel(""), "small.ptx");
    const std::array<std::byte, 8> too_few{};
    EXPECT_THROW(static_cast<void>(run(*module.find("small"), {}, too_few, memory)), RuntimeError);
}

TEST(Launch, FactsAreThoseOfThePtx) {
    const LoadedModule module(R"(
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 128 .b8 dynamic[];
.shared .align 16 .b8 unused[64];
.visible .entry first(.param .u32 a, .param .u64 b, .param .align 8 .b8 c[12], .param .u8 d)
.maxntid 128, 2, 1
.minnctapersm 2
{
	.reg .b32 %r<4>;
	.shared .align 4 .b8 own[20];
	mov.u32 %r1, own;
	mov.u32 %r2, dynamic;
	ret;
}
.entry second()
{
	ret;
}
)",
                              "facts.ptx");
    EXPECT_EQ(module.capability(), 80);
    ASSERT_EQ(module.kernels().size(), 2U);
    const KernelFacts first = module.kernels()[0];
    EXPECT_EQ(first.name, "first");
    EXPECT_EQ(first.max_threads, 256);
    EXPECT_EQ(first.line, 7);
    EXPECT_EQ(first.static_shared, 128U) << "20 bytes, padded to the alignment of the dynamic shared memory";
    ASSERT_EQ(first.parameters.size(), 4U);
    EXPECT_EQ(first.parameters[1].offset, 8U);
    EXPECT_EQ(first.parameters[2].offset, 16U);
    EXPECT_EQ(first.parameters[2].bytes, 12U);
    EXPECT_EQ(first.parameters[3].offset, 28U);
    EXPECT_EQ(first.parameter_bytes, 29U);
    EXPECT_EQ(module.kernels()[1].max_threads, 0);
    EXPECT_EQ(module.find("third"), nullptr);
}

}  // namespace
}  // namespace paretoken::virtual_gpu
