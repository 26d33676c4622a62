#include "microbench/shapes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::microbench {
namespace {

TEST(Shapes, a_layer_of_each_model_has_the_parameters_its_config_gives) {
    const auto parameters = [](const ModelShape& model) {
        std::size_t sum = 0;
        for (const MatrixShape& matrix : model.layer) sum += matrix.rows * matrix.k;
        return sum;
    };
    // hidden² · (1 + q : kv share · 2 + 1) + 3 · hidden · intermediate
    EXPECT_EQ(parameters(model_shape("smollm2-135m")), 576 * 576 * 2 + 2 * 576 * 192 + 3 * 576 * 1536);
    EXPECT_EQ(parameters(model_shape("llama3-8b")), 4096 * 4096 * 2 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
}

TEST(Shapes, every_matrix_fits_the_block_formats_and_heads_divide) {
    for (const ModelShape& model : model_shapes()) {
        for (const MatrixShape& matrix : model.layer) {
            EXPECT_EQ(matrix.k % 32, 0u) << model.name << matrix.op;
            EXPECT_GT(matrix.rows, 0u) << model.name << matrix.op;
        }
        EXPECT_EQ(model.heads.query_heads % model.heads.kv_heads, 0u);
        EXPECT_EQ(model_shape(model.name), model);
    }
}

std::vector<std::string> ops_of(const ModelShape& model) {
    std::vector<std::string> ops;
    for (const MatrixShape& matrix : model.layer) ops.push_back(matrix.op);
    return ops;
}

TEST(Shapes, a_model_that_routes_has_the_experts_one_token_goes_through) {
    const ModelShape qwen = model_shape("qwen3-30b-a3b");  // 8 of 128 experts of width 768, hidden 2048
    ASSERT_EQ(ops_of(qwen), (std::vector<std::string>{"qkv", "o", "moe_gate_up", "moe_down"}));
    EXPECT_EQ(qwen.layer[2], (MatrixShape{"moe_gate_up", 2 * 768, 2048, 8}));
    EXPECT_EQ(qwen.layer[3], (MatrixShape{"moe_down", 2048, 768, 8}));
}

TEST(Shapes, latent_attention_has_its_own_matrices_and_shared_experts_are_dense) {
    const ModelShape deepseek = model_shape("deepseek-v3");
    EXPECT_EQ(ops_of(deepseek), (std::vector<std::string>{"q_a", "q_b", "kv_a", "kv_b", "o", "moe_gate_up",
                                                          "moe_down", "gate_up", "down"}));
    EXPECT_EQ(deepseek.layer[2], (MatrixShape{"kv_a", 512 + 64, 7168}));
    EXPECT_EQ(deepseek.layer[4], (MatrixShape{"o", 7168, 128 * 128}));
}

TEST(Shapes, a_feed_forward_without_a_gate_has_no_gate) {
    const auto card = cards::model_card_of_config(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
        "n_head": 12, "vocab_size": 50257, "n_positions": 1024})",
                                                  "config.json");
    const ModelShape gpt2 = model_shape_of(card);
    EXPECT_EQ(ops_of(gpt2), (std::vector<std::string>{"qkv", "o", "up", "down"}));
    EXPECT_EQ(gpt2.layer[2], (MatrixShape{"up", 4 * 768, 768}));
    EXPECT_EQ(gpt2.lm_head, (MatrixShape{"lm_head", 50257, 768}));
}

TEST(Shapes, an_unknown_preset_names_the_known_ones) {
    try {
        model_shape("gpt-5");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("smollm2-135m, llama3-8b"), std::string::npos);
    }
}

}  // namespace
}  // namespace paretoken::microbench
