#include "cards/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "tests/reports/temporary_directory.h"

namespace paretoken::cards {
namespace {

constexpr double kGiga = 1e9;
constexpr double kGib = 1073741824.0;

/// The smallest valid config; `more` is inserted before the closing brace.
std::string config(const std::string& more) {
    return R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
               "num_key_value_heads": 2, "vocab_size": 100, "intermediate_size": 256)" +
           more + "}";
}

ModelCard card_of(const std::string& more, const ModelCardOptions& options = {}) {
    return model_card_of_config(config(more), "config.json", options);
}

std::string complaint_about_config(const std::string& json) {
    try {
        model_card_of_config(json, "some/config.json");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(ModelCard, CountsTheKvCacheByKvHeads) {
    EXPECT_EQ(kv_bytes_per_token(model_card("llama-3.1-8b")), 131072);
    EXPECT_EQ(kv_bytes_per_token(model_card("llama-3.1-70b")), 327680);
    EXPECT_EQ(kv_bytes_per_token(model_card("llama-3.1-405b")), 516096);
    EXPECT_EQ(kv_bytes_per_token(model_card("llama-3.1-8b", {.weight_dtype = {}, .kv_dtype = "fp8"})), 65536);
}

TEST(ModelCard, CountsTheKvCacheOfASequence) {
    const ModelCard small = model_card("llama-3.1-8b");
    EXPECT_EQ(kv_bytes_per_sequence(small, 32768), 4 * kGib);
    EXPECT_EQ(kv_bytes_per_sequence(small, 4096), 0.5 * kGib);
    EXPECT_EQ(kv_bytes_per_sequence(model_card("llama-3.1-70b"), 4096), 1.25 * kGib);
    EXPECT_EQ(kv_bytes_per_sequence(small, 32768) * 100, 400 * kGib);
    const ModelCard half = model_card("llama-3.1-8b", {.weight_dtype = {}, .kv_dtype = "fp8"});
    EXPECT_EQ(3 * kGib / kv_bytes_per_token(half), 49152);
}

TEST(ModelCard, GivesTheContextBudgetOfAServer) {
    const double pool = (24 * 0.88 - 16.5) * kGib;
    EXPECT_NEAR(pool / kGib, 4.62, 1e-9);
    const double tokens = std::floor(pool / kv_bytes_per_token(model_card("llama-3.1-8b")));
    EXPECT_EQ(tokens, 37847);
    EXPECT_EQ(std::floor(tokens / 32), 1182);
}

TEST(ModelCard, StreamsTheOutputProjectionAndNotTheEmbedding) {
    const ModelCard card = model_card("llama-3.1-8b");
    EXPECT_NEAR(static_cast<double>(card.resident_weight_bytes) / kGiga, 16.06, 0.005);
    EXPECT_NEAR(streamed_weight_bytes(card) / kGiga, 15.009, 0.001);
    EXPECT_NEAR(static_cast<double>(card.active_parameters) / kGiga, 7.5047, 0.0001);
    const ModelCard tied = model_card("smollm2-135m");
    EXPECT_TRUE(tied.tied_embeddings);
    EXPECT_EQ(tied.dense_streamed_bytes, tied.resident_weight_bytes);
    EXPECT_NEAR(static_cast<double>(tied.parameters) / 1e6, 134.5, 0.1);
}

TEST(ModelCard, CountsTheParametersThatModelsAreKnownFor) {
    const auto billions = [](const char* name) {
        return static_cast<double>(model_card(name).parameters) / kGiga;
    };
    EXPECT_NEAR(billions("llama-3.1-8b"), 8.03, 0.005);
    EXPECT_NEAR(billions("llama-3.1-70b"), 70.55, 0.05);
    EXPECT_NEAR(billions("llama-3.1-405b"), 405.85, 0.1);
    EXPECT_NEAR(billions("qwen3-8b"), 8.19, 0.01);
    EXPECT_NEAR(billions("qwen3-32b"), 32.76, 0.02);
    EXPECT_NEAR(billions("qwen3-30b-a3b"), 30.53, 0.02);
    EXPECT_NEAR(billions("gpt-oss-120b"), 116.8, 0.1);
    EXPECT_NEAR(billions("deepseek-v3"), 671.0, 0.3);
    EXPECT_NEAR(static_cast<double>(model_card("gpt-oss-120b").active_parameters) / kGiga, 5.1, 0.05);
    EXPECT_NEAR(static_cast<double>(model_card("deepseek-v3").active_parameters) / kGiga, 36.6, 0.1);
    EXPECT_NEAR(static_cast<double>(model_card("qwen3-30b-a3b").active_parameters) / kGiga, 3.04, 0.03);
}

TEST(ModelCard, EveryShippedCardCanBeRead) {
    ASSERT_GE(known_models().size(), 9u);
    for (const std::string& name : known_models()) {
        const ModelCard card = model_card(name);
        EXPECT_EQ(card.name, name);
        EXPECT_EQ(card.source, "shipped card");
        std::uint64_t sum = 0;
        for (const auto& [dtype, bytes] : card.bytes_by_dtype) sum += bytes;
        EXPECT_EQ(sum, card.resident_weight_bytes) << name;
        EXPECT_LE(card.dense_streamed_bytes, card.resident_weight_bytes) << name;
        EXPECT_GT(kv_bytes_per_token(card), 0) << name;
        EXPECT_GT(card.max_context.value_or(0), 0u) << name;
    }
}

TEST(ModelCard, IsFoundByItsAliasesToo) {
    EXPECT_EQ(model_card("llama3-70b"), model_card("llama-3.1-70b"));
    EXPECT_EQ(model_card("llama3-8b", {.weight_dtype = "fp8", .kv_dtype = {}}).weight_dtype, "fp8");
}

TEST(ModelCard, IsFoundInAnyCaseAndByTheNameOfARepository) {
    EXPECT_EQ(model_card("Llama-3.1-70B"), model_card("llama-3.1-70b"));
    EXPECT_EQ(model_card("Llama3-70B:kv=fp8").kv_dtype, "fp8");
    EXPECT_EQ(model_card("meta-llama/Llama-3.1-70B"), model_card("llama-3.1-70b"))
        << "the card's own repository";
    ModelCard other = model_card("someone/Qwen3-8B:weights=fp8");
    ASSERT_FALSE(other.notes.empty());
    EXPECT_EQ(other.notes.back(),
              "someone/Qwen3-8B was taken for the shipped card qwen3-8b because of its name");
    EXPECT_EQ(other.repository, "someone/Qwen3-8B");
    other.notes.pop_back();
    other.repository = "Qwen/Qwen3-8B";
    EXPECT_EQ(other, model_card("qwen3-8b:weights=fp8"));
    for (const char* const unknown : {"a/b/qwen3-8b", "/qwen3-8b", "qwen/qwen9-8b"})
        EXPECT_THROW(model_card(unknown), UsageError) << unknown;
}

TEST(ModelCard, DrawsDistinctExpertsLikeTheyAreKnownToBe) {
    EXPECT_NEAR(distinct_experts(256, 8, 1), 8.0, 0.05);
    EXPECT_NEAR(distinct_experts(256, 8, 4), 30.5, 0.05);
    EXPECT_NEAR(distinct_experts(256, 8, 16), 102.0, 0.05);
    EXPECT_NEAR(distinct_experts(256, 8, 64), 222.4, 0.05);
    EXPECT_EQ(distinct_experts(0, 0, 5), 0);
}

TEST(ModelCard, StreamsMoreExpertsForMoreTokensAndNeverMoreThanThereAre) {
    for (const char* name : {"deepseek-v3", "gpt-oss-120b", "qwen3-30b-a3b"}) {
        const ModelCard card = model_card(name);
        double before = 0;
        for (double tokens = 1; tokens <= 65536; tokens *= 2) {
            const double bytes = streamed_weight_bytes(card, tokens);
            EXPECT_GE(bytes, before);
            before = bytes;
        }
        EXPECT_LE(before, static_cast<double>(card.resident_weight_bytes));
        EXPECT_GT(before, 0.95 * static_cast<double>(card.resident_weight_bytes));
    }
}

TEST(ModelCard, CompressesTheCacheOfLatentAttention) {
    const ModelCard card = model_card("deepseek-v3");
    ASSERT_TRUE(card.mla);
    EXPECT_EQ(kv_bytes_per_token(card), (512 + 64) * 2.0 * 61);
    EXPECT_EQ(card.attention_flops_per_pair, 2.0 * 61 * 128 * (192 + 128));
}

TEST(ModelCard, CapsTheCacheOfWindowedLayers) {
    const ModelCard card = model_card("gpt-oss-120b");
    EXPECT_EQ(card.sliding_window, 128u);
    EXPECT_EQ(card.windowed_layers, 18u);
    const double per_layer = 2.0 * 8 * 64 * 2;
    EXPECT_EQ(kv_bytes_per_sequence(card, 100), 36 * per_layer * 100);
    EXPECT_EQ(kv_bytes_per_sequence(card, 8192), 18 * per_layer * 8192 + 18 * per_layer * 128);
}

TEST(ModelCard, HonoursAWindowOnlyWhenItIsUsed) {
    EXPECT_EQ(card_of(R"(, "sliding_window": 32)").windowed_layers, 4u);
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "use_sliding_window": false)").windowed_layers, 0u);
    for (const std::string none : {"null", "0", "-1"})
        EXPECT_EQ(card_of(R"(, "sliding_window": )" + none), card_of("")) << none;
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "sliding_window_pattern": 2)").windowed_layers, 2u);
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "layer_types":
        ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"])")
                  .windowed_layers,
              3u);
}

