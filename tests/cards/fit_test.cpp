#include "cards/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"

namespace paretoken::cards {
namespace {

using testing::HasSubstr;

constexpr double kGib = 1024.0 * 1024 * 1024;

/// A deployment of which nothing but the given parts takes memory.
Deployment bare(double gib, double fraction = 1) {
    return {.memory_bytes = gib * kGib, .memory_fraction = fraction, .weight_bytes = 0, .overhead_bytes = 0};
}

std::string refusal_of(const ModelCard& model, const Deployment& deployment) {
    try {
        (void)fit_of(model, deployment);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Fit, TheContextBudgetOfA24GibGpuIsTheKnownOne) {
    Deployment on = bare(24, .88);
    on.weight_bytes = 16.5 * kGib;
    const Fit fit = fit_of(model_card("llama-3.1-8b"), on);
    EXPECT_NEAR(fit.left / kGib, 4.62, 1e-9);
    EXPECT_EQ(fit.pool_tokens, 37847U);
    EXPECT_EQ(fit.blocks, 2365U) << "the tokens of a last, broken block cannot be used";
}

TEST(Fit, WhatIsUsedAndWhatIsLeftIsTheBudget) {
    const ModelCard model = model_card("llama-3.1-8b");
    for (const Engine engine : {Engine::vllm, Engine::sglang})
        for (const std::uint32_t ranks : {1U, 2U, 8U}) {
            const Deployment on{.engine = engine,
                                .memory_bytes = 79 * kGib,
                                .memory_fraction = .8,
                                .tensor_parallel = ranks,
                                .headroom_bytes = kGib};
            const Fit fit = fit_of(model, on);
            EXPECT_NEAR(fit.weights + fit.overhead() + fit.headroom + fit.left, fit.budget, 1) << ranks;
        }
}

TEST(Fit, EveryEngineTakesItsShareInItsOwnMeaning) {
    const ModelCard model = model_card("llama-3.1-8b");
    const auto left = [&](Engine engine, double fraction) {
        Deployment on = bare(80, fraction);
        on.engine = engine;
        on.weight_bytes = 16 * kGib;
        return fit_of(model, on).left / kGib;
    };
    EXPECT_NEAR(left(Engine::vllm, .5), 24, 1e-9) << "a share of all memory, with the weights inside it";
    EXPECT_NEAR(left(Engine::trtllm, .5), 32, 1e-9) << "a share of what the weights leave";
    EXPECT_NEAR(left(Engine::sglang, .5), .5 * 79.5 - 16, 1e-9) << "a share of what was free at the start";
    EXPECT_NEAR(left(Engine::llamacpp, 1), 64, 1e-9);
}

TEST(Fit, MoreMemoryASmallerBatchAndMoreRanksNeverLeaveLess) {
    const ModelCard model = model_card("llama-3.1-70b");
    double before = 0;
    for (const double gib : {48.0, 80.0, 140.0}) {
        const double left = fit_of(model, {.memory_bytes = gib * kGib, .tensor_parallel = 8}).left;
        EXPECT_GT(left, before);
        before = left;
    }
    const auto left = [&](std::uint64_t sequences, std::uint64_t tokens, std::uint32_t ranks) {
        return fit_of(model, {.memory_bytes = 140 * kGib,
                              .tensor_parallel = ranks,
                              .batch = {.sequences = sequences, .tokens = tokens}})
            .left;
    };
    EXPECT_GT(left(64, 2048, 2), left(1024, 2048, 2));
    EXPECT_GE(left(64, 2048, 2), left(64, 32768, 2));
    EXPECT_GT(left(256, 2048, 4), left(256, 2048, 2));
}

TEST(Fit, HeadsAreSplitAndThenCopied) {
    const ModelCard model = model_card("llama-3.1-70b");  // 8 KV heads
    const auto share = [&](std::uint32_t ranks) {
        return kv_share_of_rank(model, {.tensor_parallel = ranks});
    };
    EXPECT_DOUBLE_EQ(share(1), 1);
    EXPECT_DOUBLE_EQ(share(4), 1. / 4);
    EXPECT_DOUBLE_EQ(share(8), 1. / 8);
    EXPECT_DOUBLE_EQ(share(16), 1. / 8) << "two ranks hold the same head";
    Deployment on = bare(10);
    on.tensor_parallel = 16;
    EXPECT_DOUBLE_EQ(fit_of(model, on).copies, 2);
}

TEST(Fit, ALatentCacheIsWholeOnEveryRankUnlessTokensOrRequestsAreDivided) {
    const ModelCard model = model_card("deepseek-v3");
    Deployment on = bare(10);
    on.tensor_parallel = 8;
    const std::uint64_t whole = fit_of(model, on).pool_tokens;
    Deployment divided = on;
    divided.context_parallel = 8;
    Deployment requests = on;
    requests.attention_data_parallel = true;
    EXPECT_DOUBLE_EQ(kv_share_of_rank(model, on), 1);
    EXPECT_NEAR(static_cast<double>(fit_of(model, divided).pool_tokens), 8.0 * static_cast<double>(whole), 8);
    EXPECT_EQ(fit_of(model, requests).pool_tokens, 8 * whole);
    EXPECT_EQ(sequences_at_once(model, requests, fit_of(model, requests), 1000),
              8 * sequences_at_once(model, on, fit_of(model, on), 1000));
}

TEST(Fit, RanksWithAttentionOfTheirOwnHoldAllAttentionWeights) {
    const ModelCard model = model_card("deepseek-v3");
    Deployment on{.engine = Engine::sglang, .memory_bytes = 140 * kGib, .tensor_parallel = 8};
    const double shared = fit_of(model, on).weights;
    on.attention_data_parallel = true;
    const double own = fit_of(model, on).weights;
    EXPECT_GT(own, shared + 8 * kGib);
    EXPECT_LT(own, shared + 12 * kGib);
}

TEST(Fit, RanksOfVllmWithRequestsOfTheirOwnDivideTheExpertsAlone) {
    const ModelCard model = model_card("deepseek-v3");
    Deployment on{.memory_bytes = 140 * kGib, .tensor_parallel = 8, .attention_data_parallel = true};
    EXPECT_NEAR(fit_of(model, on).weights / 1e9, 100.8, .1)
        << "experts ÷ 8 81.7, attention 11.4, shared experts 2.6, dense layers 1.2, embedding and head 3.7";
    EXPECT_THAT(refusal_of(model_card("llama-3.1-70b"), on),
                HasSubstr("--attention-dp: llama-3.1-70b has no experts"));
    on.engine = Engine::sglang;
    EXPECT_EQ(refusal_of(model_card("llama-3.1-70b"), on), "accepted");
}

TEST(Fit, SequencesAreWholeBlocksAndWindowsCapThem) {
    const ModelCard plain = model_card("llama-3.1-8b");
    const Deployment on = bare(10);
    EXPECT_EQ(sequence_bytes(plain, on, {}, 1), 16 * 131072.0);
    EXPECT_EQ(sequence_bytes(plain, on, {}, 16), 16 * 131072.0);
    EXPECT_EQ(sequence_bytes(plain, on, {}, 17), 32 * 131072.0);
    const ModelCard windows = model_card("gpt-oss-120b");
    const double at_window = sequence_bytes(windows, on, {}, 128);
    const double beyond = sequence_bytes(windows, on, {}, 1280);
    EXPECT_DOUBLE_EQ(beyond, at_window * (10 + 1) / 2) << "half of the layers keep 128 tokens";
    EXPECT_GT(pool_tokens_at(windows, on, fit_of(windows, on), 16000),
              1.8 * static_cast<double>(fit_of(windows, on).pool_tokens));
}

TEST(Fit, LayersWithAWindowKeepAllTokensWhereTheEngineDoesNotFreeThem) {
    ModelCard windows = model_card("gpt-oss-120b");  // half of 36 layers have a window of 128 tokens
    const double all = sequence_bytes(windows, bare(10), {}, 128);
    Deployment on = bare(10);
    on.engine = Engine::sglang;
    EXPECT_DOUBLE_EQ(sequence_bytes(windows, on, {}, 1280), all * 10) << "SGLang 0.5.3 turns its pool off";
    on.engine = Engine::vllm;
    on.host_cache = true;
    EXPECT_DOUBLE_EQ(sequence_bytes(windows, on, {}, 1280), all * 10) << "a connector turns the manager off";
    on.host_cache = false;
    windows.chunked_attention = true;
    EXPECT_DOUBLE_EQ(sequence_bytes(windows, on, {}, 1280), all * 10) << "as chunks do";
    windows.windowed_layers = 27;
    EXPECT_DOUBLE_EQ(sequence_bytes(windows, on, {}, 128), all) << "and no group is filled up";
    on.engine = Engine::trtllm;
    EXPECT_LT(sequence_bytes(windows, on, {}, 1280), all * 6);
}

TEST(Fit, RanksThatWouldDivideABlockWithOneScaleAreNamedWithARemedy) {
    const ModelCard experts = model_card("qwen3-30b-a3b:weights=fp8_blocks");  // experts of 768
    const auto broken = [](const ModelCard& model, std::uint32_t ranks, std::uint32_t groups = 1,
                           Engine engine = Engine::vllm) {
        Deployment on = bare(80);
        on.engine = engine;
        on.tensor_parallel = ranks;
        on.expert_parallel = groups;
        return divided_block(model, on);
    };
    EXPECT_EQ(
        broken(experts, 8),
        "8 ranks cannot divide the width 768 of an expert into whole blocks of 128 with one scale; take "
        "--ep 8");
    EXPECT_EQ(broken(experts, 8, 8), "");
    EXPECT_EQ(broken(experts, 2), "");
    EXPECT_EQ(broken(experts, 8, 1, Engine::llamacpp), "");
    EXPECT_EQ(broken(model_card("qwen3-30b-a3b:weights=fp8"), 8), "");
    const ModelCard dense = model_card("deepseek-v3");  // dense layers of 18432
    EXPECT_EQ(broken(dense, 16), "");
    EXPECT_THAT(broken(dense, 32, 32), HasSubstr("the width 18432 of feed-forward layers"));
    EXPECT_THAT(broken(dense, 32, 32, Engine::sglang), HasSubstr("take --tp 16"));
}

TEST(Fit, LlamacppKeepsAMicroBatchBesideTheWindow) {
    const ModelCard windows = model_card("gpt-oss-120b");
    Deployment on = bare(10);
    on.engine = Engine::llamacpp;
    const double all = sequence_bytes(windows, on, {}, 128);
    EXPECT_DOUBLE_EQ(sequence_bytes(windows, on, {}, 1280), all * (10 + 6) / 2)
        << "a window of 128 tokens and 512 more are 768 in multiples of 256";
}

TEST(Fit, StatesOfRecurrentLayersTakeRoomWhateverTheLength) {
    ModelCard model = model_card("llama-3.1-8b");
    const Deployment on = bare(10);
    const double without = sequence_bytes(model, on, {}, 1000);
    const std::uint64_t most = sequences_at_once(model, on, fit_of(model, on), 1000);
    model.state_bytes_per_sequence = without;
    EXPECT_EQ(sequence_bytes(model, on, {}, 1000), 2 * without);
    EXPECT_EQ(sequence_bytes(model, on, {}, 2000), without + 2000 * 131072.0);
    EXPECT_EQ(sequences_at_once(model, on, fit_of(model, on), 1000), most / 2);
    Deployment ranks = on;
    ranks.tensor_parallel = 16;
    EXPECT_EQ(sequence_bytes(model, ranks, {}, 1000), without / 8 + without / 16)
        << "the states of all ranks differ, also where two of them hold the same head";
}

TEST(Fit, SequencesAtOnceNeverNeedMoreThanThereIs) {
    const Deployment on = bare(10);
    for (const char* const name : {"llama-3.1-8b", "gpt-oss-120b", "deepseek-v3"}) {
        const ModelCard model = model_card(name);
        const Fit fit = fit_of(model, on);
        for (const double tokens : {1.0, 100.0, 1000.0, 33333.0}) {
            const auto count = static_cast<double>(sequences_at_once(model, on, fit, tokens));
            const double each = sequence_bytes(model, on, fit, tokens);
            EXPECT_LE(count * each, fit.left) << name << " " << tokens;
            EXPECT_GT((count + 1) * each, fit.left) << name << " " << tokens;
        }
    }
}

TEST(Fit, NothingLeftIsANumberOfMissingBytesAndNoTokens) {
    const ModelCard model = model_card("llama-3.1-70b");
    const Fit fit = fit_of(model, {.memory_bytes = 79 * kGib});
    EXPECT_LT(fit.left, -60 * kGib);
    EXPECT_EQ(fit.pool_tokens, 0U);
    EXPECT_EQ(fit.blocks, 0U);
    EXPECT_EQ(sequences_at_once(model, {.memory_bytes = 79 * kGib}, fit, 100), 0U);
}

TEST(Fit, FourBitWeightsHaveTheScalesOfTheirGroups) {
    const ModelCard model = model_card("llama-3.1-70b", {.weight_dtype = "int4", .kv_dtype = {}});
    EXPECT_NEAR(resident_bytes(model) / kGib, 2 * 18.55, .1)
        << "the size that vLLM logs for AWQ, on two ranks";
    const ModelCard plain = model_card("llama-3.1-70b");
    EXPECT_EQ(resident_bytes(plain), static_cast<double>(plain.resident_weight_bytes));
}

TEST(Fit, TheSamplerDecidesTheBuffersOfVllm) {
    const ModelCard model = model_card("llama-3.1-8b");
    const Fit fit =
        fit_of(model, {.memory_bytes = 79.18 * kGib, .batch = {.sequences = 1024, .tokens = 8192}});
    EXPECT_NEAR(fit.activations / kGib, 4.76, .1) << "the peak that vLLM 0.11 logs with these limits";
    const Fit long_prompts =
        fit_of(model, {.memory_bytes = 24 * kGib, .batch = {.sequences = 8, .tokens = 29000}});
    EXPECT_NEAR(long_prompts.activations / kGib, 3.0, .3)
        << "the peak of vLLM 0.6 with prompts of 29000 tokens";
}

TEST(Fit, SamplingWithoutASortTakesSmallerBuffers) {
    ModelCard model = model_card("llama-3.1-8b");
    model.vocab = 152064;
    Deployment on{.memory_bytes = 79.15 * kGib, .batch = {.sequences = 256, .tokens = 2048}};
    EXPECT_DOUBLE_EQ(fit_of(model, on).activations, 256 * 152064 * 38.5);
    on.sampler = sampler_named("flashinfer");
    EXPECT_DOUBLE_EQ(fit_of(model, on).activations, 544997376)
        << "14 bytes; a start-up with .53 GiB beside weights and cache said that it uses FlashInfer";
    EXPECT_THROW(sampler_named("triton"), UsageError);
}

TEST(Fit, AdaptersTakeRoomForTheLargestRankAndAreDividedInPart) {
    const ModelCard model = model_card("llama-3.1-8b");
    Deployment on = bare(24);
    const double without = fit_of(model, on).left;
    on.lora = {.count = 4, .rank = 16};
    EXPECT_EQ(fit_of(model, on).adapters, 4 * 41943040 * 2.)
        << "32 layers × 16 × (4 × 4096 + 2 × 4096 + 2 × 1024 + 3 × (4096 + 14336)) values each";
    EXPECT_DOUBLE_EQ(fit_of(model, on).left, without - 335544320);
    on.tensor_parallel = 2;
    EXPECT_EQ(fit_of(model, on).adapters, 226492416)
        << "the 4 × 4096 and the 3 × 4096 are whole on both ranks";
    const ModelCard experts = model_card("qwen3-30b-a3b");  // 48 layers of 2048, 32 heads and 4 of 128
    on.tensor_parallel = 1;
    EXPECT_EQ(fit_of(experts, on).adapters, 4 * 16 * 48 * 2. * (4 * 2048 + 2 * 4096 + 2 * 512))
        << "experts have none";
}

TEST(Fit, AdaptersThatTheEngineDoesNotHaveAreRefused) {
    Deployment on = bare(800);
    on.lora = {.count = 2, .rank = 12};
    const ModelCard model = model_card("llama-3.1-8b");
    EXPECT_THAT(refusal_of(model, on), HasSubstr("--lora 2:12: vLLM has room for adapters of rank 8, 16"));
    EXPECT_THAT(refusal_of(model, on), HasSubstr("take 16"));
    on.engine = Engine::sglang;
    EXPECT_EQ(refusal_of(model, on), "accepted");
    on.engine = Engine::trtllm;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("--memory-headroom"));
    on.engine = Engine::sglang;
    EXPECT_THAT(refusal_of(model_card("deepseek-v3"), on), HasSubstr("deepseek-v3 has latent attention"));
    ModelCard hybrid = model;
    hybrid.state_bytes_per_sequence = 1;
    EXPECT_THAT(refusal_of(hybrid, on), HasSubstr("has linear attention"));
}

TEST(Fit, ADraftModelTakesItsWeightsAndItsCacheOfEveryToken) {
    const ModelCard model = model_card("llama-3.1-70b");
    const ModelCard draft = model_card("llama-3.1-8b");
    Deployment on = bare(100);
    on.tensor_parallel = 2;
    const Fit alone = fit_of(model, on);
    on.draft = draft_on(draft, on);
    const Fit both = fit_of(model, on);
    EXPECT_DOUBLE_EQ(both.draft, resident_bytes(draft) / 2);
    EXPECT_DOUBLE_EQ(both.left, alone.left - both.draft);
    EXPECT_DOUBLE_EQ(both.per_token, alone.per_token + 131072 / 2.);
    EXPECT_DOUBLE_EQ(sequence_bytes(model, on, both, 16), 16 * (327680 + 131072) / 2.);
    EXPECT_NEAR(static_cast<double>(both.pool_tokens), both.left / (327680 + 131072) * 2, 1);
    on.pipeline_parallel = 2;
    EXPECT_THROW((void)draft_on(draft, on), UsageError);
}

TEST(Fit, TheHostsMemoryHoldsWhatEveryRankSaves) {
    const ModelCard model = model_card("llama-3.1-70b");
    const auto tokens = [&](const ModelCard& of, std::uint32_t ranks, std::uint32_t stages = 1) {
        Deployment on = bare(10);
        on.tensor_parallel = ranks;
        on.pipeline_parallel = stages;
        return host_cache_tokens(on, fit_of(of, on), 100 * kv_bytes_per_token(of));
    };
    EXPECT_DOUBLE_EQ(tokens(model, 1), 100);
    EXPECT_DOUBLE_EQ(tokens(model, 8), 100);
    EXPECT_DOUBLE_EQ(tokens(model, 2, 4), 100);
    EXPECT_DOUBLE_EQ(tokens(model, 16), 50) << "two ranks save the same head";
    EXPECT_DOUBLE_EQ(tokens(model_card("deepseek-v3"), 8), 12.5) << "all ranks save the same vectors";
}

TEST(Fit, LlamacppKeepsSomeLayersInTheHostsMemory) {
    const ModelCard model = model_card("llama-3.1-8b");  // layers of 436,207,616 bytes
    constexpr double kLayer = 436207616;
    constexpr double kHead = 1050673152;
    Deployment on = bare(10);
    on.engine = Engine::llamacpp;
    on.gpu_layers = 16;
    on.weight_bytes.reset();
    const Fit fit = fit_of(model, on);
    EXPECT_DOUBLE_EQ(fit.weights, 16 * kLayer);
    EXPECT_DOUBLE_EQ(fit.per_token, 65536) << "and the cache of its layers";
    const HostSplit half = host_split(model, 16);
    EXPECT_EQ(half, (HostSplit{16 * kLayer, 16 * kLayer + kHead, 16 * kLayer + 2 * kHead}));
    EXPECT_NEAR(half.least_seconds(1e12, 50e9), .006979 + .160600, 1e-6);
    EXPECT_EQ(host_split(model, 33), (HostSplit{32 * kLayer + kHead, 0, kHead}));
    on.gpu_layers = 99;
    EXPECT_DOUBLE_EQ(fit_of(model, on).weights, 32 * kLayer + kHead);
}

TEST(Fit, LayersOnTheHostAreRefusedWhereTheyAreNotPlanned) {
    const ModelCard model = model_card("llama-3.1-8b");
    Deployment on = bare(80);
    on.gpu_layers = 10;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("--gpu-layers 10: vllm keeps every layer"));
    on.engine = Engine::llamacpp;
    on.tensor_parallel = 2;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("planned for one GPU"));
    on.tensor_parallel = 1;
    on.gpu_layers = 0;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("--gpu-layers 0"));
}

