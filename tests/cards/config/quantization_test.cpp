#include "cards/config/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cards/fit.h"
#include "tests/cards/config/config_text.h"

namespace paretoken::cards {
namespace {

using testing::card_of;
using testing::complaint_about;
using testing::eight_billion;
using ::testing::HasSubstr;

std::string quantized(const std::string& recipe) {
    return eight_billion(R"(, "quantization_config": {)" + recipe + "}");
}

ModelCard card(const std::string& recipe) {
    return card_of(quantized(recipe));
}

/// The weights with their scales, in 10^9 bytes.
double gigabytes(const ModelCard& model) {
    return resident_bytes(model) / 1e9;
}

std::string compressed(const std::string& weights, const std::string& ignored,
                       const std::string& targets = R"("Linear")") {
    return R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": [)" + targets +
           R"(], "weights": {)" + weights + R"(}}}, "ignore": [)" + ignored + "]";
}

const std::string kFp8 = R"("num_bits": 8, "type": "float")";
const std::string kFp4 = R"("num_bits": 4, "type": "float", "group_size": 16)";

// Attention has 1.342e9 of the weights, feed-forward layers 5.637e9, and embedding and head 1.051e9.
constexpr double kAttention = 1.342;
constexpr double kFeedForward = 5.637;
constexpr double kTables = 1.051;

TEST(Quantization, LeavesModulesAloneThatARecipeIgnores) {
    const double all = kAttention + kFeedForward + 2 * kTables;
    EXPECT_NEAR(gigabytes(card(compressed(kFp8, R"("lm_head")"))), all, .01);
    EXPECT_NEAR(gigabytes(card(compressed(kFp8, R"("lm_head", "re:.*mlp.*")"))), all + kFeedForward, .01);
    EXPECT_NEAR(gigabytes(card(compressed(kFp8, R"("re:.*self_attn.*")"))), all + kAttention, .01);
    EXPECT_NEAR(gigabytes(card(compressed(kFp8, R"("model.layers.31.self_attn.o_proj")"))),
                all + 4096 * 4096e-9, .001)
        << "one matrix of one layer";
    EXPECT_NEAR(gigabytes(card(
                    R"("quant_method": "fp8", "modules_to_not_convert": ["model.layers.0", "mlp.up_proj"])")),
                all + (kAttention + kFeedForward) / 32 + kFeedForward / 3 * 31 / 32, .01);
    EXPECT_NEAR(gigabytes(card(R"("quant_method": "modelopt", "quant_algo": "FP8",
                                   "exclude_modules": ["lm_head", "model.layers.*.self_attn*"])")),
                all + kAttention, .01);
}

TEST(Quantization, QuantisesOnlyTheTargetsOfARecipe) {
    EXPECT_NEAR(gigabytes(card(compressed(kFp4, R"("lm_head")", R"("re:.*self_attn.*")"))),
                kAttention * 9 / 16 + 2 * kFeedForward + 2 * kTables, .01);
    EXPECT_NEAR(gigabytes(card(R"("quant_method": "modelopt", "ignore": ["*self_attn*"], "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": {)" +
                               kFp4 + "}}}")),
                2 * kAttention + kFeedForward * 9 / 16 + 2 * kTables, .01);
    EXPECT_EQ(card(R"("quant_method": "compressed-tensors", "config_groups": {},
                      "kv_cache_scheme": {"num_bits": 8, "type": "float"})")
                  .weight_dtype,
              "bf16");
    const ModelCard mixed =
        card(R"("quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {
        "group_0": {"targets": ["re:.*mlp.*"], "weights": {)" +
             kFp4 + R"(}}, "group_1": {"targets": ["Linear"], "weights": {)" + kFp8 + "}}}");
    EXPECT_NEAR(gigabytes(mixed), kAttention + kFeedForward * 9 / 16 + 2 * kTables, .01);
    EXPECT_EQ(mixed.weight_dtype, "nvfp4");
    EXPECT_NEAR(gigabytes(card(R"("quant_method": "gptq", "bits": 4, "group_size": 128,
        "modules_in_block_to_quantize": [["self_attn.q_proj", "self_attn.o_proj"]])")),
                2 * (kAttention + kFeedForward + kTables) - 32 * 2 * 4096 * 4096e-9 * (1.5 - 2.5 / 128), .01);
}

TEST(Quantization, AppliesTheRulesOfGptqAndAutoRound) {
    const std::string gptq = R"("quant_method": "gptq", "bits": 4, "group_size": 128)";
    const double small = .5 + 2.5 / 128;
    EXPECT_NEAR(gigabytes(card(gptq)), (kAttention + kFeedForward) * small + 2 * kTables, .01);
    EXPECT_NEAR(gigabytes(card(gptq + R"(, "dynamic": {"+:.*\\.mlp\\..*": {"bits": 8, "group_size": 128}})")),
                kAttention * small + kFeedForward * (1 + 3. / 128) + 2 * kTables, .01);
    EXPECT_NEAR(gigabytes(card(gptq + R"(, "dynamic": {"-:.*mlp.*": {}})")),
                kAttention * small + 2 * kFeedForward + 2 * kTables, .01);
    EXPECT_THAT(
        complaint_about(quantized(gptq + R"(, "dynamic": {"-:.*mlp.*": {}, ".*up_proj": {"bits": 8}})")),
        HasSubstr("expected only one format for mlp.up_proj"));
    EXPECT_NEAR(gigabytes(card(gptq + R"(, "dynamic": {"-:.*up_proj": {}, "-:.*v_proj": {}})")),
                (kAttention + kFeedForward) * small + 2 * kTables +
                    (kFeedForward / 3 + 32 * 4096 * 1024e-9) * (2 - small),
                .01)
        << "gate_up_proj and qkv_proj are other names";
    EXPECT_NEAR(gigabytes(card(gptq + R"(, "lm_head": true)")),
                (kAttention + kFeedForward + kTables / 2) * small + kTables, .01);
    std::string extra;
    for (int layer = 0; layer < 32; ++layer)
        for (const char* const matrix : {"gate", "up", "down"})
            extra += (extra.empty() ? "" : ", ") + std::string("\"model.layers.") + std::to_string(layer) +
                     ".mlp." + matrix + R"(_proj": {"bits": 16})";
    EXPECT_NEAR(
        gigabytes(card(R"("quant_method": "auto-round", "bits": 4, "group_size": 128, "extra_config": {)" +
                       extra + "}")),
        kAttention * small + 2 * kFeedForward + 2 * kTables, .01);
}

TEST(Quantization, CountsScalesByTheSizeOfTheirGroups) {
    const double linear = kAttention + kFeedForward;
    EXPECT_NEAR(gigabytes(card(R"("quant_method": "gptq", "bits": 4, "group_size": 32)")),
                linear * (.5 + 2.5 / 32) + 2 * kTables, .01);
    EXPECT_NEAR(gigabytes(card(R"("quant_method": "gptq", "bits": 4, "group_size": -1)")),
                linear * .5 + 2 * kTables, .01);
    EXPECT_NEAR(gigabytes(card(
                    compressed(R"("num_bits": 4, "type": "int", "group_size": 32, "symmetric": true)", ""))),
                linear * (.5 + 2. / 32) + 2 * kTables, .01);
    EXPECT_EQ(card(compressed(R"("num_bits": 4, "type": "float", "group_size": 32)", "")).weight_dtype,
              "mxfp4");
    EXPECT_EQ(card(compressed(kFp4, "")).weight_dtype, "nvfp4");
}

TEST(Quantization, CountsKimiK2ThinkingAsItsCheckpointIs) {
    const ModelCard kimi = card_of(R"("model_type": "deepseek_v3", "hidden_size": 7168,
        "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
        "num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 1, "moe_layer_freq": 1, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "vocab_size": 163840, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "quantization_config": {)" +
                                   compressed(R"("num_bits": 4, "type": "int", "group_size": 32,
                                                 "strategy": "group", "symmetric": true)",
                                              R"("lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                                                 "re:.*mlp\\.(gate|up|gate_up|down)_proj.*")") +
                                   "}");
    EXPECT_NEAR(gigabytes(kimi), 594.2, .1);
    EXPECT_EQ(kimi.moe->scale_block, 0u) << "kernels for experts divide groups of integers";
    Deployment on{.engine = Engine::sglang, .memory_bytes = 140e9, .tensor_parallel = 8};
    const double shared = fit_of(kimi, on).weights;
    on.attention_data_parallel = true;
    EXPECT_NEAR((fit_of(kimi, on).weights - shared) / 1e9, 9.2, .1)
        << "attention is in 16 bits, though most weights are in 4; tensor ranks have a part of it whole";
    on.engine = Engine::vllm;
    const double experts = 60 * 384 * 3 * 7168 * 2048. * (.5 + 2. / 32);
    EXPECT_NEAR(fit_of(kimi, on).weights, resident_bytes(kimi) - experts * 7 / 8, 1e6)
        << "with the scales of the experts";
}

TEST(Quantization, KnowsTheBlocksWithOneScaleThatRanksCannotDivide) {
    const auto block = [](const std::string& recipe) { return card(recipe).scale_block; };
    EXPECT_EQ(block(R"("quant_method": "fp8", "weight_block_size": [128, 128])"), 128u);
    EXPECT_EQ(block(R"("quant_method": "fp8", "weight_block_size": null)"), 0u);
    EXPECT_EQ(block(R"("quant_method": "awq", "bits": 4, "group_size": 64)"), 64u);
    EXPECT_EQ(block(R"("quant_method": "gptq", "bits": 4)"), 128u);
    EXPECT_EQ(block(R"("quant_method": "gptq", "bits": 4, "group_size": -1)"), 0u);
    EXPECT_EQ(block(R"("quant_method": "hqq", "bits": 4, "group_size": 64)"), 0u);
    EXPECT_EQ(block(compressed(kFp8 + R"(, "strategy": "block", "block_structure": [128, 128])", "")), 128u);
    EXPECT_EQ(block(compressed(kFp8, "")), 0u);
}

TEST(Quantization, RefusesWhatItCannotApply) {
    const auto about = [](const std::string& recipe) { return complaint_about(quantized(recipe)); };
    EXPECT_THAT(about(compressed(kFp8, R"("re:.*mixer\\.in_proj")")),
                HasSubstr("ignore.[0]: expected the name of a module of this model, unlike"));
    EXPECT_THAT(about(compressed(kFp8, R"("re:.*\\bmlp")")), HasSubstr("expected a pattern of module names"));
    EXPECT_THAT(about(compressed(kFp8, R"("re:((.*)*)*x")")), HasSubstr("expected a simpler pattern"));
    EXPECT_THAT(about(compressed(kFp8, "") + R"(, "sparsity_config": {"format": "sparse-24-bitmask"})"),
                HasSubstr("sparsity_config.format: expected \"dense\""));
    EXPECT_EQ(about(compressed(kFp8, "") + R"(, "sparsity_config": {"format": "dense"})"), "accepted");
    EXPECT_THAT(about(R"("quant_method": "fp8", "layer_formats": {"mlp": "fp4"})"),
                HasSubstr("layer_formats"));
    EXPECT_THAT(about(R"("quant_method": "gptq", "bits": 3)"), HasSubstr("CARD:weights=TYPE"));
    for (
        const char* const harmless :
        {R"("lm_head", "re:.*embed_tokens", "model.layers.32.mlp.up_proj", "model.layers.32*", "re:visual.*", "mlp.gate")",
         R"("re:.*mlp\\.gate$", "model.vision_tower.layers.3.mlp.fc1", "re:.*mlp.shared_expert_gate$")"})
        EXPECT_EQ(about(compressed(kFp8, harmless)), "accepted") << harmless;
}

}  // namespace
}  // namespace paretoken::cards