TEST(ModelCard, CountsChunksOfTheContextInAllLayersButEveryFourth) {
    const std::string shape = R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
        "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 8192, "vocab_size": 202048, "attention_chunk_size": 8192)";
    const ModelCard card = model_card_of_config(shape + R"(, "no_rope_layers": []}})", "config.json");
    EXPECT_EQ(kv_bytes_per_sequence(card, 1048576), 49.125 * kGib);
    EXPECT_EQ(kv_bytes_per_sequence(card, 32768), 2.625 * kGib);
    EXPECT_TRUE(card.chunked_attention);
    EXPECT_EQ(card_of(R"(, "attention_chunk_size": 8, "no_rope_layers": [1, 0, 1, 0])").windowed_layers, 2u);
    EXPECT_EQ(card_of(R"(, "attention_chunk_size": null, "no_rope_layers": [1, 0, 1, 0])").windowed_layers,
              0u);
    EXPECT_NE(complaint_about_config(config(R"(, "attention_chunk_size": 8, "no_rope_layers": [1])"))
                  .find("no_rope_layers: expected an empty list or one number for each of 4 layers"),
              std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "attention_chunk_size": 8)")).find("attention_chunk_size"),
              std::string::npos)
        << "only Llama 4 is known to have a layer of another kind after every third";
    EXPECT_NE(complaint_about_config(config(R"(, "qk_nope_head_dim": 128)")).find("kv_lora_rank"),
              std::string::npos);
    EXPECT_FALSE(card_of(R"(, "kv_lora_rank": null, "qk_nope_head_dim": 0)").mla.has_value());
}

