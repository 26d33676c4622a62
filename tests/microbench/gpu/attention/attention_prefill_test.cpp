#include "microbench/gpu/attention/attention_prefill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "microbench/collect.h"
#include "tests/microbench/gpu/emulated_machine.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 3;

template <KvFormat kFormat, int kDim>
std::vector<float> output_as(const PrefillOptions& options, std::uint64_t order) {
    const auto filled = [&](PrefillOperand operand, std::size_t count) {
        std::vector<std::uint16_t> codes(count);
        for (std::size_t i = 0; i < count; ++i) codes[i] = prefill_code(options, operand, kSeed, i);
        return codes;
    };
    const auto q = filled(PrefillOperand::q, options.queries());
    const auto k = filled(PrefillOperand::k, options.keys());
    const auto v = filled(PrefillOperand::v, options.keys());
    std::vector<float> out(options.queries(), std::numeric_limits<float>::quiet_NaN());
    PrefillCall call = prefill_call(options);
    call.q = q.data();
    call.k = k.data();
    call.v = v.data();
    call.out = out.data();
    using Machine = EmulatedMachine<false>;
    for (unsigned piece = 0; piece < options.blocks(); ++piece) {
        constexpr auto kBytes = static_cast<std::size_t>(PrefillBlock<kFormat, kDim, Machine>::kSharedBytes);
        const auto block = std::make_unique<EmulatedBlock>(kBytes, order + piece);
        block->run([&](int lane) {
            Machine machine(*block, lane, static_cast<int>(piece));
            prefill_body<kFormat, kDim>(machine, call);
        });
    }
    return out;
}

std::vector<float> output_of(const PrefillOptions& options, std::uint64_t order = 1) {
    const bool wide = options.heads.head_dim == 128;
    if (options.format == KvFormat::bf16) {
        return wide ? output_as<KvFormat::bf16, 128>(options, order)
                    : output_as<KvFormat::bf16, 64>(options, order);
    }
    return wide ? output_as<KvFormat::fp16, 128>(options, order)
                : output_as<KvFormat::fp16, 64>(options, order);
}

void expect_right(const PrefillOptions& options, const std::vector<float>& out) {
    for (const PrefillPlace& place : places_to_check(options, kSeed)) {
        const auto reference = prefill_reference(options, place.request, place.query, place.head, kSeed);
        const auto result = std::span(out).subspan(result_place(options, place), reference.size());
        EXPECT_LE(relative_l2(result, reference), attention_bound(options.format))
            << name_of(options) << " request " << place.request << " query " << place.query << " head "
            << place.head;
    }
}

TEST(GpuPrefill, the_kernels_code_agrees_with_fp64_for_every_query_of_the_verification) {
    for (const PrefillOptions& options : prefill_suite(RowSet::checks))
        expect_right(options, output_of(options));
}

TEST(GpuPrefill, edges_of_a_tile_are_right_in_both_formats) {
    for (const KvFormat format : {KvFormat::bf16, KvFormat::fp16}) {
        for (const std::int32_t tokens : {15, 17, 64, 65}) {
            const PrefillOptions options{"edges", {2, 1, 64}, format, 1, tokens};
            expect_right(options, output_of(options));
        }
    }
}

TEST(GpuPrefill, the_order_of_lanes_does_not_change_a_bit) {
    const PrefillOptions options{"order", {2, 1, 128}, KvFormat::bf16, 1, 150};
    const auto first = output_of(options);
    const auto second = output_of(options, 77);
    EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST(GpuPrefill, a_query_sees_the_tokens_up_to_itself) {
    const PrefillOptions options{"few", {2, 1, 64}, KvFormat::fp16, 1, 3};
    EXPECT_EQ(prefill_work(options).flops, 4.0 * (1 + 2 + 3) * 2 * 64);
    const auto first = prefill_reference(options, 0, 0, 1, kSeed);
    for (std::size_t d = 0; d < 64; ++d) {
        EXPECT_EQ(first[d], number_of(KvFormat::fp16, prefill_code(options, PrefillOperand::v, kSeed, d)));
    }
}

TEST(GpuPrefill, blocks_cover_every_query_of_every_head_once_and_the_longest_come_first) {
    const PrefillOptions options{"few", {3, 1, 64}, KvFormat::bf16, 2, 130};
    const PrefillCall call = prefill_call(options);
    std::set<std::tuple<int, int, int>> seen;
    std::int32_t before = 1000;
    EmulatedBlock block(64, 1);
    for (unsigned piece = 0; piece < options.blocks(); ++piece) {
        const EmulatedMachine<false> machine(block, 0, static_cast<int>(piece));
        const PrefillBlock<KvFormat::bf16, 64, EmulatedMachine<false>> at(machine, call);
        seen.insert({at.request, at.head, at.first});
        EXPECT_LE(at.first, before);
        before = at.first;
    }
    EXPECT_EQ(seen.size(), 3U * 2 * 3);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