TEST(Fit, LargeGpusOtherThanTheA100ServeMoreSequences) {
    EXPECT_EQ(default_batch_limits(Engine::vllm, 79.18 * kGib, "h100-sxm").sequences, 1024U);
    EXPECT_EQ(default_batch_limits(Engine::vllm, 79.15 * kGib, "a100-80gb").sequences, 256U);
    EXPECT_EQ(default_batch_limits(Engine::vllm, 22 * kGib, "l4").tokens, 2048U);
}

TEST(Fit, SglangServesAsManySequencesAsItsCacheHoldsContextsWithinBounds) {
    const ModelCard model = model_card("llama-3.1-8b");
    Deployment on = bare(80);
    on.engine = Engine::sglang;
    on.batch = default_batch_limits(Engine::sglang, on.memory_bytes, "h100-sxm");
    EXPECT_EQ(on.batch.sequences, 2048U);
    const Fit fit = fit_of(model, on);
    EXPECT_EQ(default_sequences(on, fit, 131072), 2544U) << "512 × 4.97 contexts";
    EXPECT_EQ(default_sequences(on, fit, 1 << 20), 2048U);
    EXPECT_EQ(default_sequences(on, fit, 4096), 4096U);
    on.engine = Engine::vllm;
    on.batch.sequences = 256;
    EXPECT_EQ(default_sequences(on, fit, 4096), 256U);
}