TEST(ModelCard, LayersThatShareACacheHaveNoneOfTheirOwn) {
    const std::string shape = R"({"model_type": "gemma3n_text", "hidden_size": 2048, "num_hidden_layers": 35,
        "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 16384,
        "vocab_size": 262400, "sliding_window": 512, "num_kv_shared_layers": )";
    const ModelCard card = model_card_of_config(shape + "15}", "config.json");
    EXPECT_EQ(kv_bytes_per_token(card), 40960);
    EXPECT_EQ(kv_bytes_per_sequence(card, 32768), 2048.0 * (4 * 32768 + 16 * 512));
    EXPECT_EQ(card.attention_flops_per_pair, 7 * 2.0 * 8 * 512) << "layers that share still compute";
    EXPECT_NE(complaint_about_config(shape + "35}").find("num_kv_shared_layers: expected fewer than 35"),
              std::string::npos);
}

TEST(ModelCard, RefusesSettingsOfAttentionThatItDoesNotUnderstand) {
    for (const std::string setting :
         {R"("index_topk": 2048)", R"("use_cla": true)", R"("full_attention_interval": 4)",
          R"("attn_type_list": [0, 1])", R"("num_global_key_value_heads": 4)", R"("n_head_kv": 8)",
          R"("attn_config": {"kv_n_heads": 8})", R"("hybrid_layer_pattern": [0, 1])", R"("d_state": 16)",
          R"("sparse_attention_config": {"topk": 64})", R"("yoco_window": 512)",
          R"("num_self_decoder_layers": 2)", R"("layer_types": ["linear_attention"])"}) {
        const std::string complaint = complaint_about_config(config(", " + setting));
        EXPECT_NE(complaint.find("some/config.json: " + setting.substr(1, setting.find(':') - 2)),
                  std::string::npos)
            << setting << ": " << complaint;
        EXPECT_NE(complaint.find("GGUF file"), std::string::npos) << complaint;
    }
    EXPECT_EQ(card_of(R"(, "attention_bias": true, "attention_dropout": 0.1, "use_cla": false,
        "index_topk": null, "output_attentions": false, "image_token_index": 7, "classifier_dropout": 0.1,
        "query_pre_attn_scalar": 256, "shared_expert_intermediate_size": 8, "output_hidden_states": true)"),
              card_of(""));
}

