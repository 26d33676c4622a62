#include "simulator/engine/card_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cards/fit.h"
#include "cards/gpu.h"
#include "core/error.h"
#include "simulator/engine/model.h"

namespace paretoken::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal_of(std::string_view spec) {
    try {
        profile_named(spec);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(CardProfile, HasTheBytesOfTheModelAndTheFiguresOfTheGpus) {
    const Profile profile = profile_named("llama3-70b/h200x2/fp8");
    EXPECT_EQ(profile.name, "llama3-70b/h200x2/fp8");
    EXPECT_EQ(profile.model, "llama-3.1-70b");
    const auto model = cards::model_card("llama-3.1-70b", {.weight_dtype = "fp8", .kv_dtype = {}});
    const auto gpu = cards::gpu_card("h200");
    EXPECT_EQ(profile.layers, 80);
    EXPECT_EQ(profile.weight_bytes, static_cast<double>(model.dense_streamed_bytes));
    EXPECT_NEAR(profile.weight_bytes, 70e9, 3e9) << "a byte per value, output projection in 16 bits";
    EXPECT_DOUBLE_EQ(profile.weight_bytes_per_s, 2 * .8 * gpu.memory_bytes_per_s);
    EXPECT_DOUBLE_EQ(profile.kv_bytes_per_token, 2.0 * 80 * 8 * 128 * 2);
    const cards::Fit fit = cards::fit_of(model, {.memory_bytes = gpu.reported_bytes,
                                                 .tensor_parallel = 2,
                                                 .batch = {.sequences = 1024, .tokens = 8192}});
    EXPECT_EQ(profile.blocks, static_cast<std::int64_t>(fit.blocks)) << "what vLLM would leave for the cache";
    EXPECT_EQ(context_limit(profile), 131072);
}

TEST(CardProfile, IsAsFastAsTheMeasuredProfileOfTheSameModelAndGpu) {
    const std::pair<const char*, const char*> pairs[] = {{"llama3-8b/h100", "llama3-8b-h100-bf16"},
                                                         {"llama3-8b/h100/fp8/fp8", "llama3-8b-h100-fp8"}};
    for (const auto& [card, measured] : pairs) {
        for (const std::int64_t batch : {1, 16, 64, 256}) {
            const StepWork decode{.tokens = batch, .sequences = batch, .decode_context_tokens = batch * 512};
            const StepWork prefill{.tokens = 2048, .sequences = 1, .prefill_token_pairs = 2048.0 * 1024};
            for (const StepWork& work : {decode, prefill}) {
                const double ratio =
                    step_seconds(profile_named(card), work) / step_seconds(profile_named(measured), work);
                EXPECT_NEAR(ratio, 1, .08) << card << " at " << batch;
            }
        }
        const double blocks = static_cast<double>(profile_named(card).blocks) /
                              static_cast<double>(profile_named(measured).blocks);
        EXPECT_NEAR(blocks, 1, .15)
            << card << ": the measured profile counts 80 GB, the card what the driver reports";
    }
}

TEST(CardProfile, MoreGpusAreFasterButNotForFree) {
    const StepWork decode{.tokens = 8, .sequences = 8, .decode_context_tokens = 8 * 1000};
    const double one = step_seconds(profile_named("llama3-8b/h100"), decode);
    const double two = step_seconds(profile_named("llama3-8b/h100x2"), decode);
    EXPECT_LT(two, one);
    EXPECT_GT(two, one / 2);
    EXPECT_GT(profile_named("llama3-8b/h100x2").blocks, 2 * profile_named("llama3-8b/h100").blocks);
}

TEST(CardProfile, TheEngineDecidesTheBatchTheMemoryAndTheAdmission) {
    const Profile vllm = profile_named("llama3-8b/h200/fp8/fp8");
    const Profile trtllm = profile_named("llama3-8b/h200/fp8/fp8?engine=trtllm");
    EXPECT_EQ(vllm.admission, AdmissionRule::prompt);
    EXPECT_EQ(trtllm.admission, AdmissionRule::no_evict);
    EXPECT_EQ(vllm.chunked_prefill, 1);
    EXPECT_EQ(trtllm.chunked_prefill, 0);
    EXPECT_EQ(vllm.max_num_seqs, 1024);
    EXPECT_EQ(trtllm.max_num_seqs, 2048);
    EXPECT_NE(vllm.blocks, trtllm.blocks);
    EXPECT_EQ(profile_named("deepseek-v3/h200x8?engine=sglang").max_num_seqs, 2048);
    EXPECT_EQ(profile_named("deepseek-v3/h200x8?engine=sglang&max_num_seqs=256").max_num_seqs, 256);
    EXPECT_EQ(profile_named("llama3-8b/l40s").max_num_seqs, 256) << "vLLM's default on smaller GPUs";
    EXPECT_EQ(profile_named("llama3-8b/l40s").max_batched_tokens, 2048);
    EXPECT_EQ(profile_named("llama3-8b/h200?engine=trtllm&admission=prompt").admission,
              AdmissionRule::prompt);
    EXPECT_EQ(profile_named("llama3-8b/h200?kv_memory=1GiB").blocks, (1 << 30) / 131072 / 16);
}

TEST(CardProfile, APcieCardIsSlowerThanNvlinkBetweenTwoRanks) {
    const StepWork decode{.tokens = 64, .sequences = 64, .decode_context_tokens = 64 * 1000};
    const auto seconds_on = [&](const char* spec) { return step_seconds(profile_named(spec), decode); };
    EXPECT_GT(seconds_on("llama3-8b/a100-80gb-pciex2"), 1.5 * seconds_on("llama3-8b/a100-80gbx2"));
    EXPECT_GT(seconds_on("llama3-8b/a100-80gb-pciex2"),
              1.2 * seconds_on("llama3-8b/a100-80gb-pciex2?link=pcie"));
    EXPECT_GT(seconds_on("llama3-8b/a100-80gbx2?link=ethernet"), 4 * seconds_on("llama3-8b/a100-80gbx2"));
}

TEST(CardProfile, WithAttentionDataParallelismRanksReadDenseWeightsEachAndTheCacheOnce) {
    const Profile tensor = profile_named("deepseek-v3/b200x8/nvfp4/fp8");
    const Profile dep = profile_named("deepseek-v3/b200x8/nvfp4/fp8?parallel=dep");
    const auto model = cards::model_card("deepseek-v3", {.weight_dtype = "nvfp4", .kv_dtype = {}});
    const auto dense = static_cast<double>(model.dense_streamed_bytes);
    EXPECT_DOUBLE_EQ(dep.weight_bytes, 8 * dense);
    EXPECT_GT(tensor.weight_bytes, 1.2 * dense) << "every rank reads the matrices before the latent cache";
    EXPECT_LT(tensor.weight_bytes, 2 * dense);
    EXPECT_DOUBLE_EQ(dep.kv_bytes_per_s, 8 * tensor.kv_bytes_per_s)
        << "else every rank reads the whole cache";
    EXPECT_GT(dep.blocks, 4 * tensor.blocks);
    EXPECT_EQ(dep.max_num_seqs, 8 * tensor.max_num_seqs) << "each rank has its own batch";
    EXPECT_EQ(tensor.expert_imbalance, 1) << "every expert is divided among all ranks";
    EXPECT_GT(dep.expert_imbalance, 1);
    EXPECT_GT(profile_named("deepseek-v3/b200x16/nvfp4/fp8?parallel=dep").expert_imbalance,
              dep.expert_imbalance);
}

TEST(CardProfile, RanksWithLayersWorkOneAfterTheOther) {
    const Profile one = profile_named("llama3-8b/rtx-3090");
    const Profile four = profile_named("llama3-8b/rtx-3090x4?parallel=layers");
    EXPECT_EQ(four.weight_bytes_per_s, one.weight_bytes_per_s);
    EXPECT_EQ(four.linear_s_per_token, one.linear_s_per_token);
    EXPECT_GT(four.blocks, 3 * one.blocks);
    EXPECT_EQ(refusal_of("llama-3.1-70b/rtx-3090x6/f16?engine=llamacpp&parallel=layers"), "accepted")
        << "layers divide no heads, of which 6 ranks could not share 64";
    EXPECT_GT(profile_named("deepseek-v3/rtx-3090x16/iq4_xs?engine=llamacpp&parallel=layers").blocks, 1000)
        << "each rank has the latent cache of its own layers";
    EXPECT_THAT(refusal_of("llama-3.1-70b/rtx-3090x2/f16?engine=llamacpp&parallel=layers"),
                AllOf(HasSubstr("GiB of weights"), HasSubstr("take rtx-3090x8 or")));
    EXPECT_THAT(refusal_of("llama-3.1-405b/rtx-3090x6/f16?engine=llamacpp&stages=6"),
                AllOf(HasSubstr("leave no room"), Not(HasSubstr("--tp"))));
}

TEST(CardProfile, StagesReadTheirWeightsOneAfterTheOtherAndHandTokensOver) {
    const Profile tensor = profile_named("llama3-70b/h100x4/fp8");
    const Profile staged = profile_named("llama3-70b/h100x4/fp8?stages=2");
    EXPECT_EQ(staged.pipeline_stages, 2);
    EXPECT_DOUBLE_EQ(staged.weight_bytes_per_s, tensor.weight_bytes_per_s / 2);
    EXPECT_EQ(staged.max_batched_tokens, 2 * tensor.max_batched_tokens) << "of each of the two groups";
    EXPECT_NEAR(staged.communication_s, tensor.communication_s + 8e-6, 1e-9) << "one hand-over more";
    EXPECT_LT(staged.communication_s_per_token, tensor.communication_s_per_token)
        << "two ranks exchange less than four";
    const StepWork one{.tokens = 1, .sequences = 1, .decode_context_tokens = 1000};
    EXPECT_GT(step_seconds(staged, one), 1.3 * step_seconds(tensor, one));
    const StepWork many{.tokens = 4096, .sequences = 256, .prefill_token_pairs = 4096 * 8.0};
    EXPECT_NEAR(step_seconds(staged, many) / step_seconds(tensor, many), 1, .25)
        << "many tokens are computed as fast as by ranks that share every matrix";
    EXPECT_DOUBLE_EQ(limit_terms(staged).at("kv_bytes_per_s"), limit_terms(tensor).at("kv_bytes_per_s"));
    EXPECT_NEAR(static_cast<double>(staged.blocks) / static_cast<double>(tensor.blocks), 1, .1);
}

TEST(CardProfile, WholeExpertsAreNotEquallyBusy) {
    const Profile divided = profile_named("qwen3-30b-a3b/h100x4");
    const Profile whole = profile_named("qwen3-30b-a3b/h100x4?ep=4");
    EXPECT_EQ(divided.expert_imbalance, 1);
    EXPECT_GT(whole.expert_imbalance, 1.1);
    EXPECT_EQ(whole.communication_s, divided.communication_s) << "every rank has every token";
}

TEST(CardProfile, RanksThatShareExpertsMoveWholeRowsEach) {
    const auto routed = [](const char* spec) { return profile_named(spec).routed_s_per_token; };
    EXPECT_GT(routed("qwen3-30b-a3b/h100x4"), 1.2 * routed("qwen3-30b-a3b/h100x4?ep=4"));
    EXPECT_EQ(routed("qwen3-30b-a3b/h100x4?engine=sglang&ep=4"), routed("qwen3-30b-a3b/h100x4?parallel=dep"));
}

TEST(CardProfile, StagesAndExpertsThatDoNotDivideAreRefused) {
    EXPECT_THAT(refusal_of("llama3-8b/h100x3?stages=2"), HasSubstr("3 GPUs cannot be divided into 2"));
    EXPECT_THAT(refusal_of("llama3-8b/h100x2?stages=0"), HasSubstr("stages must be from 1"));
    EXPECT_THAT(refusal_of("llama3-8b/h100x2?ep=2"), HasSubstr("no experts"));
}

TEST(CardProfile, FormatsWithoutArithmeticOfTheirOwnAreExpandedTo16Bits) {
    const auto linear = [](const char* spec) { return profile_named(spec).linear_s_per_token; };
    const double expanded = linear("llama3-8b/h100/int4");
    EXPECT_NEAR(expanded / linear("llama3-8b/h100/bf16"), .65 / .42, 1e-9);
    EXPECT_EQ(linear("llama3-8b/h100/nvfp4"), expanded);
    EXPECT_EQ(linear("llama3-8b/a100/fp8"), linear("llama3-8b/a100/int4")) << "an A100 has no units for fp8";
    EXPECT_LT(linear("llama3-8b/a100/int4?reach.linear_expanded=.5"), linear("llama3-8b/a100/int4"));
    EXPECT_LT(linear("llama3-8b/h100/fp8"), linear("llama3-8b/h100/bf16"));
    EXPECT_LT(linear("llama3-8b/b200/nvfp4"), linear("llama3-8b/b200/fp8"));
    EXPECT_EQ(linear("llama3-8b/b200/mxfp4"), linear("llama3-8b/b200/fp8")) << "activations are in fp8";
    EXPECT_GT(linear("llama3-8b/rtx-4090/q4_0"), linear("llama3-8b/rtx-4090/int8"))
        << "decoded while multiplying";
}

TEST(CardProfile, AnFp8CacheLetsPromptsAttendInFp8WhereTheGpuCan) {
    const auto attention = [](const char* spec) { return profile_named(spec).attention_flops_per_s; };
    EXPECT_GT(attention("llama3-8b/h100/fp8/fp8"), 1.3 * attention("llama3-8b/h100/fp8"));
    EXPECT_EQ(attention("llama3-8b/a100/bf16/fp8"), attention("llama3-8b/a100/bf16"));
}

TEST(CardProfile, DecodesOnALatentCacheAreBoundByArithmetic) {
    const Profile latent = profile_named("deepseek-v3/h200x8?parallel=dep");
    const double reading = latent.kv_bytes_per_token / latent.kv_bytes_per_s;
    EXPECT_GT(latent.decode_attention_s_per_pair, reading);
    EXPECT_EQ(profile_named("llama3-8b/h200").decode_attention_s_per_pair, 0);
}

TEST(CardProfile, ExpertsAndWindowsAreKept) {
    const Profile experts = profile_named("qwen3-30b-a3b/h100");
    const double alone = step_seconds(experts, {.tokens = 1, .sequences = 1});
    const double together = step_seconds(experts, {.tokens = 64, .sequences = 64});
    EXPECT_GT(together, 3 * alone) << "64 tokens draw nearly all experts";
    EXPECT_EQ(limit_terms(experts).at("routed_experts"), 128);
    const Profile windows = profile_named("gpt-oss-120b/h100x2");
    EXPECT_EQ(windows.window, 128);
    EXPECT_GT(windows.windowed_kv_bytes_per_token, 0);
    EXPECT_GT(limit_terms(windows).at("window"), 0);
}

TEST(CardProfile, AModelWhoseLayersAllHaveAWindowHasNoAttentionBeyondIt) {
    const std::string path = testing::TempDir() + "/windowed_model.json";
    std::ofstream(path) << R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
        "max_position_embeddings": 32768, "sliding_window": 4096})";
    const Profile profile = profile_named(path + "/h100");
    EXPECT_EQ(profile.window, 4096);
    EXPECT_EQ(profile.kv_bytes_per_token, 0);
    EXPECT_EQ(profile.attention_flops_per_pair, 0);
    EXPECT_EQ(attention_flops_per_token_pair(profile), 0);
    EXPECT_EQ(limit_terms(profile).at("attention_flops_per_token_pair"), 0);
    EXPECT_DOUBLE_EQ(limit_terms(profile).at("windowed_attention_flops_per_token_pair"), 4.0 * 32 * 4096);
    const StepWork far{.tokens = 2048,
                       .sequences = 1,
                       .prefill_token_pairs = 2048.0 * 30000,
                       .windowed_token_pairs = 2048.0 * 4096};
    StepWork near = far;
    near.prefill_token_pairs = 2048.0 * 4096;
    EXPECT_EQ(step_seconds(profile, far), step_seconds(profile, near)) << "the window is all that counts";
}

