#include "cards/config/model_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cards/config/config_text.h"

namespace paretoken::cards {
namespace {

using testing::billions;
using testing::card_of;
using testing::complaint_about;
using testing::eight_billion;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The members that every config has: 4 layers of 64 values with 8 heads.
std::string shape(const std::string& type, const std::string& more) {
    return R"("num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8, "vocab_size": 100,
        "intermediate_size": 256, "model_type": ")" +
           type + "\"" + more;
}

TEST(ModelType, ModelsThatUseTheirLayersSeveralTimesAreRefused) {
    const std::string ouro =
        R"("hidden_act": "silu", "num_key_value_heads": 8, "tie_word_embeddings": false)";
    for (const char* const loop : {R"("total_ut_steps": 4)", R"("num_loops": 2)", R"("mean_recurrence": 32)",
                                   R"("layer_repeats": 3)", R"("layer_sharing": true)"})
        for (const char* const type : {"ouro", "llama"})
            EXPECT_THAT(complaint_about(shape(type, ", " + ouro + ", " + loop)),
                        HasSubstr(std::string("some/config.json: ") +
                                  std::string(loop).substr(1, std::string(loop).find(':') - 2)))
                << loop;
    EXPECT_EQ(complaint_about(shape("ouro", ", " + ouro + R"(, "total_ut_steps": 1)")), "accepted");
}

TEST(ModelType, LinearAttentionIsRefusedByTheTypeAndByEverySetting) {
    const std::string ring =
        R"("hidden_act": "silu", "num_key_value_heads": 4, "tie_word_embeddings": false)";
    EXPECT_THAT(complaint_about(shape("bailing_moe_linear", ", " + ring)),
                HasSubstr("model_type bailing_moe_linear: a hybrid or state-space model"));
    EXPECT_THAT(complaint_about(shape("other", ", " + ring + R"(, "layer_group_size": 5)")),
                HasSubstr("layer_group_size: a setting of repeated or grouped layers"));
    EXPECT_THAT(complaint_about(shape("other", ", " + ring + R"(, "attn_interval": 4)")),
                HasSubstr("attn_interval"));
    EXPECT_THAT(complaint_about(shape("other", ", " + ring + R"(, "linear_silu": false)")),
                HasSubstr("linear_silu: a setting of attention"))
        << "a value of false does not switch off linear attention";
    EXPECT_EQ(complaint_about(shape("other", ", " + ring + R"(, "use_linear_attention": false)")),
              "accepted");
    EXPECT_THAT(complaint_about(shape("other", ", " + ring + R"(, "full_layer_period": 4)")),
                HasSubstr("full_layer_period"));
    EXPECT_THAT(complaint_about(shape("minimax_m2", R"(, "attn_type_list": [1, 0, 1, 1])")),
                HasSubstr("attn_type_list"));
    EXPECT_EQ(complaint_about(shape("minimax_m2", R"(, "attn_type_list": [1, 1, 1, 1])")), "accepted");
    EXPECT_EQ(complaint_about(shape("llama", ", " + ring + R"(, "linear_silu": false)")), "accepted");
}

/// Qwen3-Next 80B, with more members.
std::string qwen3_next(const std::string& more = "") {
    return R"("model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48, "vocab_size": 151936,
        "head_dim": 256, "num_attention_heads": 16, "num_key_value_heads": 2, "intermediate_size": 5120,
        "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 32,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16")" +
           more;
}

TEST(ModelType, GatedDeltaNetsKeepAStateInPlaceOfACacheOfEveryToken) {
    const ModelCard card = card_of(qwen3_next());
    EXPECT_NEAR(billions(card), 79.674391296, .003) << "the tensors of the checkpoint have so many";
    EXPECT_NEAR(static_cast<double>(card.active_parameters) / 1e9, 3.8749 - .3112, .003)
        << "without the embedding, of which a token takes one row";
    EXPECT_EQ(card.kv_values_per_token, 12U * 2 * 2 * 256) << "of the 12 layers with attention";
    EXPECT_EQ(card.state_bytes_per_sequence, 36. * (32 * 128 * 128 + 3 * (2 * 16 * 128 + 32 * 128)) * 2);
    EXPECT_EQ(card.attention_flops_per_pair, 12. * 4 * 16 * 256);
    const std::string wide = R"(, "mamba_ssm_dtype": "float32")";
    EXPECT_EQ(card_of(qwen3_next(wide)).state_bytes_per_sequence - card.state_bytes_per_sequence,
              36. * 32 * 128 * 128 * 2);
}

TEST(ModelType, LayersOfGatedDeltaNetsMayBeListed) {
    const std::string types = R"(, "layer_types": ["linear_attention", "linear_attention", "full_attention",
        "linear_attention"], "linear_num_key_heads": 2, "linear_key_head_dim": 4, "linear_num_value_heads": 4,
        "linear_value_head_dim": 8, "num_key_value_heads": 8, "tie_word_embeddings": true, "attn_output_gate": )";
    const ModelCard gated = card_of(shape("qwen3_5_text", types + "true"));
    EXPECT_EQ(gated.kv_values_per_token, 2U * 64);
    EXPECT_EQ(gated.state_bytes_per_sequence, 3. * (32 * 4 + 3 * (16 + 32)) * 2);
    EXPECT_EQ(gated.parameters - card_of(shape("qwen3_5_text", types + "false")).parameters, 64U * 64)
        << "the gate is as wide as the queries";
}