TEST(Fit, SglangTakesItsShareOfWhatTheOtherRanksBuffersLeave) {
    const ModelCard model = model_card("llama-3.1-70b");
    const auto budget = [&](std::uint32_t ranks) {
        return fit_of(model, {.engine = Engine::sglang,
                              .memory_bytes = 23.64 * kGib,
                              .memory_fraction = .5,
                              .tensor_parallel = ranks,
                              .link = Link::host})
            .budget;
    };
    EXPECT_NEAR(budget(4) / kGib, .5 * 21.63, .01) << "a start-up logged 21.63 GiB that were free";
    EXPECT_NEAR(budget(1) / kGib, .5 * 23.14, .01);
}

TEST(Fit, VllmFillsUpTheLayersWithAWindowToEqualGroups) {
    std::ofstream(testing::TempDir() + "/mixed.json")
        << R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 62, "num_attention_heads": 8,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 4096, "vocab_size": 32000,
        "max_position_embeddings": 32768})";
    ModelCard model = model_card(testing::TempDir() + "/mixed.json");
    const std::uint64_t layer = model.kv_values_per_token / model.layers;
    model.sliding_window = 1024;
    model.windowed_layers = 52;
    model.kv_values_per_token = 10 * layer;
    model.windowed_kv_values_per_token = 52 * layer;
    Deployment on = bare(10);
    const auto layers = [&] { return fit_of(model, on).per_token / (2 * static_cast<double>(layer)); };
    EXPECT_DOUBLE_EQ(layers(), 70) << "it logs that it adds 8 layers for Gemma 3 27B";
    EXPECT_DOUBLE_EQ(sequence_bytes(model, on, {}, 2048),
                     2 * static_cast<double>(layer) * (10 * 2048 + 60 * 1024));
    on.engine = Engine::sglang;
    EXPECT_DOUBLE_EQ(layers(), 62);
}