TEST(CardProfile, ItsNameTellsHowManyGpusThereAre) {
    EXPECT_EQ(gpu_count_of("llama3-70b/h200x2/fp8?jitter=0"), 2U);
    EXPECT_EQ(gpu_count_of("llama3-8b/h100"), 1U);
    EXPECT_EQ(gpu_count_of("llama3-8b-h100-bf16?max_num_seqs=4"), 1U);
    EXPECT_EQ(cards::find_gpu("sim:llama3-70b/h200x2/fp8")->name, "h200") << "what prices are looked up by";
}

cards::GpuCard two_cores() {
    cards::GpuCard cpu;
    cpu.title = "a CPU";
    cpu.cores = 2;
    cpu.memory_bytes = cpu.reported_bytes = 8e9;
    cpu.memory_bytes_per_s = 50e9;
    cpu.flops["f32"] = 200e9;
    cpu.source = "a test";
    cpu.as_of = "2026-11";
    return cpu;
}

/// Writes a file in a folder of its own, and returns its path.
std::string file_with(const char* name, const std::string& text) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "cpu cards";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name) << text;
    return (folder / name).string();
}

TEST(CardProfile, OfACpuIsMadeFromTheFileOfItsCard) {
    const std::string file = file_with("cpu.json", cards::cpu_card_text(two_cores()));
    const std::string spec = "smollm2-135m/cpu:" + file + "/q8_0";
    EXPECT_TRUE(names_cards("smollm2-135m/cpu:" + file));
    EXPECT_EQ(model_of_card_profile(spec)->weight_dtype, "q8_0");
    EXPECT_EQ(gpu_count_of(spec), 1U);
    const Profile profile = profile_named(spec);
    EXPECT_EQ(profile.model, "smollm2-135m");
    EXPECT_EQ(profile.weight_bytes, static_cast<double>(model_of_card_profile(spec)->dense_streamed_bytes));
    EXPECT_EQ(profile.admission, AdmissionRule::prompt);
    EXPECT_EQ(profile.max_num_seqs, profile_named("smollm2-135m/l4/q8_0?engine=llamacpp").max_num_seqs)
        << "llama.cpp is the usual engine";
    const Profile wider = profile_named("smollm2-135m/cpu:" + file + "?reach.linear_decoded=1");
    EXPECT_EQ(wider.linear_s_per_token, profile_named("smollm2-135m/cpu:" + file).linear_s_per_token)
        << "16-bit weights are not decoded";
    EXPECT_LT(profile_named(spec + "?reach.linear_decoded=1").linear_s_per_token, profile.linear_s_per_token);
}