TEST(ModelCard, AcceptsSettingsThatDoNotChangeTheKvCache) {
    for (const char* const harmless :
         {R"("parallel_attn": true)", R"("num_ln_in_parallel_attn": 2)", R"("use_logn_attn": true)",
          R"("use_dynamic_ntk": true)", R"("full_attn_mod": 1)", R"("compression_ratio": 1.0)",
          R"("dual_chunk_attention_config": {"chunk_size": 262144, "local_size": 8192})",
          R"("attention_head_dim": 8)", R"("attention_head_dim": 8, "head_dim": 8)",
          R"("head_dim": 8, "v_head_dim": 8)", R"("use_cla": false, "cla_share_factor": 2)"})
        EXPECT_EQ(card_of(std::string(", ") + harmless), card_of("")) << harmless;
    for (const char* const other :
         {R"("full_attn_mod": 2)", R"("compression_ratio": 2.0)", R"("attention_head_dim": 16)",
          R"("attention_head_dim": 8, "head_dim": 16)", R"("head_dim": 8, "v_head_dim": 4)",
          R"("use_cla": true, "cla_share_factor": 2)", R"("cla_share_factor": 2)",
          R"("_sliding_window_pattern": 6)", R"("sliding_window": 32, "sliding_window_size": 64)"})
        EXPECT_NE(complaint_about_config(config(std::string(", ") + other)).find("not understood"),
                  std::string::npos)
            << other;
}

TEST(ModelCard, ReadsOtherWaysOfWritingAWindow) {
    const ModelCard all = card_of(R"(, "sliding_window": 32)");
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "sliding_window_size": 32)"), all);
    EXPECT_EQ(card_of(R"(, "sliding_window_size": 32)"), all);
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "sliding_window_pattern": "LLLG")"),
              card_of(R"(, "sliding_window": 32, "sliding_window_pattern": 4)"));
    EXPECT_EQ(card_of(R"(, "sliding_window": 32, "sliding_window_pattern": "LG")").windowed_layers, 2u);
    const std::string types = R"(, "sliding_window": 32, "layer_types":
        ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"])";
    EXPECT_EQ(card_of(types + R"(, "_sliding_window_pattern": 6)"), card_of(types));
    EXPECT_NE(complaint_about_config(config(R"(, "sliding_window": 32, "sliding_window_pattern": "LLX")"))
                  .find("L for each local layer"),
              std::string::npos);
}

