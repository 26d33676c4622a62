#include "microbench/gpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "microbench/collect.h"
#include "tests/microbench/gpu/emulated_machine.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 7;

/// A row's inputs in host memory, and the kernel's code run on them by emulated thread blocks.
struct Emulation {
    AttentionOptions options;
    std::int32_t blocks = 3;
    std::int32_t stages = 3;
    std::uint64_t order = 1;  ///< of lanes and blocks
    std::int32_t least_tokens = 256;

    PageTable table() const {
        return page_tables(options.lengths, static_cast<std::uint32_t>(options.page), 1, options.order, kSeed,
                           options.window)
            .front();
    }

    template <KvFormat kFormat, int kDim, bool kByShift>
    std::vector<float> run_as() const {
        const PoolShape pool = options.pool();
        const auto pages = pages_for(options.lengths, pool.page, options.window);
        const std::size_t width = bytes_of(kFormat);
        std::vector<std::byte> cache(pages * pool.page_bytes());
        for (std::size_t i = 0; i < cache.size() / width; ++i) {
            const std::uint16_t code = random_code(kFormat, kSeed, i);
            std::memcpy(cache.data() + i * width, &code, width);
        }
        std::vector<float> scales(pages * pool.page_scales());
        for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = random_scale(kSeed, i);
        std::vector<std::uint16_t> q(options.outputs());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(kFormat, kSeed, i);
        std::vector<float> sinks(options.heads.query_heads);
        for (std::size_t i = 0; i < sinks.size(); ++i) sinks[i] = sink_logit(kSeed, i);

        const PageTable pages_of = table();
        SplitOptions split = split_options(options, blocks);
        split.least_tokens = least_tokens;
        const SplitPlan plan = split_plan(options.lengths, split);
        const auto partials = static_cast<std::size_t>(plan.partials) * kWarpTokens;
        constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> partial_out(partials * kDim, kPoison);
        std::vector<float> partial_lse(partials, kPoison);
        std::vector<std::int32_t> counters(static_cast<std::size_t>(plan.sequences));
        std::vector<float> out(options.outputs(), kPoison);

        AttentionCall call = attention_call(options, stages);
        call.pool = cache.data();
        call.scales = scales.data();
        call.q = q.data();
        call.sinks = options.sinks ? sinks.data() : nullptr;
        call.pages = pages_of.pages.data();
        call.first_page = pages_of.first.data();
        call.segments = plan.segments.data();
        call.first_segment = plan.first.data();
        call.partial_out = partial_out.data();
        call.partial_lse = partial_lse.data();
        call.counters = counters.data();
        call.out.wide = out.data();

        std::vector<int> pieces(plan.pieces());
        for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<int>(i);
        std::shuffle(pieces.begin(), pieces.end(), Random(order));
        for (const int piece : pieces) {
            const auto bytes = static_cast<std::size_t>(BlockMemory<kFormat, kDim>::bytes(stages));
            const auto block =
                std::make_unique<EmulatedBlock>(bytes, order + static_cast<std::uint64_t>(piece));
            block->run([&](int lane) {
                EmulatedMachine<kByShift> machine(*block, lane, piece);
                attention_body<kFormat, kDim>(machine, call);
            });
        }
        EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), std::ssize(counters));
        return out;
    }

    template <bool kByShift = false>
    std::vector<float> run() const {
        const bool wide = options.heads.head_dim == 128;
        switch (options.format) {
            case KvFormat::bf16:
                return wide ? run_as<KvFormat::bf16, 128, false>() : run_as<KvFormat::bf16, 64, false>();
            case KvFormat::fp16:
                return wide ? run_as<KvFormat::fp16, 128, false>() : run_as<KvFormat::fp16, 64, false>();
            case KvFormat::int8:
                return wide ? run_as<KvFormat::int8, 128, false>() : run_as<KvFormat::int8, 64, false>();
            default:
                return wide ? run_as<KvFormat::fp8, 128, kByShift>() : run_as<KvFormat::fp8, 64, kByShift>();
        }
    }

    /// The largest relative error among all (request, KV head) pairs.
    double error_of(const std::vector<float>& out) const {
        const std::size_t size = options.heads.group() * options.heads.head_dim;
        const PageTable pages_of = table();
        double worst = 0;
        for (std::size_t request = 0; request < options.lengths.size(); ++request) {
            for (std::size_t head = 0; head < options.heads.kv_heads; ++head) {
                const auto reference = attention_reference(options, pages_of, request, head, kSeed);
                const std::size_t at = (request * options.heads.kv_heads + head) * size;
                worst = std::max(worst, relative_l2(std::span(out).subspan(at, size), reference));
            }
        }
        return worst;
    }
};

AttentionOptions small(KvFormat format, std::size_t head_dim, std::vector<std::int32_t> lengths) {
    return {.preset = "small",
            .heads = {8, 2, head_dim},
            .format = format,
            .page = 16,
            .lengths = std::move(lengths)};
}

constexpr KvFormat kFormats[] = {KvFormat::bf16, KvFormat::fp16, KvFormat::fp8, KvFormat::int8};