TEST(CardProfile, OfACpuTakesTheTimesThatLlamaCppTookWithin25Percent) {
    cards::GpuCard epyc = two_cores();
    epyc.cores = 1;
    epyc.memory_bytes_per_s = 33.9e9;
    epyc.flops["f32"] = 118e9;
    const std::string file = file_with("epyc.json", cards::cpu_card_text(epyc));
    const Profile profile = profile_named("smollm2-135m/cpu:" + file + "/q8_0");
    // Processor time in seconds of llama.cpp's server, one thread, for 1 to 4 requests of 224 prompt tokens
    // and 33 output tokens at once.
    constexpr double kMeasured[] = {1.190, 2.658, 3.866, 4.546};
    const double prompt =
        step_seconds(profile, {.tokens = 224, .sequences = 1, .prefill_token_pairs = 224.0 * 224 / 2});
    for (std::int64_t requests = 1; requests <= 4; ++requests) {
        const StepWork decode{
            .tokens = requests, .sequences = requests, .decode_context_tokens = requests * 240};
        const double predicted = static_cast<double>(requests) * prompt + 32 * step_seconds(profile, decode);
        EXPECT_NEAR(predicted / kMeasured[requests - 1], 1, .25) << requests;
    }
}

TEST(CardProfile, PromptsInFourBitsTakeLongerOnACpuThanInEight) {
    const std::string prefix = "smollm2-135m/cpu:" + file_with("cpu.json", cards::cpu_card_text(two_cores()));
    const StepWork prompt{.tokens = 224, .sequences = 1, .prefill_token_pairs = 224.0 * 224 / 2};
    const double eight = step_seconds(profile_named(prefix + "/q8_0"), prompt);
    const double four = step_seconds(profile_named(prefix + "/q4_1"), prompt);
    EXPECT_GT(four / eight, 1.4);
    EXPECT_LT(four / eight, 1.75);
}

