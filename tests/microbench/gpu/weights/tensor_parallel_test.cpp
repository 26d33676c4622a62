#include "microbench/gpu/weights/tensor_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "microbench/gpu/weights/weights_layout.h"

namespace paretoken::microbench::gpu {
namespace {

MatrixShape share(const ModelShape& model, std::size_t tp, const std::string& op) {
    for (const MatrixShape& matrix : shares_of(model, tp)) {
        if (matrix.op == op) return matrix;
    }
    return {};
}

TEST(TensorParallel, one_gpu_has_the_whole_model) {
    const ModelShape model = model_shape("llama3-8b");
    auto whole = model.layer;
    whole.push_back(model.lm_head);
    EXPECT_EQ(shares_of(model, 1), whole);
}

TEST(TensorParallel, columns_divide_rows_and_rows_divide_k) {
    // Hidden size 8192, 64 query heads and 8 KV heads of 128 dimensions, feed-forward width 28672.
    const ModelShape model = model_shape("llama3-70b");
    EXPECT_EQ(share(model, 8, "qkv"), (MatrixShape{"qkv", (8 + 2) * 128, 8192}));
    EXPECT_EQ(share(model, 8, "o"), (MatrixShape{"o", 8192, 1024}));
    EXPECT_EQ(share(model, 8, "gate_up"), (MatrixShape{"gate_up", 2 * 3584, 8192}));
    EXPECT_EQ(share(model, 8, "down"), (MatrixShape{"down", 8192, 3584}));
    EXPECT_EQ(share(model, 8, "lm_head").rows, 128256u / 8);
}

TEST(TensorParallel, more_gpus_than_kv_heads_hold_one_each) {
    const ModelShape model = model_shape("qwen3-30b-a3b");  // 32 query heads, 4 KV heads
    EXPECT_EQ(share(model, 8, "qkv").rows, (4u + 2) * 128);
    EXPECT_EQ(share(model, 8, "moe_down").k, 768u / 8);
}

TEST(TensorParallel, latent_down_projections_are_held_by_all) {
    const ModelShape model = model_shape("deepseek-v3");
    EXPECT_EQ(share(model, 8, "kv_a"), share(model, 1, "kv_a"));
    EXPECT_EQ(share(model, 8, "q_b").rows * 8, share(model, 1, "q_b").rows);
}

TEST(TensorParallel, the_sum_of_shares_is_the_model_where_everything_divides) {
    const ModelShape model = model_shape("llama3-405b");
    for (const std::size_t tp : {2U, 4U, 8U}) {
        const auto shares = shares_of(model, tp);
        ASSERT_EQ(shares.size(), model.layer.size() + 1);
        for (std::size_t i = 0; i < model.layer.size(); ++i) {
            EXPECT_EQ(shares[i].rows * shares[i].k * tp, model.layer[i].rows * model.layer[i].k)
                << shares[i].op;
        }
    }
}

TEST(TensorParallel, what_does_not_divide_is_left_out) {
    ModelShape model = model_shape("llama3-8b");
    model.lm_head.rows = 32001;
    EXPECT_EQ(share(model, 2, "lm_head"), MatrixShape{});
}

TEST(TensorParallel, every_undivided_matrix_of_the_presets_fits_bf16_and_fp8_kernels) {
    for (const ModelShape& model : model_shapes()) {
        for (const MatrixShape& matrix : shares_of(model, 1)) {
            EXPECT_TRUE(fits(WeightFormat::bf16, matrix.k)) << model.name << ' ' << matrix.op;
            EXPECT_TRUE(fits(WeightFormat::fp8, matrix.k)) << model.name << ' ' << matrix.op;
        }
    }
}

}  // namespace
}  // namespace paretoken::microbench::gpu