TEST(GpuAttention, the_kernels_code_agrees_with_fp64_on_every_row_of_the_verification) {
    for (const AttentionOptions& options : attention_suite(RowSet::checks)) {
        const Emulation emulation{.options = options};
        EXPECT_LE(emulation.error_of(emulation.run()), attention_bound(options.format)) << name_of(options);
    }
}

TEST(GpuAttention, any_number_of_stages_and_blocks_gives_the_right_result) {
    for (const KvFormat format : kFormats) {
        for (const std::int32_t stages : {2, 4}) {
            for (const std::int32_t blocks : {1, 5}) {
                const Emulation emulation{.options = small(format, 64, {1, 130, 16, 300}),
                                          .blocks = blocks,
                                          .stages = stages,
                                          .order = static_cast<std::uint64_t>(blocks)};
                EXPECT_LE(emulation.error_of(emulation.run()), attention_bound(format))
                    << name_of(format) << " stages " << stages << " blocks " << blocks;
            }
        }
    }
}

TEST(GpuAttention, the_order_of_lanes_and_blocks_does_not_change_a_bit) {
    for (const KvFormat format : kFormats) {
        Emulation emulation{.options = small(format, 128, {100, 17, 600})};
        const auto first = emulation.run();
        emulation.order = 99;
        const auto second = emulation.run();
        EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0)
            << name_of(format);
    }
}

TEST(GpuAttention, more_partials_than_a_warp_has_lanes_are_combined) {
    AttentionOptions options = small(KvFormat::fp16, 64, {2600});
    options.heads = {6, 1, 64};
    options.sinks = true;
    Emulation emulation{.options = options, .blocks = 40, .stages = 2};
    EXPECT_EQ(split_plan(options.lengths, split_options(options, 40)).partials, 10)
        << "256 tokens each at least";
    EXPECT_LE(emulation.error_of(emulation.run()), attention_bound(KvFormat::fp16));
    emulation.least_tokens = 64;
    EXPECT_LE(emulation.error_of(emulation.run()), attention_bound(KvFormat::fp16));
}

TEST(GpuAttention, fp8_by_shift_agrees_where_there_is_no_instruction) {
    for (const std::size_t dim : {64, 128}) {
        const Emulation emulation{.options = small(KvFormat::fp8, dim, {77, 350})};
        EXPECT_LE(emulation.error_of(emulation.run<true>()), attention_bound(KvFormat::fp8));
    }
}

TEST(GpuAttention, a_spoilt_page_is_noticed) {
    Emulation emulation{.options = small(KvFormat::bf16, 64, {64})};
    const auto out = emulation.run();
    emulation.options.lengths = {48};
    EXPECT_GT(emulation.error_of(out), 10 * attention_bound(KvFormat::bf16));
}

TEST(GpuAttention, all_256_codes_of_both_8_bit_formats_dequantise_exactly) {
    EmulatedBlock block(1024, 1);
    const EmulatedMachine<true> by_shift(block, 0, 0);
    for (std::uint32_t code = 0; code < 256; ++code) {
        const std::uint32_t word = code | (255 - code) << 8 | code << 16 | code << 24;
        const auto expect = [&](KvFormat format, std::uint32_t pair, std::uint32_t low, double unit) {
            const double want = number_of(format, static_cast<std::uint16_t>(low));
            if (std::isnan(want)) return;  // never stored
            EXPECT_EQ(static_cast<double>(float_of_f16(static_cast<std::uint16_t>(pair & 0xffff))) * unit,
                      want)
                << name_of(format) << ' ' << low;
        };
        const HalfPairs fp8 = halves_of<KvFormat::fp8>(by_shift, word);
        expect(KvFormat::fp8, fp8.first, code, 256);
        expect(KvFormat::fp8, fp8.first >> 16, 255 - code, 256);
        expect(KvFormat::fp8, fp8.second, code, 256);
        expect(KvFormat::fp8, fp8.second >> 16, code, 256);
        const HalfPairs int8 = halves_of<KvFormat::int8>(by_shift, word);
        expect(KvFormat::int8, int8.first, code, 1);
        expect(KvFormat::int8, int8.first >> 16, 255 - code, 1);
        expect(KvFormat::int8, int8.second, code, 1);
        expect(KvFormat::int8, int8.second >> 16, code, 1);
    }
}