TEST(Fit, EveryRankHasTheWholeMatricesBeforeALatentCache) {
    const ModelCard model = model_card("deepseek-v3");
    const double shared = fit_of(model, {.memory_bytes = 140 * kGib, .tensor_parallel = 8}).weights;
    EXPECT_NEAR((shared - resident_bytes(model) / 8) / kGib, 61 * 7168 * 2112 * 7. / 8 / kGib, .01)
        << "one byte per weight";
}

TEST(Fit, RanksBehindTheHostNeedNoMoreBuffersThanThoseOfAServer) {
    const ModelCard model = model_card("deepseek-v3");
    const auto buffers = [&](std::uint32_t ranks) {
        return fit_of(model, {.memory_bytes = 140 * kGib, .tensor_parallel = ranks, .link = Link::host})
            .communication;
    };
    EXPECT_LT(buffers(4), buffers(8));
    EXPECT_DOUBLE_EQ(buffers(16), buffers(8));
    const auto of_stages = [&](std::uint32_t stages) {
        return fit_of(model, {.memory_bytes = 140 * kGib, .pipeline_parallel = stages}).communication;
    };
    EXPECT_DOUBLE_EQ(of_stages(16), of_stages(3)) << "a stage has two neighbours";
}

TEST(Fit, RanksThatDoNotDivideTheHeadsAreRefused) {
    const ModelCard model = model_card("llama-3.1-8b");  // 32 heads, 8 KV heads
    Deployment on = bare(80);
    on.tensor_parallel = 3;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("32 attention heads"));
    on.tensor_parallel = 2;
    on.context_parallel = 2;
    EXPECT_THAT(refusal_of(model, on), HasSubstr("--dcp 2"));
    on.tensor_parallel = 16;
    EXPECT_EQ(refusal_of(model, on), "accepted");
    EXPECT_THROW(engine_named("tgi"), UsageError);
    EXPECT_EQ(engine_named("sglang"), Engine::sglang);
}