TEST(ModelCard, DoesNotAdviseToLeaveOutWhatChangesTheKvCache) {
    const std::string complaint = complaint_about_config(config(R"(, "cross_attention_layers": [1, 3])"));
    EXPECT_NE(complaint.find("cross_attention_layers: a setting of attention"), std::string::npos);
    EXPECT_EQ(complaint.find("without it"), std::string::npos) << complaint;
    EXPECT_NE(complaint_about_config(config(R"(, "attention_flavour": 7)")).find("without it"),
              std::string::npos);
}

TEST(ModelCard, ReadsExpertsThatAreStatedPerLayerOrUnderOtherNames) {
    const ModelCard usual =
        card_of(R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)");
    EXPECT_EQ(card_of(R"(, "num_experts": 8, "moe_k": 2, "moe_intermediate_size": 32)"), usual);
    EXPECT_EQ(card_of(R"(, "num_experts": 8, "moe_topk": [2, 2, 2, 2],
                         "moe_intermediate_size": [32, 32, 32, 32])"),
              usual);
    // Layers without experts, and experts that every token uses, as their makers write them.
    const std::string experts =
        R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
    const ModelCard dense_first = card_of(experts + R"(, "first_k_dense_replace": 1)");
    for (const char* const other :
         {R"("num_dense_layers": 1)", R"("moe_layer_num_skipped": 1)", R"("moe_layers_enum": "1,2,3")",
          R"("moe_layer_start_index": 1, "moe_layer_end_index": 3, "moe_layer_interval": 1)",
          R"("mlp_layer_types": ["dense", "sparse", "sparse", "sparse"])"})
        EXPECT_EQ(card_of(experts + ", " + other), dense_first) << other;
    EXPECT_EQ(card_of(experts + R"(, "moe_layer_end_index": 2)").moe->layers, 3u);
    EXPECT_EQ(card_of(experts + R"(, "moe_layer_end_index": -1)").moe->layers, 4u);
    const ModelCard shared = card_of(experts + R"(, "n_shared_experts": 2)");
    for (const char* const other : {R"("num_shared_experts": 2)", R"("num_shared_expert": [2, 2, 2, 2])",
                                    R"("share_expert_dim": 64)", R"("moe_num_shared_experts": 2)"})
        EXPECT_EQ(card_of(experts + ", " + other), shared) << other;
    EXPECT_NE(complaint_about_config(config(R"(, "num_experts": 8, "moe_topk": [2, 2, 4, 2],
                                                "moe_intermediate_size": 32)"))
                  .find("expected 2, the value of the first layer"),
              std::string::npos);
}

TEST(ModelCard, TakesTheDefaultsOfATextConfigByItsType) {
    const ModelCard gemma = model_card_of_config(R"({"model_type": "gemma3", "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "sliding_window": 1024}})",
                                                 "config.json");
    EXPECT_EQ(gemma.vocab, 262208u);
    EXPECT_EQ(gemma.query_heads, 8u);
    EXPECT_EQ(kv_bytes_per_sequence(gemma, 8192), 2.0 * 4 * 256 * 2 * (5 * 8192 + 29 * 1024));
    EXPECT_NEAR(static_cast<double>(gemma.parameters) / kGiga, 3.88, 0.01);
    const ModelCard llava = model_card_of_config(R"({"model_type": "llava", "text_config": {
        "model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32064}})",
                                                 "config.json");
    EXPECT_EQ(kv_bytes_per_token(llava), 2.0 * 32 * 32 * 128 * 2);
    EXPECT_EQ(llava.max_context, 4096u);
    EXPECT_NEAR(static_cast<double>(llava.parameters) / kGiga, 6.74, 0.01);
    const ModelCard pixtral = model_card_of_config(R"({"model_type": "llava", "text_config": {
        "model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 14336,
        "num_hidden_layers": 40, "num_key_value_heads": 8, "sliding_window": null, "vocab_size": 131072}})",
                                                   "config.json");
    EXPECT_EQ(kv_bytes_per_token(pixtral), 2.0 * 40 * 8 * 128 * 2);
    EXPECT_EQ(pixtral.query_heads, 32u);
    EXPECT_EQ(pixtral.windowed_layers, 0u);
    EXPECT_NE(complaint_about_config(R"({"text_config": {"model_type": "other"}})").find("missing"),
              std::string::npos);
}

