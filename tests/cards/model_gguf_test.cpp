#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <variant>

#include "cards/model.h"
#include "core/error.h"
#include "tests/cards/gguf_bytes.h"

namespace paretoken::cards {
namespace {

using testing::GgufBytes;
using ::testing::HasSubstr;
using testing::TemporaryFile;

constexpr std::uint32_t kTypeF32 = 0;
constexpr std::uint32_t kTypeF16 = 1;
constexpr std::uint32_t kTypeQ4_1 = 3;
constexpr std::uint32_t kTypeQ8_0 = 8;

GgufBytes& llama_metadata(GgufBytes& file) {
    return file.entry("general.architecture", "llama")
        .entry("general.name", "Tiny")
        .entry("llama.block_count", 1u)
        .entry("llama.embedding_length", 64u)
        .entry("llama.attention.head_count", 4u)
        .entry("llama.attention.head_count_kv", 2u)
        .entry("llama.feed_forward_length", 128u)
        .strings("tokenizer.ggml.tokens", {"a", "b", "c", "d"});
}

TEST(GgufModelCard, SumsTheBytesOfEveryTensor) {
    GgufBytes file;
    file.header(4, 8);
    llama_metadata(file)
        .tensor("token_embd.weight", {64, 4}, kTypeQ8_0)
        .tensor("blk.0.attn_q.weight", {64, 64}, kTypeQ4_1)
        .tensor("blk.0.attn_norm.weight", {64}, kTypeF32)
        .tensor("output.weight", {64, 4}, kTypeF16);
    const TemporaryFile path("Tiny.Q4_1.gguf", file.bytes(), 8192);
    const ModelCard card = model_card(path.path().string());
    const std::uint64_t embedding = 64 * 4 / 32 * 34;
    const std::uint64_t attention = 64 * 64 / 32 * 20;
    const std::uint64_t output = 64 * 4 * 2;
    EXPECT_TRUE(card.name.ends_with("-Tiny")) << card.name;
    EXPECT_EQ(card.source, "GGUF metadata");
    EXPECT_EQ(card.vocab, 4u);
    EXPECT_FALSE(card.tied_embeddings);
    EXPECT_EQ(card.resident_weight_bytes, embedding + attention + output + 256);
    EXPECT_EQ(card.dense_streamed_bytes, attention + output + 256);
    EXPECT_EQ(card.active_parameters, 64u * 64 + 64 * 4);
    EXPECT_EQ(card.weight_dtype, "q4_1");
    EXPECT_EQ(card.bytes_by_dtype.at("q8_0"), embedding);
    EXPECT_EQ(kv_bytes_per_token(card), 2.0 * 2 * 16 * 2);
    EXPECT_EQ(card.kv_dtype, "f16");
    EXPECT_THROW(model_card(path.path().string(), {.weight_dtype = "fp8", .kv_dtype = {}}), UsageError);
}

TEST(GgufModelCard, CountsATiedEmbeddingAsTheOutputProjection) {
    GgufBytes file;
    file.header(2, 8);
    llama_metadata(file)
        .tensor("token_embd.weight", {64, 4}, kTypeQ8_0)
        .tensor("blk.0.attn_q.weight", {64, 64}, kTypeQ4_1);
    const TemporaryFile path("tied.gguf", file.bytes(), 8192);
    const ModelCard card = model_card_of_gguf(path.path());
    EXPECT_TRUE(card.tied_embeddings);
    EXPECT_EQ(card.dense_streamed_bytes, card.resident_weight_bytes);
}

TEST(GgufModelCard, KeepsRoutedExpertsApart) {
    GgufBytes file;
    file.header(3, 10);
    llama_metadata(file)
        .entry("llama.expert_count", 8u)
        .entry("llama.expert_used_count", 2u)
        .tensor("token_embd.weight", {64, 4}, kTypeF16)
        .tensor("blk.0.ffn_down_exps.weight", {128, 64, 8}, kTypeQ4_1)
        .tensor("blk.0.ffn_gate_inp.weight", {64, 8}, kTypeF32);
    const TemporaryFile path("moe.gguf", file.bytes(), 1 << 17);
    const ModelCard card = model_card_of_gguf(path.path());
    ASSERT_TRUE(card.moe);
    EXPECT_EQ(card.moe->layers, 1u);
    EXPECT_EQ(card.moe->expert_bytes, 128u * 64 / 32 * 20);
    EXPECT_EQ(card.dense_streamed_bytes, 64u * 4 * 2 + 64 * 8 * 4);
    EXPECT_EQ(card.active_parameters, 64u * 4 + 128 * 64 * 2 + 64 * 8);
    EXPECT_FALSE(card.gated_ffn);  // the router does not count as a gate
}

TEST(GgufModelCard, HasAGatedFeedForwardWhereAGateIsStored) {
    GgufBytes file;
    file.header(3, 8);
    llama_metadata(file)
        .tensor("token_embd.weight", {64, 4}, kTypeF16)
        .tensor("blk.0.ffn_up.weight", {64, 128}, kTypeQ4_1)
        .tensor("blk.0.ffn_gate.weight", {64, 128}, kTypeQ4_1);
    const TemporaryFile path("gated.gguf", file.bytes(), 1 << 16);
    EXPECT_TRUE(model_card_of_gguf(path.path()).gated_ffn);
}

TEST(GgufModelCard, TakesKvHeadsAndWindowsPerLayer) {
    GgufBytes file;
    file.header(1, 8)
        .entry("general.architecture", "gemma3")
        .entry("gemma3.block_count", 3u)
        .entry("gemma3.embedding_length", 64u)
        .entry("gemma3.attention.head_count", 4u)
        .numbers("gemma3.attention.head_count_kv", {2, 0, 1})
        .entry("gemma3.attention.key_length", 32u)
        .entry("gemma3.attention.sliding_window", 16u)
        .numbers("gemma3.attention.sliding_window_pattern", {1, 0, 0})
        .tensor("token_embd.weight", {64, 4}, kTypeF16);
    const TemporaryFile path("layers.gguf", file.bytes(), 4096);
    const ModelCard card = model_card_of_gguf(path.path());
    EXPECT_EQ(card.windowed_kv_values_per_token, 2u * (32 + 32));
    EXPECT_EQ(card.kv_values_per_token, 1u * (32 + 32));
    EXPECT_EQ(kv_bytes_per_sequence(card, 100), (128 * 16 + 64 * 100) * 2.0);
}

/// The header of a small model of `architecture` with 10 layers and one more entry.
ModelCard gguf_card_with(const std::string& architecture, const std::string& key, std::uint32_t value) {
    GgufBytes file;
    file.header(1, 8)
        .entry("general.architecture", architecture)
        .entry(architecture + ".block_count", 10u)
        .entry(architecture + ".embedding_length", 64u)
        .entry(architecture + ".attention.head_count", 4u)
        .entry(architecture + ".attention.head_count_kv", 2u)
        .entry(architecture + ".attention.key_length", 16u)
        .entry(architecture + ".attention.layer_norm_rms_epsilon", 1u)
        .entry(architecture + "." + key, value)
        .tensor("token_embd.weight", {64, 4}, kTypeF16);
    const TemporaryFile path("attention.gguf", file.bytes(), 4096);
    return model_card_of_gguf(path.path());
}

TEST(GgufModelCard, LayersThatShareACacheHaveNoneOfTheirOwn) {
    EXPECT_EQ(kv_bytes_per_token(gguf_card_with("gemma3n", "attention.shared_kv_layers", 4)), 768);
    EXPECT_THROW(gguf_card_with("gemma3n", "attention.shared_kv_layers", 10), UsageError);
}

TEST(GgufModelCard, CountsChunksOfTheContextInAllLayersButEveryFourth) {
    const ModelCard card = gguf_card_with("llama4", "context_length", 1u << 20);
    EXPECT_EQ(kv_bytes_per_sequence(card, 100000), 128.0 * (2 * 100000 + 8 * 8192));
}

TEST(GgufModelCard, CountsTheStateOfRecurrentLayers) {
    GgufBytes file;
    file.header(3, 11)
        .entry("general.architecture", "granitehybrid")
        .entry("granitehybrid.block_count", 2u)
        .entry("granitehybrid.embedding_length", 64u)
        .entry("granitehybrid.attention.head_count", 4u)
        .numbers("granitehybrid.attention.head_count_kv", {0, 2})
        .entry("granitehybrid.attention.key_length", 16u)
        .entry("granitehybrid.attention.layer_norm_rms_epsilon", 1u)
        .entry("granitehybrid.ssm.inner_size", 128u)
        .entry("granitehybrid.ssm.state_size", 16u)
        .entry("granitehybrid.ssm.conv_kernel", 4u)
        .entry("granitehybrid.ssm.group_count", 1u)
        .tensor("token_embd.weight", {64, 4}, kTypeF16)
        .tensor("blk.0.ssm_out.weight", {64, 4}, kTypeF16)
        .tensor("blk.1.attn_output.weight", {64, 4}, kTypeF16);
    const TemporaryFile path("hybrid.gguf", file.bytes(), 4096);
    EXPECT_EQ(model_card_of_gguf(path.path()).state_bytes_per_sequence, 4 * (128 * 16 + 3 * (128 + 2 * 16)));
}

TEST(GgufModelCard, RefusesSettingsOfAttentionThatItDoesNotUnderstand) {
    for (const std::string key : {"attention.indexer.top_k", "attention.key_length_swa", "ssm.state_size",
                                  "full_attention_interval"}) {
        try {
            gguf_card_with("some", key, 8);
            ADD_FAILURE() << key << " was accepted";
        } catch (const UsageError& error) {
            const std::string named = key.starts_with("attention") ? key : "attention.head_count_kv";
            EXPECT_NE(std::string(error.what()).find("attention.gguf: some." + named), std::string::npos)
                << error.what();
        }
        EXPECT_EQ(gguf_card_with("some", key, 0).layers, 10u) << "0 means that it is not used";
    }
}

TEST(GgufModelCard, SaysWhenAFileIsNoLanguageModel) {
    const auto complaint = [](const GgufBytes& file) -> std::string {
        const TemporaryFile path("no-model.gguf", file.bytes(), 4096);
        try {
            model_card_of_gguf(path.path());
        } catch (const UsageError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_NE(complaint(GgufBytes().header(0, 0)).find("general.architecture"), std::string::npos);
    EXPECT_NE(
        complaint(GgufBytes().header(0, 1).entry("general.architecture", "clip")).find("clip.block_count"),
        std::string::npos);
    GgufBytes vocabulary;
    vocabulary.header(0, 8);
    EXPECT_NE(complaint(llama_metadata(vocabulary)).find("no weights"), std::string::npos);
    GgufBytes absurd;
    absurd.header(0, 2).entry("general.architecture", "llama").entry("llama.block_count", 4000000000u);
    EXPECT_NE(complaint(absurd).find("block_count"), std::string::npos);
}

TEST(GgufModelCard, ReadsEveryPartOfASplitFile) {
    GgufBytes first;
    first.header(1, 9);
    llama_metadata(first).entry("split.count", 2u).tensor("token_embd.weight", {64, 4}, kTypeF16);
    GgufBytes second;
    second.header(1, 0).tensor("blk.0.attn_q.weight", {64, 64}, kTypeQ4_1);
    const TemporaryFile one("split-00001-of-00002.gguf", first.bytes(), 4096);
    const TemporaryFile two("split-00002-of-00002.gguf", second.bytes(), 4096);
    EXPECT_EQ(model_card_of_gguf(one.path()).resident_weight_bytes, 64u * 4 * 2 + 64 * 64 / 32 * 20);
    const TemporaryFile alone("alone-00001-of-00002.gguf", first.bytes(), 4096);
    EXPECT_THROW(model_card_of_gguf(alone.path()), UsageError);
}

using Entries = std::map<std::string, std::variant<std::uint32_t, std::vector<std::uint32_t>>>;

struct Attempt {
    std::optional<ModelCard> card;
    std::string complaint = "accepted";
};

/// Reads the header of a model of 32 layers with 8 query heads and 2 KV heads of 64 values. `entries` are
/// added to its metadata, or replace those.
Attempt attempt(const std::string& architecture, Entries entries) {
    entries.insert({{"block_count", 32u},
                    {"embedding_length", 512u},
                    {"attention.head_count", 8u},
                    {"attention.head_count_kv", 2u},
                    {"attention.key_length", 64u}});
    GgufBytes file;
    file.header(2, entries.size() + 1).entry("general.architecture", architecture);
    for (const auto& [key, value] : entries) {
        std::string whole = architecture;
        whole.append(".").append(key);
        if (const auto* number = std::get_if<std::uint32_t>(&value))
            file.entry(whole, *number);
        else
            file.numbers(whole, std::get<std::vector<std::uint32_t>>(value));
    }
    file.tensor("token_embd.weight", {64, 4}, kTypeF16).tensor("output.weight", {64, 4}, kTypeF16);
    const TemporaryFile path("attempt.gguf", file.bytes(), 4096);
    try {
        return {.card = model_card_of_gguf(path.path())};
    } catch (const UsageError& error) {
        return {.card = {}, .complaint = error.what()};
    }
}

TEST(GgufModelCard, KnowsWhichLayersOfAnArchitectureHaveItsWindow) {
    const double layer = 2.0 * 2 * 64 * 2;
    const double context = 32768;
    const double window = 4096;
    const auto bytes = [&](const std::string& architecture) {
        const Attempt read = attempt(architecture, {{"attention.sliding_window", 4096u}});
        EXPECT_EQ(read.complaint, "accepted");
        return read.card ? kv_bytes_per_sequence(*read.card, context) : 0;
    };
    for (const char* const quarter : {"smallthinker", "afmoe", "olmo2", "cohere2"})
        EXPECT_EQ(bytes(quarter), layer * (8 * context + 24 * window)) << quarter;
    EXPECT_EQ(bytes("gemma2"), layer * 16 * (context + window));
    EXPECT_EQ(bytes("phi3"), layer * 32 * context) << "llama.cpp does not use the window of Phi";
    EXPECT_EQ(attempt("smallthinker", {{"attention.sliding_window", 64u}, {"block_count", 33u}})
                  .card->windowed_layers,
              24u)
        << "the first layer of each four sees the whole context";
    const std::string complaint = attempt("some", {{"attention.sliding_window", 4096u}}).complaint;
    EXPECT_THAT(complaint,
                HasSubstr("some.attention.sliding_window: which layers have this window is not known"));
    EXPECT_THAT(complaint, HasSubstr("config.json"));
    EXPECT_EQ(attempt("some", {{"attention.sliding_window", 64u}, {"attention.sliding_window_pattern", 4u}})
                  .card->windowed_layers,
              24u);
}

TEST(GgufModelCard, RefusesAListThatDoesNotHaveOneValuePerLayer) {
    for (const std::string key : {"attention.sliding_window_pattern", "attention.head_count"})
        EXPECT_THAT(attempt("olmo2", {{key, std::vector<std::uint32_t>{1, 1, 1, 0}},
                                      {"attention.sliding_window", 64u}})
                        .complaint,
                    HasSubstr("olmo2." + key + ": a list of 4 values for 32 layers"));
}

TEST(GgufModelCard, LayersOfLinearAttentionBesideLatentAttentionHaveNoCache) {
    std::vector<std::uint32_t> heads(27, 0);
    for (const std::size_t full : {3, 7, 11, 15, 19, 23, 26}) heads[full] = 1;
    const Attempt read = attempt("kimi-linear", {{"block_count", 27u},
                                                 {"attention.head_count_kv", heads},
                                                 {"attention.kv_lora_rank", 512u},
                                                 {"attention.key_length_mla", 192u},
                                                 {"attention.value_length_mla", 128u},
                                                 {"rope.dimension_count", 64u},
                                                 {"kda.head_dim", 128u}});
    ASSERT_TRUE(read.card) << read.complaint;
    EXPECT_EQ(kv_bytes_per_token(*read.card), 7 * 576 * 2);
    EXPECT_EQ(read.card->attention_flops_per_pair, 7 * 2.0 * 8 * (192 + 128));
}

TEST(GgufModelCard, AnOldFileWithLatentAttentionHasTheCacheOfAllHeads) {
    const Attempt read = attempt("deepseek2", {{"block_count", 27u},
                                               {"attention.head_count", 16u},
                                               {"attention.head_count_kv", 16u},
                                               {"attention.key_length", 192u},
                                               {"attention.value_length", 128u},
                                               {"attention.kv_lora_rank", 512u},
                                               {"rope.dimension_count", 64u}});
    ASSERT_TRUE(read.card) << read.complaint;
    EXPECT_EQ(kv_bytes_per_token(*read.card), 27 * 16 * (192 + 128) * 2.);
}

TEST(GgufModelCard, RefusesWhatIsNoDecoderAndWhatContradictsItself) {
    const auto complaint_about = [](const std::string& architecture, const std::string& key,
                                    std::uint32_t value) {
        return attempt(architecture, {{key, value}}).complaint;
    };
    EXPECT_THAT(complaint_about("bert", "attention.causal", 0), HasSubstr("an encoder has no KV cache"));
    EXPECT_THAT(complaint_about("embedder", "attention.causal", 0), HasSubstr("an encoder has no KV cache"));
    EXPECT_THAT(complaint_about("t5", "decoder_block_count", 8), HasSubstr("expected a decoder"));
    EXPECT_THAT(complaint_about("ouro", "recurrent_steps", 4),
                HasSubstr("ouro.recurrent_steps: a setting of"));
    EXPECT_THAT(complaint_about("lfm2", "shortconv.l_cache", 3), HasSubstr("lfm2.attention.head_count_kv"));
    EXPECT_THAT(complaint_about("some", "layer_group_size", 5), HasSubstr("some.attention.head_count_kv"));
    EXPECT_THAT(complaint_about("some", "attention.head_count_kv", 16),
                HasSubstr("16 KV heads for 8 query heads"));
    EXPECT_THAT(complaint_about("mamba", "attention.head_count_kv", 0),
                HasSubstr("attention.head_count_kv: 0 for every layer"));
    EXPECT_EQ(complaint_about("llama", "attention.causal", 1), "accepted");
}

TEST(GgufModelCard, HasTheWeightsOfEveryLayerThatItStates) {
    GgufBytes file;
    file.header(2, 8);
    llama_metadata(file);
    std::string bytes = file.tensor("token_embd.weight", {64, 4}, kTypeF16)
                            .tensor("blk.0.attn_q.weight", {64, 64}, kTypeF16)
                            .bytes();
    const auto count = bytes.find("llama.block_count") + std::string("llama.block_count").size() + 4;
    bytes[count] = 3;
    const TemporaryFile path("few.gguf", bytes, 1 << 16);
    try {
        model_card_of_gguf(path.path());
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("block_count: 3 layers, but the file has the weights of 1"));
    }
}

TEST(GgufModelCard, KeepsTheBytesOfAttentionAndOfTheEmbedding) {
    GgufBytes file;
    file.header(3, 8);
    llama_metadata(file)
        .tensor("token_embd.weight", {64, 4}, kTypeQ8_0)
        .tensor("blk.0.attn_q.weight", {64, 64}, kTypeQ4_1)
        .tensor("blk.0.ffn_up.weight", {64, 128}, kTypeF16);
    const TemporaryFile path("parts.gguf", file.bytes(), 1 << 16);
    const ModelCard card = model_card_of_gguf(path.path());
    EXPECT_EQ(card.attention_bytes, 64u * 64 / 32 * 20);
    EXPECT_EQ(card.embedding_bytes, 64u * 4 / 32 * 34);
}

}  // namespace
}  // namespace paretoken::cards
