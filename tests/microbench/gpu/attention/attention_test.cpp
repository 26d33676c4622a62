#include "microbench/gpu/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "microbench/collect.h"
#include "tests/microbench/gpu/emulated_machine.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::uint64_t kSeed = 7;

/// Runs the code of the kernel with emulated thread blocks, on the inputs of a row in host memory.
struct Emulation {
    AttentionOptions options;
    std::int32_t blocks = 3;
    std::int32_t stages = 3;
    std::uint64_t order = 1;  ///< seed for the order in which lanes and blocks run
    std::int32_t least_tokens = 256;
    bool tokens_kernel = false;                    ///< uses the kernel for several query tokens even for one
    std::optional<AttentionOptions> part_of = {};  ///< takes caches and queries from this row
    std::int32_t token = 0;                        ///< with `part_of`: takes the queries of this query token

    const AttentionOptions& whole() const { return part_of ? *part_of : options; }
    PageTable table() const { return page_tables(whole(), 1, kSeed).front(); }
    std::size_t query_place(std::size_t i) const {
        if (!part_of) return i;
        const std::size_t row = options.heads.query_heads * options.heads.head_dim;
        const auto tokens = static_cast<std::size_t>(part_of->q_len);
        return (i / row * tokens + static_cast<std::size_t>(token)) * row + i % row;
    }