TEST(ModelType, LinearAttentionOfOtherTypesAndOtherSettingsAreStillRefused) {
    EXPECT_THAT(complaint_about(qwen3_next(R"(, "linear_forget_gate": 2)")), HasSubstr("linear_forget_gate"));
    EXPECT_THAT(complaint_about(qwen3_next(R"(, "layer_types": ["mamba"])")), HasSubstr("layer_types"));
    EXPECT_THAT(complaint_about(shape("qwen3_next", R"(, "tie_word_embeddings": false)")),
                HasSubstr("linear_key_head_dim"));
    EXPECT_THAT(complaint_about(shape("qwen3", R"(, "linear_num_value_heads": 32)")),
                HasSubstr("linear_num_value_heads"));
}

TEST(ModelType, LayersThatSeeImagesAloneHaveNoCacheOfTheText) {
    const ModelCard card =
        card_of(R"("model_type": "mllama", "text_config": {"model_type": "mllama_text_model",
        "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38], "tie_word_embeddings": false,
        "max_position_embeddings": 131072}, "vision_config": {"model_type": "mllama_vision_model",
        "hidden_size": 1280, "num_hidden_layers": 32, "num_global_layers": 8, "intermediate_size": 5120})");
    EXPECT_EQ(card.kv_values_per_token, 32U * 2 * 8 * 128) << "as much as Llama 3.1 8B";
    EXPECT_EQ(card.attention_flops_per_pair, 32. * 4 * 32 * 128);
    EXPECT_NEAR(billions(card), 10.56, .01) << "40 layers, both embeddings, and 40 of the encoder";
    EXPECT_THAT(card.notes.front(),
                HasSubstr("8 layers with cross-attention keep keys and values of images"));
    EXPECT_THAT(complaint_about(shape("mllama_text_model", R"(, "cross_attention_layers": [4])")),
                HasSubstr("a layer below 4"));
}

TEST(ModelType, ModelsWithoutACacheAreRefused) {
    EXPECT_THAT(complaint_about(shape("bert", "")), HasSubstr("model_type bert: an encoder has no KV cache"));
    EXPECT_THAT(complaint_about(shape("other", R"(, "architectures": ["OtherForMaskedLM"])")),
                HasSubstr("an encoder has no KV cache"));
    EXPECT_THAT(complaint_about(shape("t5", "")), HasSubstr("expected a decoder"));
}