TEST(CardProfile, OfACpuWithoutAUsableCardIsRefused) {
    cards::GpuCard no_cores = two_cores();
    EXPECT_THAT(refusal_of("smollm2-135m/cpu:card/q8_0"), HasSubstr("ends in .json"));
    EXPECT_THAT(refusal_of("smollm2-135m/cpu:/nonesuch/cpu.json/q8_0"), HasSubstr("/nonesuch/cpu.json"));
    const std::string good = file_with("good.json", cards::cpu_card_text(two_cores()));
    EXPECT_THAT(refusal_of("smollm2-135m/cpu:" + good + "/q8_0/f16/f16"), HasSubstr("remove \"f16\""));
    no_cores.flops = {{"bf16", 1e12}};
    const std::string narrow = file_with("narrow.json", cards::cpu_card_text(no_cores));
    EXPECT_THAT(refusal_of("smollm2-135m/cpu:" + narrow), AllOf(HasSubstr("f32"), HasSubstr("micro --card")));
}

TEST(CardProfile, LaunchesTakeATimePerLayerThatIsThatOfTheKindOfLayerAndOfTheEngine) {
    EXPECT_DOUBLE_EQ(profile_named("llama3-8b/h100").step_s, 1e-3 + 32 * 25e-6);
    EXPECT_DOUBLE_EQ(profile_named("qwen3-30b-a3b/h100").step_s, 1e-3 + 48 * 60e-6);
    EXPECT_DOUBLE_EQ(profile_named("deepseek-v3/h200x8").step_s, 1e-3 + 61 * 120e-6);
    EXPECT_DOUBLE_EQ(profile_named("llama3-8b/h100?reach.layer=1e-5&reach.step=1e-4").step_s,
                     1e-4 + 32 * 1e-5);
    EXPECT_DOUBLE_EQ(profile_named("llama3-8b/h100?reach.step=.2ms").step_s,
                     profile_named("llama3-8b/h100?reach.step=0.0002").step_s);
    const Profile sglang = profile_named("deepseek-v3/h200x8?engine=sglang");
    EXPECT_DOUBLE_EQ(sglang.prompt_step_s, 61 * 2e-3);
    EXPECT_DOUBLE_EQ(profile_named("deepseek-v3/h200x8?engine=trtllm").prompt_step_s, 61 * .1e-3);
    EXPECT_EQ(profile_named("llama3-8b/h100/q8_0?engine=llamacpp").prompt_step_s, 0);
    EXPECT_EQ(profile_named("llama3-8b/h100/q8_0?engine=llamacpp").request_s, 0);
    const StepWork decode{.tokens = 1, .sequences = 1, .decode_context_tokens = 100};
    const StepWork prompt{.tokens = 1, .sequences = 1, .prefill_token_pairs = 1};
    EXPECT_GT(step_seconds(sglang, prompt), 61 * 2e-3);
    EXPECT_LT(step_seconds(sglang, decode), .02);
}

