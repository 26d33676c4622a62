#include "cards/config/feed_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cards/config/config_text.h"

namespace paretoken::cards {
namespace {

using testing::billions;
using testing::card_of;
using testing::complaint_about;
using ::testing::HasSubstr;

/// 6 layers with 8 experts of 32 values, 2 of which a token uses.
std::string experts(const std::string& more) {
    return R"("model_type": "qwen3_moe", "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 100, "intermediate_size": 256, "num_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 32)" +
           more;
}

std::uint64_t routed(const std::string& more) {
    return card_of(experts(more)).moe->layers;
}

TEST(Experts, EveryLayerIsEitherDenseOrHasExperts) {
    EXPECT_EQ(routed(""), 6u);
    EXPECT_EQ(routed(R"(, "decoder_sparse_step": 2)"), 3u);
    EXPECT_EQ(routed(R"(, "decoder_sparse_step": 2, "mlp_only_layers": [0, 2, 4])"), 3u)
        << "these layers are dense anyway";
    EXPECT_EQ(routed(R"(, "decoder_sparse_step": 2, "mlp_only_layers": [0, 1])"), 2u);
    EXPECT_EQ(routed(R"(, "first_k_dense_replace": 1, "moe_layer_freq": 2)"), 2u) << "layers 2 and 4";
    EXPECT_EQ(routed(R"(, "is_moe_layer": [false, true, true, true, true, false])"), 4u);
    EXPECT_EQ(routed(R"(, "moe_layers": [1, 3])"), 2u);
    EXPECT_EQ(routed(R"(, "moe_layers_enum": "1,2,5")"), 3u);
    EXPECT_THAT(complaint_about(experts(R"(, "first_last_k_dense_replace": 1)")),
                HasSubstr("first_last_k_dense_replace: expected is_moe_layer beside it"));
    EXPECT_THAT(complaint_about(experts(R"(, "is_moe_layer": [true])")),
                HasSubstr("is_moe_layer: expected one value for each of 6 layers"));
    EXPECT_THAT(complaint_about(experts(R"(, "moe_layers_enum": "1,x")")), HasSubstr("moe_layers_enum"));
    EXPECT_THAT(complaint_about(experts(R"(, "mlp_only_layers": [6])")), HasSubstr("a layer below 6"));
    std::string exaone = R"("model_type": "exaone_moe", "first_last_k_dense_replace": 1, "head_dim": 128,
        "hidden_size": 6144, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
        "num_key_value_heads": 8, "num_shared_experts": 1, "tie_word_embeddings": false,
        "vocab_size": 153600, "is_moe_layer": [false)";
    for (int layer = 1; layer < 48; ++layer) exaone += ", true";
    EXPECT_NEAR(billions(card_of(exaone + "]")), 236.6, .1);
}

TEST(Experts, CountsTheExpertThatEveryTokenOfLlama4Uses) {
    const auto llama4 = [](const std::string& shape) {
        return card_of(R"("model_type": "llama4_text", "hidden_size": 5120, "num_hidden_layers": 48,
            "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192,
            "intermediate_size_mlp": 16384, "vocab_size": 202048, "num_experts_per_tok": 1, )" +
                       shape);
    };
    const ModelCard scout = llama4(R"("num_local_experts": 16, "interleave_moe_layer_step": 1)");
    EXPECT_NEAR(billions(scout), 107.8, .1);
    EXPECT_NEAR(static_cast<double>(scout.active_parameters) / 1e9, 16.1, .1);
    EXPECT_NEAR(billions(llama4(R"("num_local_experts": 128, "interleave_moe_layer_step": 2)")), 400.7, .1);
}

TEST(Experts, CountsTheLayersBesideTheExpertsOfGrok) {
    const std::string grok = R"("model_type": "git", "architectures": ["Grok1ForCausalLM"],
        "vocab_size": 131072, "hidden_size": 8192, "intermediate_size": 32768, "moe_intermediate_size": 16384,
        "num_experts_per_tok": 2, "num_local_experts": 8, "num_attention_heads": 64, "num_key_value_heads": 8,
        "num_hidden_layers": 64, "head_dim": 128, "attn_temperature_len": 1024, "sliding_window_size": -1,
        "global_attn_every_n": 1, "attn_factor": 1.0, "residual_moe": true)";
    EXPECT_NEAR(billions(card_of(grok)), 269.5, .1);
}

TEST(Experts, RefusesSettingsThatItDoesNotUnderstand) {
    for (const char* const setting :
         {R"("residual_experts": 2)", R"("moe_block_layout": [0, 1])", R"("zero_expert_num": 256)",
          R"("expert_ffn_hidden_size": 2048)", R"("moe_dense_beside": true)"})
        EXPECT_THAT(complaint_about(experts(std::string(", ") + setting)),
                    HasSubstr(std::string(setting).substr(1, std::string(setting).find(':') - 2) +
                              ": expected no setting of experts that is not understood"));
    for (const char* const harmless :
         {R"("moe_router_dtype": "fp32")", R"("router_aux_loss_coef": 0.001)", R"("moe_capacity": [64, 64])",
          R"("moe_router_enable_expert_bias": true)", R"("num_expert_groups": 8)", R"("moe_gate": "topk")",
          R"("residual_multiplier": 2)", R"("moe_dense_beside": false)", R"("expert_dropout": 0.5)"})
        EXPECT_EQ(complaint_about(experts(std::string(", ") + harmless)), "accepted") << harmless;
}

}  // namespace
}  // namespace paretoken::cards