TEST(ModelType, DecidesHowManyMatricesAFeedForwardLayerHas) {
    EXPECT_NEAR(billions(card_of(R"("model_type": "apertus", "hidden_size": 4096, "num_hidden_layers": 32,
        "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072,
        "hidden_act": "xielu", "tie_word_embeddings": false)")),
                8.05, .01);
    EXPECT_NEAR(billions(card_of(R"("model_type": "arcee", "hidden_size": 2560, "num_hidden_layers": 36,
        "intermediate_size": 18432, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
        "vocab_size": 128004, "hidden_act": "relu2", "tie_word_embeddings": false)")),
                4.62, .01);
    for (const char* const two : {"nanochat", "persimmon", "codegen", "nemotron", "gpt2"})
        EXPECT_FALSE(card_of(shape(two, "")).gated_ffn) << two;
    EXPECT_TRUE(card_of(shape("bitnet", R"(, "hidden_act": "relu2")")).gated_ffn);
    const std::string untied = R"(, "tie_word_embeddings": false)";
    EXPECT_TRUE(card_of(shape("newer", untied + R"(, "hidden_act": "silu")")).gated_ffn);
    EXPECT_FALSE(card_of(shape("newer", untied + R"(, "hidden_act": "xielu")")).gated_ffn);
    for (const char* const ambiguous : {"relu2", "gelu"})
        EXPECT_THAT(complaint_about(shape("newer", untied + R"(, "hidden_act": ")" + ambiguous + "\"")),
                    HasSubstr("hidden_act: expected an activation that says whether"));
    EXPECT_THAT(complaint_about(shape("newer", untied)), HasSubstr("hidden_act: missing"));
    const std::string no_width = R"("num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
        "vocab_size": 100, "model_type": ")";
    EXPECT_EQ(card_of(no_width + "gpt2\"").ffn, 256u);
    EXPECT_EQ(card_of(no_width + R"(mpt", "expansion_ratio": 2)").ffn, 128u);
    EXPECT_THAT(complaint_about(no_width + "llama\""), HasSubstr("intermediate_size: missing"));
    EXPECT_NEAR(billions(card_of(R"("model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016,
        "num_hidden_layers": 32, "num_attention_heads": 32, "kv_channels": 128, "vocab_size": 151936,
        "tie_word_embeddings": false)")),
                7.72, .01)
        << "intermediate_size counts both gate and up";
}

TEST(ModelType, DecidesWhetherTheOutputProjectionIsTheEmbedding) {
    EXPECT_NEAR(billions(card_of(R"("model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12,
        "vocab_size": 50257)")),
                .124, .001);
    EXPECT_NEAR(billions(card_of(R"("model_type": "bloom", "n_embed": 1024, "n_layer": 24, "n_head": 16,
        "vocab_size": 250880)")),
                .559, .001);
    EXPECT_NEAR(billions(card_of(R"("model_type": "opt", "hidden_size": 768, "ffn_dim": 3072,
        "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 50272)")),
                .124, .001);
    EXPECT_NEAR(billions(card_of(R"("model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528,
        "num_attention_heads": 64, "num_hidden_layers": 40, "vocab_size": 256000)")),
                34.98, .01);
    for (const char* const tied : {"cohere2", "falcon", "mpt", "gemma3_text", "smollm3", "starcoder2"})
        EXPECT_TRUE(card_of(shape(tied, "")).tied_embeddings) << tied;
    EXPECT_FALSE(card_of(shape("cohere2", R"(, "tie_word_embeddings": false)")).tied_embeddings);
    EXPECT_TRUE(card_of(shape("llama", R"(, "use_embedding_sharing": true)")).tied_embeddings);
    EXPECT_FALSE(card_of(shape("llama", "")).tied_embeddings);
    EXPECT_THAT(complaint_about(shape("newer", R"(, "hidden_act": "silu")")),
                HasSubstr("tie_word_embeddings: missing; expected true or false"));
    const std::string nested = R"("model_type": "qwen3_vl", "text_config": {)";
    EXPECT_TRUE(
        card_of(nested + shape("qwen3_vl_text", "") + R"(}, "tie_word_embeddings": true)").tied_embeddings);
    EXPECT_FALSE(card_of(nested + shape("qwen3_vl_text", R"(, "tie_word_embeddings": false)") +
                         R"(}, "tie_word_embeddings": true)")
                     .tied_embeddings);
}

TEST(ModelType, OneKeyForAllHeadsIsOneHead) {
    const std::string falcon = R"("hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32,
        "vocab_size": 65024, "model_type": "falcon")";
    for (const char* const heads :
         {"", R"(, "multi_query": true, "num_kv_heads": 71)", R"(, "multi_query": true)"})
        EXPECT_EQ(kv_bytes_per_token(card_of(falcon + heads)), 8192) << heads;
    EXPECT_EQ(card_of(falcon + R"(, "multi_query": false)").kv_heads, 71u);
    EXPECT_EQ(card_of(shape("falcon", R"(, "new_decoder_architecture": true, "num_kv_heads": 2)")).kv_heads,
              2u);
    EXPECT_EQ(card_of(shape("gpt_bigcode", "")).kv_heads, 1u);
}

TEST(ModelType, HasTheWidthOfItsHeadsAndThePatternOfItsWindows) {
    EXPECT_EQ(card_of(shape("gemma2", "")).head_dim, 256u);
    EXPECT_EQ(card_of(shape("llama", "")).head_dim, 8u);
    EXPECT_EQ(card_of(shape("gemma2", R"(, "sliding_window": 32)")).windowed_layers, 2u);
    EXPECT_EQ(card_of(shape("qwen2", R"(, "sliding_window": 32)")).windowed_layers, 0u)
        << "use_sliding_window is false by default";
    EXPECT_THAT(complaint_about(shape("newer", R"(, "sliding_window": 32, "hidden_act": "silu",
                                                  "tie_word_embeddings": false)")),
                HasSubstr("sliding_window: expected layer_types or sliding_window_pattern beside it"));
}

TEST(ModelType, PlansACheckpointOf32BitsInThe16BitsThatEnginesLoad) {
    const std::string eight = eight_billion(R"(, "dtype": "float32")");
    std::string wide = eight;
    wide.replace(wide.find("bfloat16"), 8, "float32");
    const ModelCard card = card_of(wide);
    EXPECT_NEAR(static_cast<double>(card.resident_weight_bytes), 16.06e9, 1e7);
    EXPECT_THAT(card.notes, ElementsAre(HasSubstr("--dtype float32")));
    const ModelCard asked = card_of(wide, {.weight_dtype = "f32", .kv_dtype = {}});
    EXPECT_NEAR(static_cast<double>(asked.resident_weight_bytes), 32.12e9, 1e7);
    EXPECT_THAT(asked.notes, ElementsAre());
    EXPECT_THAT(card_of(R"("torch_dtype": "float32", "text_config": {)" + shape("llama", "") + "}").notes,
                ElementsAre(HasSubstr("--dtype float32")));
}

TEST(ModelType, CountsTheTowersOfAMultimodalModelOrSaysThatItDoesNot) {
    const std::string language = R"("llm_config": {"model_type": "internlm2", "hidden_size": 6144,
        "intermediate_size": 16384, "num_attention_heads": 48, "num_hidden_layers": 48,
        "num_key_value_heads": 8, "vocab_size": 92553, "tie_word_embeddings": false})";
    const ModelCard card = card_of(language + R"(, "vision_config": {"hidden_size": 3200,
        "intermediate_size": 12800, "num_hidden_layers": 45, "num_attention_heads": 25})");
    EXPECT_NEAR(billions(card), 25.5, .15);
    EXPECT_THAT(card.notes, ElementsAre(HasSubstr("5.53 billion parameters of vision_config")));
    const ModelCard alone = card_of(language);
    EXPECT_EQ(card.dense_streamed_bytes, alone.dense_streamed_bytes) << "tokens do not read the tower";
    const ModelCard unclear = card_of(language + R"(, "audio_config": {"conf_hidden_size": 1536})");
    EXPECT_EQ(unclear.parameters, alone.parameters);
    EXPECT_THAT(unclear.notes, ElementsAre(HasSubstr("weights of audio_config are not counted")));
    EXPECT_THAT(card_of(language + R"(, "mm_vision_tower": "openai/clip")").notes,
                ElementsAre(HasSubstr("weights of mm_vision_tower are not counted")));
    EXPECT_NEAR(billions(card_of(language + R"(, "vision_config": {"hidden_size": 1280, "depth": 32,
        "intermediate_size": 3420, "hidden_act": "silu"})")) -
                    billions(alone),
                .63, .01)
        << "a gated tower";
}

TEST(ModelType, TheContextIsTheOneThatEnginesTake) {
    const auto context = [](const std::string& more) { return card_of(eight_billion(more)).max_context; };
    EXPECT_EQ(context(""), std::nullopt);
    EXPECT_EQ(context(R"(, "max_position_embeddings": 8192, "model_max_length": 131072)"), 131072u);
    EXPECT_EQ(context(R"(, "model_max_length": 4096)"), 4096u);
    const std::string positions = R"(, "max_position_embeddings": 32768, "rope_scaling": {"factor": 4.0,
        "original_max_position_embeddings": 32768, )";
    EXPECT_EQ(context(positions + R"("type": "yarn"})"), 131072u);
    EXPECT_EQ(context(positions + R"("rope_type": "yarn"})"), 131072u);
    EXPECT_EQ(context(positions + R"("rope_type": "llama3"})"), 32768u);
}

TEST(ModelType, CountsAnEmbeddingThatIsNarrowerThanTheResidualStream) {
    const std::string opt = R"("model_type": "opt", "activation_function": "relu", "ffn_dim": 4096,
        "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24, "vocab_size": 50272)";
    EXPECT_EQ(card_of(opt).parameters - card_of(opt + R"(, "word_embed_proj_dim": 512)").parameters,
              50272u * 512 - 2 * 512 * 1024);
}

TEST(ModelType, AHybridWhoseLayersAllHaveAttentionIsCounted) {
    const auto granite = [](const std::string& last) {
        return shape("granitemoehybrid", R"(, "layer_types": ["attention", "attention", "attention", ")" +
                                             last + R"("], "mamba_d_state": 256, "mamba_n_heads": 160,
            "num_local_experts": 0, "tie_word_embeddings": true)");
    };
    EXPECT_EQ(complaint_about(granite("attention")), "accepted");
    EXPECT_EQ(kv_bytes_per_token(card_of(granite("attention"))),
              kv_bytes_per_token(card_of(shape("granite", ""))));
    EXPECT_THAT(complaint_about(granite("mamba")), HasSubstr("hybrid"));
}

TEST(ModelType, CountsTheEmbeddingsOfEachLayer) {
    const std::string gemma = R"("model_type": "gemma3n_text", "hidden_size": 2048, "num_hidden_layers": 35,
        "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 262400,
        "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 15, "sliding_window": 512)";
    std::string widths = "16384";
    for (int layer = 1; layer < 35; ++layer) widths += ", 16384";
    const ModelCard plain = card_of(gemma + R"(, "intermediate_size": [)" + widths + "]");
    const ModelCard card =
        card_of(gemma + R"(, "intermediate_size": 16384, "hidden_size_per_layer_input": 256)");
    EXPECT_NEAR(billions(card) - billions(plain), 262144 * 35 * 256e-9 + 3 * 2048 * 35 * 256e-9, .001);
    EXPECT_EQ(card.dense_streamed_bytes - plain.dense_streamed_bytes, 3u * 2048 * 35 * 256 * 2)
        << "rows of the table are looked up";
    EXPECT_THAT(
        complaint_about(gemma + R"(, "intermediate_size": [8192, 16384])"),
        HasSubstr("intermediate_size.[1]: expected 8192, the value of the first layer (give a GGUF file"));
}

}  // namespace
}  // namespace paretoken::cards
