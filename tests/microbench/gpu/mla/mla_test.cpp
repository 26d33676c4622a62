#include "microbench/gpu/mla/mla.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "microbench/collect.h"
#include "tests/microbench/gpu/emulated_machine.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 11;

/// Runs the code of the kernel with emulated thread blocks, on the inputs of a row in host memory.
struct Emulation {
    MlaOptions options;
    std::int32_t blocks = 3;
    std::int32_t stages = 3;
    std::uint64_t order = 1;

    PageTable table() const {
        return page_tables(options.lengths, static_cast<std::uint32_t>(options.page), 1, options.order, kSeed)
            .front();
    }

    std::vector<float> run() const {
        const PageTable pages_of = table();
        std::vector<std::uint16_t> pool(pages_of.pages.size() *
                                        static_cast<std::size_t>(options.page * kMlaRow));
        for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = random_code(KvFormat::bf16, kSeed, i);
        std::vector<std::uint16_t> q(options.queries());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(KvFormat::bf16, kSeed, i);
        const SplitPlan plan = split_plan(options.lengths, split_options(options, blocks));
        const auto partials = static_cast<std::size_t>(plan.partials) * kWarpTokens;
        constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> partial_out(partials * kMlaValue, kPoison);
        std::vector<float> partial_lse(partials, kPoison);
        std::vector<std::int32_t> counters(static_cast<std::size_t>(plan.sequences));
        std::vector<float> out(options.outputs(), kPoison);

        MlaCall call = mla_call(options, stages);
        call.pool = pool.data();
        call.q = q.data();
        call.pages = pages_of.pages.data();
        call.first_page = pages_of.first.data();
        call.segments = plan.segments.data();
        call.first_segment = plan.first.data();
        call.partial_out = partial_out.data();
        call.partial_lse = partial_lse.data();
        call.counters = counters.data();
        call.out = out.data();
        std::vector<int> pieces(plan.pieces());
        for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<int>(i);
        std::shuffle(pieces.begin(), pieces.end(), Random(order));
        for (const int piece : pieces) {
            const auto block = std::make_unique<EmulatedBlock>(
                static_cast<std::size_t>(stages * kMlaStageBytes + kMlaFixedBytes), order);
            block->run([&](int lane) {
                EmulatedMachine<false> machine(*block, lane, piece);
                mla_body(machine, call);
            });
        }
        EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), std::ssize(counters));
        return out;
    }

    double error_of(const std::vector<float>& out) const {
        const std::size_t size = static_cast<std::size_t>(options.heads) * kMlaValue;
        double worst = 0;
        for (std::size_t request = 0; request < options.lengths.size(); ++request) {
            const auto reference = mla_reference(options, table(), request, kSeed);
            worst = std::max(worst, relative_l2(std::span(out).subspan(request * size, size), reference));
        }
        return worst;
    }
};

TEST(GpuMla, the_kernels_code_agrees_with_fp64_on_every_row_of_the_verification) {
    for (const MlaOptions& options : mla_suite(RowSet::checks)) {
        const Emulation emulation{.options = options};
        EXPECT_LE(emulation.error_of(emulation.run()), attention_bound(KvFormat::bf16)) << name_of(options);
    }
}

TEST(GpuMla, stages_blocks_and_the_order_of_lanes_do_not_matter) {
    MlaOptions options{.preset = "small", .heads = 16, .page = 32, .lengths = {70, 530}};
    const auto first = Emulation{.options = options, .blocks = 2, .stages = 2}.run();
    const auto second = Emulation{.options = options, .blocks = 2, .stages = 3, .order = 77}.run();
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
    const Emulation one{.options = options, .blocks = 1, .stages = 4};
    EXPECT_LE(one.error_of(one.run()), attention_bound(KvFormat::bf16));
}

TEST(GpuMla, a_stage_has_a_place_for_every_chunk_and_rows_meet_different_banks) {
    std::set<int> places;
    for (int token = 0; token < kMlaTokens; ++token) {
        for (int chunk = 0; chunk < kMlaChunks; ++chunk) places.insert(mla_place(token, chunk));
    }
    EXPECT_EQ(std::ssize(places), kMlaTokens * kMlaChunks);
    EXPECT_EQ(*places.rbegin() + 16, kMlaStageBytes);
    for (int chunk = 0; chunk < kMlaChunks; ++chunk) {
        std::set<int> banks;
        for (int token = 8; token < 16; ++token) banks.insert(mla_place(token, chunk) % 128);
        EXPECT_EQ(banks.size(), 8U);
    }
}

TEST(GpuMla, a_row_is_read_once_for_keys_and_values) {
    const MlaOptions options{.preset = "one", .heads = 16, .page = 16, .lengths = {100}};
    const Work work = mla_work(options);
    EXPECT_EQ(work.read_bytes, 100 * 1152 + 7 * 4 + 16 * 1152);
    EXPECT_EQ(work.written_bytes, 16 * 512 * 4);
    EXPECT_EQ(work.flops, 2.0 * 100 * 16 * (576 + 512));
}

TEST(GpuMla, names_hold_every_axis_and_no_two_rows_share_one) {
    std::set<std::string> names;
    for (const MlaOptions& options : mla_suite(RowSet::full)) names.insert(name_of(options));
    EXPECT_EQ(names.size(), mla_suite(RowSet::full).size());
    EXPECT_TRUE(names.contains("mla/preset:deepseek-v3-tp8/kv:bf16/batch:64/ctx:8192/page:64/order:random"));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