    template <KvFormat kFormat, int kDim, bool kByShift, bool kSeveral>
    std::vector<float> run_as() const {
        const PoolShape pool = options.pool();
        const auto pages = whole().pool_pages(1);
        const std::size_t width = bytes_of(kFormat);
        std::vector<std::byte> cache(pages * pool.page_bytes());
        for (std::size_t i = 0; i < cache.size() / width; ++i) {
            const std::uint16_t code = random_code(kFormat, kSeed, i);
            std::memcpy(cache.data() + i * width, &code, width);
        }
        std::vector<float> scales(pages * pool.page_scales());
        for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = random_scale(kSeed, i);
        std::vector<std::uint16_t> q(options.outputs());
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = query_code(kFormat, kSeed, query_place(i));
        std::vector<float> sinks(options.heads.query_heads);
        for (std::size_t i = 0; i < sinks.size(); ++i) sinks[i] = sink_logit(kSeed, i);

        const PageTable pages_of = table();
        SplitOptions split = split_options(options, blocks);
        split.least_tokens = least_tokens;
        const SplitPlan plan = split_plan(options.lengths, split);
        const auto partials = static_cast<std::size_t>(plan.partials * options.row_tiles()) * kWarpTokens;
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
        call.lengths = options.lengths.data();

        std::vector<int> pieces(plan.pieces());
        for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = static_cast<int>(i);
        std::shuffle(pieces.begin(), pieces.end(), Random(order));
        for (const int piece : pieces) {
            const auto bytes = static_cast<std::size_t>(BlockMemory<kFormat, kDim>::bytes(stages));
            const auto block =
                std::make_unique<EmulatedBlock>(bytes, order + static_cast<std::uint64_t>(piece));
            block->run([&](int lane) {
                EmulatedMachine<kByShift> machine(*block, lane, piece);
                attention_body<kFormat, kDim, kSeveral>(machine, call);
            });
        }
        EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), std::ssize(counters));
        return out;
    }

    template <KvFormat kFormat, bool kByShift>
    std::vector<float> run_on() const {
        const bool several = tokens_kernel || options.q_len > 1;
        if (options.heads.head_dim == 128) {
            return several ? run_as<kFormat, 128, kByShift, true>() : run_as<kFormat, 128, kByShift, false>();
        }
        return several ? run_as<kFormat, 64, kByShift, true>() : run_as<kFormat, 64, kByShift, false>();
    }

    template <bool kByShift = false>
    std::vector<float> run() const {
        switch (options.format) {
            case KvFormat::bf16:
                return run_on<KvFormat::bf16, false>();
            case KvFormat::fp16:
                return run_on<KvFormat::fp16, false>();
            case KvFormat::int8:
                return run_on<KvFormat::int8, false>();
            case KvFormat::fp8:
                break;
        }
        return run_on<KvFormat::fp8, kByShift>();
    }

    /// Returns the largest relative error among all (request, KV head) pairs.
    double error_of(const std::vector<float>& out) const {
        const PageTable pages_of = table();
        double worst = 0;
        for (std::size_t request = 0; request < options.lengths.size(); ++request) {
            for (std::size_t head = 0; head < options.heads.kv_heads; ++head) {
                const double error = attention_error(options, out, pages_of, request, head, kSeed);
                if (!(error <= worst)) worst = error;
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
        << "each piece has at least 256 tokens on average";
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
            if (std::isnan(want)) return;  // NaN codes are never stored
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
    // The eight lanes of each phase of a 16-byte access use different groups of four banks.
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
    EXPECT_EQ(places.size(), 64U) << "each place holds two dimensions";
}

TEST(GpuAttention, references_of_equal_keys_are_the_mean_of_the_values_and_a_sink_takes_its_share) {
    const std::vector<double> q = {1, 2};
    const std::vector<double> keys = {.5, .25, .5, .25};
    const std::vector<double> values = {1, 2, 3, 6};
    EXPECT_EQ(attention_reference(q, keys, values, 1), (std::vector<double>{2, 4}));
    const auto sunk = attention_reference(q, keys, values, 1, 1.0);  // all scores and the sink are 1
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

TEST(GpuAttention, a_pool_larger_than_the_caches_is_used_from_end_to_end) {
    AttentionOptions options = small(KvFormat::bf16, 64, {300, 300});
    const std::uint64_t page = options.pool().page_bytes();
    EXPECT_EQ(options.pool_pages(3), 3 * 38U);
    options.least_pool_bytes = 1000 * page;
    EXPECT_EQ(options.pool_pages(3), 1000U);
    EXPECT_EQ(options.pool_pages(40), 40 * 38U);
    const Work work = attention_work(options);
    const auto tables = page_tables(options, 3, kSeed);
    std::set<std::int32_t> pages;
    for (const PageTable& table : tables) pages.insert(table.pages.begin(), table.pages.end());
    EXPECT_EQ(pages.size(), 3 * 38U) << "each page has one owner";
    EXPECT_LT(*pages.begin(), 50);
    EXPECT_GT(*pages.rbegin(), 950);
    EXPECT_LT(*pages.rbegin(), 1000);
    options.least_pool_bytes = 40'000'000'000;
    EXPECT_EQ(attention_work(options), work) << "a larger pool does not change the work";
    EXPECT_TRUE(name_of(options).ends_with("/pool:40G"));
}

TEST(GpuAttention, large_rows_are_checked_by_a_sample_with_both_ends) {
    const auto suite = attention_suite(RowSet::quick);
    const auto pairs = pairs_to_check(suite.front(), 1);
    EXPECT_LE(pairs.size(), 8U);
    EXPECT_EQ(pairs[0], std::pair(std::size_t{0}, std::size_t{0}));
    EXPECT_EQ(pairs[1], std::pair(suite.front().lengths.size() - 1, suite.front().heads.kv_heads - 1));
    EXPECT_EQ(pairs_to_check(small(KvFormat::bf16, 64, {5, 6}), 1).size(), 4U);
}

/// Returns the results [requests, q_len, query heads, head_dim] in fp64, computed directly from the
/// definition: query token i of a context of `length` tokens sees the tokens t with t ≤ length − q_len + i,
/// and with a window only those with t > length − q_len + i − window.
std::vector<double> causal_attention(const AttentionOptions& options, const PageTable& table) {
    const PoolNumbers numbers(options.pool(), kSeed);
    const auto dim = static_cast<std::uint32_t>(options.heads.head_dim);
    std::vector<double> out(options.outputs());
    std::size_t at = 0;
    for (std::size_t request = 0; request < options.lengths.size(); ++request) {
        for (std::int32_t i = 0; i < options.q_len; ++i) {
            const std::int32_t own = options.lengths[request] - options.q_len + i;
            for (std::uint32_t head = 0; head < options.heads.query_heads; ++head, at += dim) {
                const auto kv_head = static_cast<std::uint32_t>(head / options.heads.group());
                std::vector<double> result(dim);
                double total = options.sinks ? std::exp(static_cast<double>(sink_logit(kSeed, head))) : 0;
                for (std::int32_t token = 0; token <= own; ++token) {
                    if (options.window != 0 && token <= own - options.window) continue;
                    const auto slot = static_cast<std::uint32_t>(token % options.page);
                    const auto page =
                        table.pages[static_cast<std::size_t>(table.first[request] + token / options.page)];
                    double score = 0;
                    for (std::uint32_t d = 0; d < dim; ++d) {
                        score += static_cast<double>(query_number(options.format, kSeed, at + d)) *
                                 numbers.key(page, kv_head, slot, d);
                    }
                    const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
                    total += weight;
                    for (std::uint32_t d = 0; d < dim; ++d) {
                        result[d] += weight * numbers.value(page, kv_head, slot, d);
                    }
                }
                for (std::uint32_t d = 0; d < dim; ++d) out[at + d] = result[d] / total;
            }
        }
    }
    return out;
}

/// Returns the largest relative error among the rows [requests, q_len, query heads].
double worst_row(const AttentionOptions& options, const std::vector<float>& out,
                 const std::vector<double>& want) {
    const std::size_t dim = options.heads.head_dim;
    double worst = 0;
    for (std::size_t at = 0; at < want.size(); at += dim) {
        const double error = relative_l2(std::span(out).subspan(at, dim), std::span(want).subspan(at, dim));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

AttentionOptions speculative(KvFormat format, HeadShape heads, std::int32_t q_len,
                             std::vector<std::int32_t> lengths) {
    return {.preset = "small",
            .heads = heads,
            .format = format,
            .page = 16,
            .lengths = std::move(lengths),
            .q_len = q_len};
}

TEST(GpuAttentionOfSeveralTokens, the_reference_is_the_causal_mask_written_out) {
    for (AttentionOptions options : attention_suite(RowSet::checks)) {
        if (options.q_len == 1 && options.format != KvFormat::fp16) continue;
        options.lengths.resize(6);
        const Emulation emulation{.options = options};
        const auto want = causal_attention(options, emulation.table());
        const std::vector<float> rounded(want.begin(), want.end());
        EXPECT_LE(emulation.error_of(rounded), 1e-7) << name_of(options);
    }
}

TEST(GpuAttentionOfSeveralTokens, each_query_token_sees_itself_and_what_is_before_it_at_every_length) {
    // The lengths have every remainder modulo the 16 tokens of a warp, near the size of a page and near the
    // 64 tokens of a block. The rows fill one, two and four tiles. Segments are also cut among tokens that
    // only some rows see.
    std::vector<std::int32_t> lengths;
    for (std::int32_t length = 5; length <= 21; ++length) lengths.push_back(length);
    for (std::int32_t length = 61; length <= 76; ++length) lengths.push_back(length);
    for (const std::int32_t length : {128, 131, 133}) lengths.push_back(length);
    for (const std::size_t group : {3, 5, 10}) {
        for (const std::int32_t window : {0, 2, 40}) {
            AttentionOptions options = speculative(KvFormat::fp16, {group, 1, 64}, 5, lengths);
            options.window = window;
            Emulation emulation{.options = options, .blocks = 2};
            const auto want = causal_attention(options, emulation.table());
            EXPECT_LE(worst_row(options, emulation.run(), want), 1e-3) << group << ' ' << window;
            emulation.blocks = 1000;
            emulation.least_tokens = 1;
            EXPECT_LE(worst_row(options, emulation.run(), want), 1e-3) << group << ' ' << window;
        }
    }
}

TEST(GpuAttentionOfSeveralTokens, one_token_too_many_or_too_few_is_an_error_that_is_found) {
    // The check compares each query token alone. In a short context, one token more or less gives an error
    // far above the bound.
    const AttentionOptions options = speculative(KvFormat::fp16, {4, 1, 64}, 4, {20});
    const Emulation emulation{.options = options};
    const auto out = emulation.run();
    EXPECT_LE(emulation.error_of(out), attention_bound(options.format));
    const std::size_t size = 4 * 64;
    for (std::size_t i = 0; i + 1 < 4; ++i) {
        auto wrong = out;
        std::copy_n(out.begin() + static_cast<std::ptrdiff_t>((i + 1) * size), size,
                    wrong.begin() + static_cast<std::ptrdiff_t>(i * size));
        EXPECT_GT(emulation.error_of(wrong), 10 * attention_bound(options.format));
    }
}

TEST(GpuAttentionOfSeveralTokens, one_token_gives_the_bits_of_the_kernel_of_one) {
    for (AttentionOptions options : attention_suite(RowSet::checks)) {
        if (options.q_len > 1 || options.heads.group() > kWarpTokens) continue;
        options.lengths = {1, 17, 64, 65, 300};
        Emulation emulation{.options = options};
        const auto one = emulation.run();
        emulation.tokens_kernel = true;
        const auto several = emulation.run();
        EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0) << name_of(options);
    }
}

TEST(GpuAttentionOfSeveralTokens, each_has_the_bits_of_a_query_alone_where_warps_read_the_same_tokens) {
    // The rows are one tile and the sequences are not cut. Hidden tokens have a weight of exactly 0, so that
    // they do not change a bit.
    for (const KvFormat format : kFormats) {
        const AttentionOptions together = speculative(format, {8, 2, 64}, 4, {4, 18, 66, 131});
        const auto out = Emulation{.options = together, .blocks = 1}.run();
        const std::size_t row = 8 * 64;
        for (std::int32_t i = 0; i < 4; ++i) {
            AttentionOptions alone = together;
            alone.q_len = 1;
            for (std::int32_t& length : alone.lengths) length -= 3 - i;
            const auto one = Emulation{.options = alone, .blocks = 1, .part_of = together, .token = i}.run();
            for (std::size_t request = 0; request < 4; ++request) {
                EXPECT_EQ(std::memcmp(one.data() + request * row,
                                      out.data() + (request * 4 + static_cast<std::size_t>(i)) * row,
                                      row * sizeof(float)),
                          0)
                    << name_of(format) << " token " << i << " of request " << request;
            }
        }
    }
}

TEST(GpuAttentionOfSeveralTokens, rows_are_packed_into_as_few_readings_as_the_warps_allow) {
    const auto tiles = [](std::size_t group, std::int32_t q_len) {
        const AttentionOptions options = speculative(KvFormat::bf16, {2 * group, 2, 64}, q_len, {64});
        return std::pair(options.row_tiles(), options.tiles_per_kv_head());
    };
    EXPECT_EQ(tiles(4, 4), std::pair(1, 1)) << "16 rows fill one tile";
    EXPECT_EQ(tiles(5, 3), std::pair(1, 1));
    EXPECT_EQ(tiles(8, 4), std::pair(2, 1)) << "two warps share one pass over the cache";
    EXPECT_EQ(tiles(9, 4), std::pair(4, 1)) << "three tiles need a group of four warps";
    EXPECT_EQ(tiles(16, 4), std::pair(4, 1));
    EXPECT_EQ(tiles(48, 4), std::pair(4, 3)) << "three passes over the cache are needed";
    EXPECT_EQ(tiles(48, 1), std::pair(1, 3)) << "with one query token a pass serves one tile";
}

TEST(GpuAttentionOfSeveralTokens, keys_are_read_once_and_each_token_computes_what_it_sees) {
    AttentionOptions options = small(KvFormat::bf16, 64, {100, 300});
    const Work one = attention_work(options);
    options.q_len = 4;
    const Work four = attention_work(options);
    const double queries = 2 * 8 * 64;
    EXPECT_EQ(four.read_bytes - one.read_bytes, 3 * queries * 2) << "only the bytes of the queries are added";
    EXPECT_EQ(four.written_bytes, 4 * one.written_bytes);
    EXPECT_EQ(four.flops, 4.0 * 8 * 64 * (4 * 400 - 2 * (3 + 2 + 1)));

    options.window = 100;
    EXPECT_EQ(attention_work(options).read_bytes,
              (100 + 103) * 2 * 64 * 2 * 2 + (7 + 7) * 4 + 4 * queries * 2);
    EXPECT_EQ(attention_work(options).flops, 4.0 * 8 * 64 * (97 + 98 + 99 + 100 + 4 * 100));
}

TEST(GpuAttentionOfSeveralTokens, rows_of_one_keep_their_names_and_the_default_suite_has_few_of_several) {
    for (const AttentionOptions& options : attention_suite(RowSet::full)) {
        EXPECT_EQ(name_of(options).find("/q_len:") != std::string::npos, options.q_len != 1);
    }
    const auto several = [](RowSet set) {
        const auto suite = attention_suite(set);
        return std::count_if(suite.begin(), suite.end(),
                             [](const AttentionOptions& options) { return options.q_len != 1; });
    };
    EXPECT_EQ(several(RowSet::quick), 0);
    EXPECT_EQ(several(RowSet::standard), 3);
    EXPECT_GE(several(RowSet::full), 10);
    std::set<std::string> names;
    for (const AttentionOptions& options : attention_suite(RowSet::standard)) names.insert(name_of(options));
    EXPECT_TRUE(names.contains(
        "attention/preset:llama3-70b/kv:fp8/batch:32/ctx:8192/page:16/layout:nhd/order:random/q_len:4"));
}

TEST(GpuAttentionOfSeveralTokens,
     checks_hold_the_shortest_context_and_every_format_of_one_two_and_four_tiles) {
    std::set<std::pair<KvFormat, std::int32_t>> seen;
    for (const AttentionOptions& options : attention_suite(RowSet::checks)) {
        const auto shortest = *std::min_element(options.lengths.begin(), options.lengths.end());
        EXPECT_EQ(shortest, options.q_len) << name_of(options);
        if (options.q_len > 1) seen.emplace(options.format, options.row_tiles());
    }
    for (const KvFormat format : kFormats) {
        EXPECT_TRUE(seen.contains({format, 1}) && seen.contains({format, 2}));
    }
    EXPECT_TRUE(seen.contains({KvFormat::bf16, 4}) && seen.contains({KvFormat::int8, 4}));
}

}  // namespace
}  // namespace paretoken::microbench::gpu