TEST(Fit, StagesDivideTheLayersAndTheirWeights) {
    const ModelCard model = model_card("llama-3.1-70b");
    const auto on = [](std::uint32_t stages) {
        return Deployment{.memory_bytes = 192 * kGib, .pipeline_parallel = stages};
    };
    const double whole = fit_of(model, on(1)).weights;
    EXPECT_DOUBLE_EQ(whole, resident_bytes(model));
    std::uint64_t before = 0;
    for (const std::uint32_t stages : {1U, 2U, 4U, 8U}) {
        const Fit fit = fit_of(model, on(stages));
        EXPECT_DOUBLE_EQ(fit.layers, 1. / stages);
        EXPECT_GE(fit.weights * stages, whole * .97) << "the fullest stage has at least its part";
        EXPECT_LE(fit.weights, whole / stages + 2.2 * kGib) << "and at most the embedding beside it";
        EXPECT_GT(fit.pool_tokens, before);
        EXPECT_LE(sequence_bytes(model, on(stages), fit, 16000) * stages, 16000 * 327680.0 * (1 + 1e-9));
        before = fit.pool_tokens;
    }
}

TEST(Fit, TheStageWithTheMostLayersDecidesIfTheyAreUneven) {
    const ModelCard model = model_card("llama-3.1-8b");  // 32 layers: 10, 11 and 11
    Deployment on = bare(10);
    on.pipeline_parallel = 3;
    EXPECT_DOUBLE_EQ(fit_of(model, on).layers, 11. / 32);
    on.pipeline_parallel = 32;
    EXPECT_DOUBLE_EQ(fit_of(model, on).layers, 1. / 32);
}

