#include <gtest/gtest.h>

#include <set>

#include "microbench/cpu/attention/attention_kernel.h"
#include "microbench/cpu/ring.h"
#include "microbench/cpu/weights/weights_kernel.h"

namespace paretoken::microbench {
namespace {

const ModelShape kTiny{
    "tiny", {{"qkv", 50, 64}, {"o", 33, 96}, {"gate_up", 16, 64}, {"down", 7, 160}}, {}, {4, 2, 32}};
const ModelShape kTinyOf256{
    "tiny256", {{"qkv", 50, 256}, {"o", 33, 512}, {"gate_up", 16, 256}, {"down", 7, 64}}, {}, {4, 2, 32}};

StreamOptions stream(Isa isa, bool plant_fault) {
    return {.isa = isa, .threads = 1, .working_set_bytes = 1 << 20, .seed = 3, .plant_fault = plant_fault};
}

std::optional<std::string> check_of(Kernel& kernel) {
    kernel.prepare(0);
    return kernel.check(0);
}

template <class Test>
void for_each_weights(Test test) {
    for (const WeightType type : kWeightTypes) {
        const ModelShape& model = block_values(type) == kSuperBlock ? kTinyOf256 : kTiny;
        for (const Layout layout : {Layout::row, Layout::packed}) {
            for (const Isa isa : available_isas()) test(WeightsOptions{type, layout, 4, model}, isa);
        }
    }
}

TEST(Kernels, weights_pass_their_check) {
    for_each_weights([](const WeightsOptions& options, Isa isa) {
        EXPECT_EQ(check_of(*weights_kernel(options, stream(isa, false))), std::nullopt)
            << name_of(options.type) << ' ' << name_of(options.layout) << ' ' << name_of(isa);
    });
}

TEST(Kernels, one_flipped_bit_in_the_weights_is_caught) {
    for_each_weights([](const WeightsOptions& options, Isa isa) {
        const auto wrong = check_of(*weights_kernel(options, stream(isa, true)));
        ASSERT_TRUE(wrong.has_value()) << name_of(options.type) << ' ' << name_of(options.layout);
        EXPECT_NE(wrong->find("relative error"), std::string::npos);
    });
}

TEST(Kernels, weights_count_the_bytes_of_the_format_and_not_the_padding) {
    const WeightsOptions options{WeightType::q4_0, Layout::packed, 1, kTiny};
    const auto kernel = weights_kernel(options, stream(Isa::scalar, false));
    kernel->prepare(0);
    std::uint64_t bytes = 0;
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < kernel->window_count(); ++i) {
        bytes += kernel->window(0, i).bytes;
        size += kernel->window(0, i).size;
        kernel->run(0, i);
    }
    const std::uint64_t layer = 18 * (50 * 2 + 33 * 3 + 16 * 2 + 7 * 5);
    EXPECT_GT(size, bytes);
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(bytes / layer * layer),
                static_cast<double>(layer));
}

TEST(Kernels, attention_passes_its_check_and_catches_spoiled_values) {
    for (const KvType type : kKvTypes) {
        for (const Isa isa : available_isas()) {
            for (const bool random_order : {false, true}) {
                const AttentionOptions options{.type = type,
                                               .heads = kTiny.heads,
                                               .context = 65,
                                               .block = 32,
                                               .random_order = random_order};
                EXPECT_EQ(check_of(*attention_kernel(options, stream(isa, false))), std::nullopt)
                    << name_of(isa);
                EXPECT_TRUE(check_of(*attention_kernel(options, stream(isa, true))).has_value())
                    << name_of(isa);
            }
        }
    }
}

TEST(Kernels, a_type_streams_the_matrices_it_can_hold_and_experts_one_by_one) {
    ModelShape model = kTinyOf256;
    model.layer.push_back({"moe_down", 64, 512, 3});
    const auto ops = [&](WeightType type) {
        std::vector<std::string> names;
        for (const auto& matrix : streamed_matrices(model, type, 1 << 30)) names.push_back(matrix.op);
        return names;
    };
    EXPECT_EQ(ops(WeightType::q4_k),
              (std::vector<std::string>{"qkv", "o", "gate_up", "moe_down", "moe_down", "moe_down"}));
    EXPECT_EQ(ops(WeightType::q4_0).size(), 7u);
}