TEST(CardProfile, TensorRtLlmSumsOverPcieWithoutTheHostWhereGpusReadEachOther) {
    const auto wait = [](const char* spec) { return profile_named(spec).communication_s; };
    EXPECT_LT(wait("llama3-70b/l40sx4/fp8?engine=trtllm"), wait("llama3-70b/l40sx4/fp8") / 2);
    EXPECT_EQ(wait("llama3-70b/rtx-4090x8/fp8?engine=trtllm"), wait("llama3-70b/rtx-4090x8/fp8"));
    EXPECT_EQ(wait("llama3-70b/l40sx4/fp8?link=pcie"), wait("llama3-70b/l40sx4/fp8?engine=trtllm"));
}

TEST(CardProfile, TheLimitsOfTheEngineAndItsShareOfTheMemoryDecideTheCache) {
    const std::int64_t usual = profile_named("llama3-8b/h100").blocks;
    EXPECT_GT(profile_named("llama3-8b/h100?max_num_seqs=32&max_batched_tokens=2048").blocks, usual);
    EXPECT_LT(profile_named("llama3-8b/h100?memory_fraction=.5").blocks, usual);
    EXPECT_THAT(refusal_of("llama3-8b/h100?memory_fraction=1.5"), HasSubstr("at most 1"));
    EXPECT_THAT(refusal_of("llama3-70b/h100"),
                HasSubstr("max_num_seqs=N, memory_fraction=F or kv_memory=SIZE"));
}