TEST(ModelCard, StoresQuantisedLayersInTheirOwnType) {
    const ModelCard plain = card_of("");
    EXPECT_EQ(plain.weight_dtype, "bf16");
    const ModelCard fp8 = card_of(R"(, "quantization_config": {"quant_method": "fp8"})");
    const std::uint64_t tables = 2 * 100 * 64 * 2;
    EXPECT_EQ(fp8.bytes_by_dtype.at("bf16"), tables);
    EXPECT_EQ(fp8.resident_weight_bytes - tables, (plain.resident_weight_bytes - tables) / 2);
    EXPECT_EQ(card_of("", {.weight_dtype = "fp8", .kv_dtype = {}}).bytes_by_dtype, fp8.bytes_by_dtype);
    EXPECT_EQ(card_of(R"(, "quantization_config": {"quant_method": "awq", "bits": 4})").weight_dtype, "int4");
    EXPECT_EQ(card_of(R"(, "quantization_config": {"quant_method": "compressed-tensors", "config_groups":
        {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}})")
                  .weight_dtype,
              "fp8");
    EXPECT_NE(complaint_about_config(
                  config(
                      R"(, "quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
        "group_0": {"weights": {"num_bits": 4, "type": "int"}}, "group_1": {"input_activations": {}},
        "group_2": {"weights": {"num_bits": 8, "type": "float"}}}})"))
                  .find("expected only one format for self_attn.q_proj"),
              std::string::npos);
    EXPECT_EQ(
        card_of(R"(, "torch_dtype": "float32")", {.weight_dtype = "bf16", .kv_dtype = {}}).bytes_by_dtype,
        plain.bytes_by_dtype);
    // llama.cpp stores the embedding in the format of the blocks, and the output projection in at least 6
    // bits.
    const ModelCard blocks = model_card("llama-3.1-8b", {.weight_dtype = "q4_k_m", .kv_dtype = {}});
    EXPECT_EQ(blocks.bytes_by_dtype.at("q6_k"), std::uint64_t{128256} * 4096 * 210 / 256);
    EXPECT_FALSE(blocks.bytes_by_dtype.contains("bf16")) << "all matrices are in blocks";
    EXPECT_NEAR(static_cast<double>(blocks.resident_weight_bytes), 4.6e9, .2e9);
    EXPECT_EQ(model_card("gpt-oss-120b").weight_dtype, "mxfp4");
    EXPECT_NEAR(static_cast<double>(model_card("gpt-oss-120b").resident_weight_bytes) / kGiga, 65.2, 0.3);
    EXPECT_EQ(model_card("deepseek-v3").weight_dtype, "fp8");
}

TEST(ModelCard, ReadsWhatModelOptWritesBesideTheConfig) {
    const auto beside = [](const std::string& quantization, const std::string& own = "") {
        return model_card_of_config(
            config(own), "config.json", {},
            QuantizationFile{R"({"producer": {"name": "modelopt"}, "quantization": )" + quantization + "}",
                             "hf_quant_config.json"});
    };
    const ModelCard fp8 =
        beside(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]})");
    EXPECT_EQ(fp8.weight_dtype, "fp8");
    EXPECT_EQ(fp8.kv_dtype, "fp8");
    EXPECT_EQ(beside(R"({"quant_algo": "NVFP4", "kv_cache_quant_algo": null})").weight_dtype, "nvfp4");
    EXPECT_EQ(beside(R"({"quant_algo": "W4A16_AWQ", "group_size": 128})").weight_dtype, "int4");
    const ModelCard cache_only = beside(R"({"quant_algo": null, "kv_cache_quant_algo": "FP8"})");
    EXPECT_EQ(cache_only.weight_dtype, card_of("").weight_dtype);
    EXPECT_EQ(cache_only.kv_dtype, "fp8");
    EXPECT_EQ(beside(R"({"quant_algo": "NVFP4"})", R"(, "quantization_config": {"quant_method": "fp8"})")
                  .weight_dtype,
              "fp8")
        << "the config's own description counts";
    EXPECT_THROW(beside(R"({"quant_algo": "FP2"})"), UsageError);
    EXPECT_THROW(beside("7"), UsageError);
}

