#include "simulator/engine/card_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_DOUBLE_EQ(profile.weight_bytes_per_s, 2 * .69 * gpu.memory_bytes_per_s);
    EXPECT_DOUBLE_EQ(profile.kv_bytes_per_token, 2.0 * 80 * 8 * 128 * 2);
    const cards::Fit fit = cards::fit_of(model, {.memory_bytes = gpu.reported_bytes,
                                                 .tensor_parallel = 2,
                                                 .batch = {.sequences = 256, .tokens = 8192}});
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
                EXPECT_NEAR(ratio, 1, .06) << card << " at " << batch;
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
    EXPECT_THAT(refusal_of("llama3-70b/h100"), AllOf(HasSubstr("131 GiB"), HasSubstr("h100-sxmx2")));
    EXPECT_THAT(refusal_of("nonesuch.json"), AllOf(HasSubstr("ideal"), HasSubstr("llama3-70b/h200x2/fp8")));
}

}  // namespace
}  // namespace paretoken::sim