TEST(Kernels, rows_of_large_layers_are_cut_alike_to_whole_panels) {
    const ModelShape model{"large", {{"qkv", 6144, 4096}, {"down", 4096, 14336}}, {}, {}};
    const auto cut = streamed_matrices(model, WeightType::q8_0, 10'000'000);
    std::uint64_t bytes = 0;
    for (const MatrixShape& matrix : cut) {
        EXPECT_EQ(matrix.rows % kPanel, 0u);
        bytes += matrix.rows * row_bytes(WeightType::q8_0, matrix.k);
    }
    EXPECT_LE(bytes, 10'000'000u);
    EXPECT_GT(bytes, 8'000'000u);
    EXPECT_NEAR(static_cast<double>(cut[0].rows) / static_cast<double>(cut[1].rows), 1.5, 0.1);
    EXPECT_EQ(cut[1].k, 14336u);
}

TEST(Kernels, attention_in_random_order_uses_every_page_of_its_pool_once) {
    const AttentionOptions options{
        .type = KvType::f16, .heads = kTiny.heads, .context = 65, .block = 32, .random_order = true};
    const auto kernel = attention_kernel(options, stream(Isa::scalar, false));
    kernel->prepare(0);
    std::set<std::uint32_t> seen;
    std::size_t slots = 0;
    bool in_order = true;
    for (std::size_t i = 0; i < kernel->window_count(); ++i) {
        const Window window = kernel->window(0, i);
        EXPECT_EQ(window.page_size, 2u * 32 * 32 * 2);
        EXPECT_EQ(window.pages.size() * window.page_size, window.size);
        for (const std::uint32_t page : window.pages) {
            EXPECT_TRUE(seen.insert(page).second);
            in_order = in_order && page == slots++;
        }
    }
    EXPECT_FALSE(in_order);
    EXPECT_LE(*seen.rbegin(), (1u << 20) / (2 * 32 * 32 * 2));
}

TEST(Kernels, attention_counts_keys_and_values_of_real_tokens) {
    const AttentionOptions options{.type = KvType::f16, .heads = kTiny.heads, .context = 65, .block = 32};
    const auto kernel = attention_kernel(options, stream(Isa::scalar, false));
    kernel->prepare(0);
    const Window window = kernel->window(0, 0);
    EXPECT_EQ(window.bytes % (2 * 65 * 32 * 2), 0u);
    EXPECT_EQ(window.size % (2 * 96 * 32 * 2), 0u);
    EXPECT_EQ(window.flops / static_cast<double>(window.bytes),
              2.0);  // 4 · tokens · dim · 2 heads on 4 · tokens · dim bytes
}

TEST(Kernels, what_is_timed_in_cache_is_as_much_of_the_operand_as_fits) {
    const ModelShape model{"small", {{"qkv", 6144, 1024}}, {}, {4, 2, 64}};
    const auto weights =
        weights_kernel({WeightType::q8_0, Layout::packed, 4, model}, stream(best_isa(), false));
    weights->prepare(0);
    const std::size_t rows = kCachedBytes / row_bytes(WeightType::q8_0, 1024) / kPanel * kPanel;
    EXPECT_EQ(weights->run_cached(0), 2.0 * static_cast<double>(rows * 1024 * 4));
    for (const bool random_order : {false, true}) {
        const auto attention = attention_kernel({.type = KvType::f16,
                                                 .heads = model.heads,
                                                 .context = 2048,
                                                 .block = 32,
                                                 .random_order = random_order},
                                                stream(best_isa(), false));
        attention->prepare(0);
        const std::size_t tokens = kCachedBytes / (2 * 64 * 2);
        EXPECT_EQ(attention->run_cached(0), 4.0 * static_cast<double>(tokens * 64 * 2));
    }
}

TEST(Kernels, attention_counts_the_scales_of_int8) {
    const AttentionOptions options{.type = KvType::int8, .heads = kTiny.heads, .context = 65, .block = 32};
    const auto kernel = attention_kernel(options, stream(Isa::scalar, false));
    kernel->prepare(0);
    const Window window = kernel->window(0, 0);
    EXPECT_EQ(window.bytes % (2 * 65 * (32 + 4)), 0u);
    EXPECT_EQ(window.size / (2 * 96 * (32 + 4)), window.bytes / (2 * 65 * (32 + 4)));
    EXPECT_DOUBLE_EQ(window.flops / static_cast<double>(window.bytes), 4.0 * 2 * 32 / (2 * (32 + 4)));
}

}  // namespace
}  // namespace paretoken::microbench