TEST(ModelCard, FindsTheFileOfModelOptInTheDirectory) {
    const reports::TemporaryDirectory directory;
    std::ofstream(directory.path() / "config.json") << config("");
    std::ofstream(directory.path() / "hf_quant_config.json")
        << R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})";
    EXPECT_EQ(model_card(directory.path().string()).kv_dtype, "fp8");
    EXPECT_EQ(model_card((directory.path() / "config.json").string()).weight_dtype, "fp8");
    std::ofstream(directory.path() / "hf_quant_config.json") << "{";
    try {
        model_card(directory.path().string());
        FAIL() << "half a file was read";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("hf_quant_config.json"), std::string::npos) << error.what();
    }
}

TEST(ModelCard, KeepsTheKvCacheInTheTypeThatTheConfigSays) {
    const auto kv_of = [](const std::string& quantization) {
        return card_of(R"(, "quantization_config": {"quant_method": "fp8")" + quantization + "}").kv_dtype;
    };
    EXPECT_EQ(card_of("").kv_dtype, "bf16");
    EXPECT_EQ(kv_of(""), "bf16");
    EXPECT_EQ(kv_of(R"(, "kv_cache_scheme": null)"), "bf16");
    EXPECT_EQ(kv_of(R"(, "kv_cache_scheme": {"num_bits": 8, "type": "float", "strategy": "tensor"})"), "fp8");
    EXPECT_EQ(kv_of(R"(, "kv_cache_scheme": {"num_bits": 8, "type": "int"})"), "int8");
    EXPECT_EQ(kv_of(R"(, "kv_cache_quant_algo": "FP8")"), "fp8");
    EXPECT_EQ(kv_of(R"(, "kv_cache_quant_algo": "NVFP4")"), "nvfp4");
    EXPECT_EQ(kv_of(R"(, "kv_cache_dtype": "fp8")"), "fp8");
    EXPECT_EQ(card_of(R"(, "kv_cache_dtype": "fp8_e4m3")").kv_dtype, "fp8");
    EXPECT_EQ(card_of(R"(, "kv_cache_dtype": "auto")").kv_dtype, "bf16");
    EXPECT_EQ(card_of(R"(, "quantization_config": {"quant_method": "fp8", "kv_cache_quant_algo": "FP8"})",
                      {.weight_dtype = {}, .kv_dtype = "bf16"})
                  .kv_dtype,
              "bf16");
    EXPECT_NE(complaint_about_config(config(R"(, "quantization_config": {"quant_method": "fp8",
                                         "kv_cache_quant_algo": "FP3"})"))
                  .find("kv_cache_quant_algo: expected a known type"),
              std::string::npos);
    const ModelCard nested = model_card_of_config(
        R"({"quantization_config": {"quant_method": "fp8", "kv_cache_quant_algo": "FP8"}, "text_config": )" +
            config("") + "}",
        "config.json");
    EXPECT_EQ(nested.kv_dtype, "fp8");
}

TEST(ModelCard, TakesTypesAfterItsName) {
    EXPECT_EQ(model_card("llama-3.1-8b:kv=fp8"),
              model_card("llama-3.1-8b", {.weight_dtype = {}, .kv_dtype = "fp8"}));
    EXPECT_EQ(model_card("llama-3.1-8b:weights=int4,kv=int8"),
              model_card("llama-3.1-8b", {.weight_dtype = "int4", .kv_dtype = "int8"}));
    EXPECT_EQ(kv_bytes_per_token(model_card("llama-3.1-8b:kv=fp8")), 65536);
    EXPECT_EQ(model_card("llama-3.1-8b:kv=fp8", {.weight_dtype = {}, .kv_dtype = "bf16"}).kv_dtype, "bf16");
    for (const char* wrong : {"llama-3.1-8b:kv=", "llama-3.1-8b:kvs=fp8", "llama-3.1-8b:kv=fp8,",
                              "llama-3.1-8b:kv=fp3", "no-such-model:kv=fp8"})
        EXPECT_THROW(model_card(wrong), UsageError) << wrong;
}