TEST(CardProfile, TakesChangesLikeAnyOther) {
    const Profile profile = profile_named("llama3-8b/h100?max_num_seqs=9&jitter=0&reasoning=5tok");
    EXPECT_EQ(profile.max_num_seqs, 9);
    EXPECT_EQ(profile.reasoning.tokens, 5);
    EXPECT_EQ(profile.model, "llama-3.1-8b");
    EXPECT_THAT(refusal_of("llama3-8b/h100?ttft=1ms"), HasSubstr("max_num_seqs"));
}

TEST(CardProfile, RefusalsAreOneLineWithWhatIsKnown) {
    const std::string model = refusal_of("llama9-8b/h100");
    EXPECT_THAT(model, AllOf(HasSubstr("llama9-8b"), HasSubstr("llama-3.1-70b"), Not(HasSubstr("\n"))));
    const std::string gpu = refusal_of("llama3-8b/h900");
    EXPECT_THAT(gpu, AllOf(HasSubstr("h900"), HasSubstr("h100-sxm"), Not(HasSubstr("\n"))));
    EXPECT_THAT(refusal_of("llama3-8b/h100/fp9"), AllOf(HasSubstr("fp9"), HasSubstr("fp8")));
    EXPECT_THAT(refusal_of("llama3-8b/h100/fp8/fp8/fp8"), HasSubstr("MODEL/GPU"));
    EXPECT_THAT(refusal_of("llama3-70b/h100"), AllOf(HasSubstr("131 GiB"), HasSubstr("h100-sxmx4")));
    EXPECT_THAT(refusal_of("llama3-8b/h100?engine=tgi"), HasSubstr("vllm"));
    EXPECT_THAT(refusal_of("llama3-8b/h100?reach.luck=1"),
                AllOf(HasSubstr("reach.luck"), HasSubstr("linear")));
    EXPECT_THAT(refusal_of("llama3-8b/h100?reach.linear=0"), HasSubstr("above 0"));
    EXPECT_THAT(refusal_of("llama3-8b/h100?reach.step=2k"), HasSubstr("not a duration"));
    EXPECT_THAT(refusal_of("llama3-8b/h100?kv_memory=8"), HasSubstr("kv_memory \"8\""));
    EXPECT_THAT(refusal_of("nonesuch.json"), AllOf(HasSubstr("ideal"), HasSubstr("llama3-70b/h200x2/fp8")));
}

}  // namespace
}  // namespace paretoken::sim