TEST(Fit, LlamacppDividesTheOutputHeadLikeALayerAndLooksTokensUpOnTheHost) {
    const ModelCard model = model_card("llama-3.1-70b");  // 80 layers and the head in 6 parts: 13 or 14
    Deployment on = bare(24);
    on.engine = Engine::llamacpp;
    on.pipeline_parallel = 6;
    EXPECT_DOUBLE_EQ(fit_of(model, on).layers, 14. / 80);
    on.weight_bytes.reset();
    const double layers = resident_bytes(model) - 2 * static_cast<double>(model.embedding_bytes);
    EXPECT_DOUBLE_EQ(fit_of(model, on).weights, layers * 14 / 80);
    on.pipeline_parallel = 80;
    EXPECT_DOUBLE_EQ(fit_of(model, on).layers, 2. / 80);
}

TEST(Fit, ADeploymentOfTensorRanksAndStagesHasAsManyGpusAsBothTogether) {
    EXPECT_EQ((Deployment{.tensor_parallel = 4, .pipeline_parallel = 2}.gpus()), 8U);
}

TEST(Fit, WhatStagesAndExpertsCannotDivideIsRefusedByName) {
    const ModelCard dense = model_card("llama-3.1-8b");
    const ModelCard experts = model_card("qwen3-30b-a3b");  // 128 experts
    const auto with = [](std::uint32_t tensor, std::uint32_t stages, std::uint32_t groups, Engine engine) {
        Deployment on = bare(80);
        on.engine = engine;
        on.tensor_parallel = tensor;
        on.pipeline_parallel = stages;
        on.expert_parallel = groups;
        return on;
    };
    using enum Engine;
    EXPECT_THAT(refusal_of(dense, with(1, 33, 1, vllm)), HasSubstr("--pp 33: llama-3.1-8b has 32 layers"));
    EXPECT_THAT(refusal_of(dense, with(2, 1, 2, vllm)), HasSubstr("--ep 2: llama-3.1-8b has no experts"));
    EXPECT_THAT(refusal_of(experts, with(3, 1, 3, sglang)), HasSubstr("128 experts"));
    EXPECT_THAT(refusal_of(experts, with(2, 1, 4, sglang)), HasSubstr("--tp are not a multiple of 4"));
    EXPECT_THAT(refusal_of(experts, with(4, 1, 2, vllm)), HasSubstr("take --ep 4"));
    EXPECT_THAT(refusal_of(dense, with(2, 2, 1, llamacpp)), HasSubstr("--pp 2 and --tp 2"));
    EXPECT_EQ(refusal_of(experts, with(4, 2, 2, sglang)), "accepted");
    EXPECT_EQ(refusal_of(experts, with(4, 2, 4, vllm)), "accepted");
}

TEST(Fit, WholeExpertsTakeMoreRoomForActivations) {
    const ModelCard model = model_card("qwen3-30b-a3b");
    Deployment on{
        .memory_bytes = 140 * kGib, .tensor_parallel = 8, .batch = {.sequences = 8, .tokens = 32768}};
    const Fit divided = fit_of(model, on);
    on.expert_parallel = 8;
    const Fit whole = fit_of(model, on);
    EXPECT_GT(whole.activations, divided.activations) << "an expert's rows are whole on one rank";
    EXPECT_DOUBLE_EQ(whole.weights, divided.weights);
}

TEST(Fit, EveryShippedModelFitsSomewhereOnEveryLargeGpu) {
    for (const std::string& model : known_models())
        EXPECT_GT(fit_of(model_card(model), {.memory_bytes = 178 * kGib, .tensor_parallel = 1}).left,
                  model == "deepseek-v3" || model == "llama-3.1-405b" ? -1e13 : 0)
            << model;
}

}  // namespace
}  // namespace paretoken::cards