template <KvFormat kFormat, int kDim>
void expect_conflict_free() {
    using Tile = WarpTile<kFormat, kDim>;
    for (const bool value : {false, true}) {
        std::set<int> places;
        for (int token = 0; token < kWarpTokens; ++token) {
            for (int chunk = 0; chunk < Tile::kRowChunks; ++chunk)
                places.insert(Tile::place(value, token, chunk));
        }
        EXPECT_EQ(std::ssize(places), kWarpTokens * Tile::kRowChunks) << "two chunks share a place";
        EXPECT_EQ(*places.rbegin(), Tile::kValues - 16);
    }
    if constexpr (Tile::kHalf) {
        for (int token = 0; token < 64; ++token) {
            for (int chunk = 0; chunk < Tile::kRowChunks; ++chunk) {
                const int own = Tile::place(true, token % 16, chunk % 2);
                EXPECT_EQ(Tile::later(Tile::further(own, chunk / 2), token / 16),
                          Tile::place(true, token, chunk));
            }
        }
    }
    // The eight lanes of each phase of a 16-byte access meet different groups of four banks.
    const auto phase = [](auto place_of) {
        std::set<int> banks;
        for (int lane = 0; lane < 8; ++lane) banks.insert(place_of(lane) % 128 / 16);
        EXPECT_EQ(banks.size(), 8U) << name_of(kFormat) << ' ' << kDim;
    };
    if constexpr (Tile::kHalf) {
        phase([](int lane) { return Tile::place(false, lane, 3); });
        phase([](int lane) { return Tile::place(true, 8 + lane, 5); });
    } else {
        for (int g = 0; g < 8; g += 2) {
            phase([g](int lane) { return Tile::place(false, g + lane / 4, lane % 4); });
            if constexpr (kDim == 128) {
                phase([g](int lane) { return Tile::place(true, lane % 4 * 2 + 1, g + lane / 4); });
            }
        }
    }
}

TEST(GpuAttention, tiles_lie_in_shared_memory_without_overlap_or_bank_conflicts) {
    expect_conflict_free<KvFormat::bf16, 64>();
    expect_conflict_free<KvFormat::bf16, 128>();
    expect_conflict_free<KvFormat::fp8, 64>();
    expect_conflict_free<KvFormat::fp8, 128>();
}

TEST(GpuAttention, every_dimension_is_one_column_of_the_results_and_one_place_of_the_queries) {
    std::set<int> columns;
    std::set<int> places;
    for (int i = 0; i < 128; ++i) columns.insert(dim_of<KvFormat::fp8, 128>(i / 8, i % 8));
    for (int step = 0; step < 8; ++step) {
        for (int half = 0; half < 2; ++half) {
            for (int t = 0; t < 4; ++t) places.insert(query_dim<KvFormat::int8, 128>(step, half, t));
        }
    }
    EXPECT_EQ(columns.size(), 128U);
    EXPECT_EQ(places.size(), 64U) << "each holds two";
}

TEST(GpuAttention, references_of_equal_keys_are_the_mean_of_the_values_and_a_sink_takes_its_share) {
    const std::vector<double> q = {1, 2};
    const std::vector<double> keys = {.5, .25, .5, .25};
    const std::vector<double> values = {1, 2, 3, 6};
    EXPECT_EQ(attention_reference(q, keys, values, 1), (std::vector<double>{2, 4}));
    const auto sunk = attention_reference(q, keys, values, 1, 1.0);  // every score is 1, as is the sink
    EXPECT_NEAR(sunk[0], 4.0 / 3, 1e-12);
    EXPECT_NEAR(sunk[1], 8.0 / 3, 1e-12);
}

TEST(GpuAttention, bytes_and_flops_are_those_of_the_tokens_seen) {
    AttentionOptions options = small(KvFormat::bf16, 64, {100, 300});
    const Work all = attention_work(options);
    const double inputs = 2 * 8 * 64 * 2;
    EXPECT_EQ(all.read_bytes, 400 * 2 * 64 * 2 * 2 + (7 + 19) * 4 + inputs);
    EXPECT_EQ(all.written_bytes, 2 * 8 * 64 * 4);
    EXPECT_EQ(all.flops, 4.0 * 400 * 8 * 64);

    options.window = 100;
    EXPECT_EQ(attention_work(options).read_bytes, 200 * 2 * 64 * 2 * 2 + (7 + 7) * 4 + inputs);
    options.window = 0;
    options.format = KvFormat::int8;
    EXPECT_EQ(attention_work(options).read_bytes, 400 * 2 * 2 * (64 + 4) + (7 + 19) * 4 + inputs);
}

TEST(GpuAttention, names_hold_every_axis_and_no_two_rows_share_one) {
    const auto suite = attention_suite(RowSet::full);
    std::set<std::string> names;
    for (const AttentionOptions& options : suite) names.insert(name_of(options));
    EXPECT_EQ(names.size(), suite.size());
    EXPECT_TRUE(names.contains(
        "attention/preset:llama3-70b/kv:fp8/batch:32/ctx:8192/page:16/layout:nhd/order:random"));
    EXPECT_LT(attention_suite(RowSet::quick).size(), attention_suite(RowSet::standard).size());
}

TEST(GpuAttention, large_rows_are_checked_by_a_sample_with_both_ends) {
    const auto suite = attention_suite(RowSet::quick);
    const auto pairs = pairs_to_check(suite.front(), 1);
    EXPECT_LE(pairs.size(), 8U);
    EXPECT_EQ(pairs[0], std::pair(std::size_t{0}, std::size_t{0}));
    EXPECT_EQ(pairs[1], std::pair(suite.front().lengths.size() - 1, suite.front().heads.kv_heads - 1));
    EXPECT_EQ(pairs_to_check(small(KvFormat::bf16, 64, {5, 6}), 1).size(), 4U);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