TEST(ModelCard, FindsTheLanguageModelInAMultimodalConfig) {
    const ModelCard inner = card_of("");
    const ModelCard outer = model_card_of_config(R"({"text_config": )" + config("") + "}", "config.json");
    EXPECT_EQ(outer.resident_weight_bytes, inner.resident_weight_bytes);
}

TEST(ModelCard, LayersThatDoNotRouteAreDense) {
    const std::string moe = R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
    EXPECT_EQ(card_of(moe).moe->layers, 4u);
    EXPECT_EQ(card_of(moe + R"(, "first_k_dense_replace": 1)").moe->layers, 3u);
    EXPECT_EQ(card_of(moe + R"(, "decoder_sparse_step": 2)").moe->layers, 2u);
    EXPECT_EQ(card_of(moe + R"(, "mlp_only_layers": [0, 1])").moe->layers, 2u);
    EXPECT_EQ(card_of(moe + R"(, "n_shared_experts": 2)").moe->shared_ffn, 64u);
    EXPECT_FALSE(card_of("").moe);
}

TEST(ModelCard, SaysWhatAConfigLacksOrHasWrong) {
    EXPECT_NE(complaint_about_config("{").find("some/config.json: not valid JSON at line 1"),
              std::string::npos);
    EXPECT_NE(complaint_about_config("[]").find("expected an object"), std::string::npos);
    EXPECT_NE(complaint_about_config("{}").find("num_hidden_layers: missing"), std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "num_hidden_layers": -3)")).find("num_hidden_layers"),
              std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "hidden_size": 1e30)")).find("hidden_size"),
              std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "num_key_value_heads": 3)")).find("divisor of 8"),
              std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "quantization_config": {"quant_method": "xyz"})"))
                  .find("a known quantisation"),
              std::string::npos);
    EXPECT_NE(complaint_about_config(config(R"(, "mamba_d_state": 16)")).find("GGUF"), std::string::npos);
    EXPECT_NE(complaint_about_config(std::string(100000, '[')).find("nested deeper"), std::string::npos);
    try {
        model_card("no-such-model");
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("llama-3.1-8b"), std::string::npos);
    }
    EXPECT_THROW(card_of("", {.weight_dtype = "q9", .kv_dtype = {}}), UsageError);
}

TEST(ModelCard, FindsTheLanguageModelOfAMultimodalOneUnderEveryName) {
    for (const char* whole :
         {R"({"llm_config": %})", R"({"language_config": %, "vision_config": {"layers": 24}})",
          R"({"thinker_config": {"text_config": %}})"}) {
        std::string json = whole;
        json.replace(json.find('%'), 1, config(""));
        EXPECT_EQ(model_card_of_config(json, "config.json", {}).layers, 4u) << json;
    }
}

TEST(ModelCard, RefusesExpertsAndEncodersThatItWouldNotCount) {
    for (const char* more : {R"(, "num_moe_experts": 8)", R"(, "moe": {"num_experts": 8, "top_k": 2})",
                             R"(, "ffn_config": {"moe_num_experts": 16})"})
        EXPECT_NE(complaint_about_config(config(more)).find("the number of experts under a known name"),
                  std::string::npos)
            << more;
    EXPECT_NE(complaint_about_config(config(R"(, "is_encoder_decoder": true)")).find("encoder"),
              std::string::npos);
    for (const char* more :
         {R"(, "num_experts": 1)", R"(, "num_experts": null)", R"(, "is_encoder_decoder": false)",
          R"(, "num_experts_per_tok": 2)", R"(, "n_shared_experts": 2)"})
        EXPECT_EQ(complaint_about_config(config(more)), "accepted") << more;
}

TEST(ModelCard, ReadsADirectoryWithAConfig) {
    const auto directory =
        std::filesystem::temp_directory_path() / ("paretoken-model-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "config.json") << config("");
    EXPECT_EQ(model_card(directory.string()).layers, 4u);
    EXPECT_EQ(model_card(directory.string()).name, directory.filename().string());
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace paretoken::cards
