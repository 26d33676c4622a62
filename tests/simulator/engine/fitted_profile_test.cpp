#include "simulator/engine/fitted_profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cards/model.h"
#include "core/random.h"
#include "simulator/engine/card_profile.h"
#include "simulator/engine/model.h"

namespace paretoken::sim {
namespace {

/// The profile that the text of another one makes.
Profile read_back(const Profile& profile) {
    const auto path = std::filesystem::temp_directory_path() / "paretoken_profile_text_test.json";
    std::ofstream(path) << profile_text(profile);
    Profile read = profile_named(path.string());
    std::filesystem::remove(path);
    read.name = profile.name;
    read.model = profile.model;
    return read;
}

TEST(ProfileText, IsReadAsTheSameProfile) {
    for (const char* const spec :
         {"llama3-8b-h100-bf16", "ideal?ttft=20ms&itl=1.5ms&answers=recall", "llama3-70b/h200x2/fp8",
          "deepseek-v3/b200x8/nvfp4/fp8?engine=trtllm&parallel=dep", "gpt-oss-120b/h100/mxfp4",
          "llama3-8b/h100/fp8?hiccup=5ms-20ms/2s&reasoning=25%&speculative_tokens=3&acceptance=.7",
          "llama3-8b/h100?reasoning=64tok&drift=10%/h&kv_offload_bytes=64e9&answers=garbage"}) {
        const Profile profile = profile_named(spec);
        EXPECT_EQ(read_back(profile), profile) << spec;
    }
}

TEST(FittedProfile, AFactorOfAllSpeedsDividesTheTimeOfEveryStep) {
    Random random(5);
    for (const char* const spec :
         {"llama3-8b/h100/fp8", "gpt-oss-120b/h100/mxfp4", "deepseek-v3/b200x8/nvfp4/fp8"}) {
        Profile profile = profile_named(spec);
        profile.step_s = profile.sequence_s = profile.communication_s = profile.communication_s_per_token = 0;
        profile.prompt_step_s = 0;
        const Profile faster = with_speeds(profile, {.memory = 2, .arithmetic = 2});
        for (int i = 0; i < 50; ++i) {
            const StepWork work{.tokens = static_cast<std::int64_t>(1 + random.below(4000)),
                                .sequences = static_cast<std::int64_t>(1 + random.below(64)),
                                .decode_context_tokens = static_cast<std::int64_t>(random.below(100'000)),
                                .prefill_token_pairs = 1e6 * random.uniform()};
            EXPECT_NEAR(step_seconds(profile, work) / step_seconds(faster, work), 2, 1e-9) << spec;
        }
    }
}

TEST(FittedProfile, TheFixedTimeOfAStepIsReplaced) {
    const Profile profile = profile_named("llama3-8b/h100/fp8");
    const StepWork work{.tokens = 1, .sequences = 1, .decode_context_tokens = 100};
    const double before = step_seconds(profile, work);
    EXPECT_NEAR(step_seconds(with_speeds(profile, {.step_s = profile.step_s + 5e-3}), work), before + 5e-3,
                1e-12);
    EXPECT_EQ(with_speeds(profile, {}), profile);
}

TEST(MachineProfile, ServesAModelOnAMachineWithoutACard) {
    const Profile profile = machine_profile(cards::model_card("smollm2-135m"), 4);
    EXPECT_EQ(profile.max_num_seqs, 4);
    EXPECT_GT(kv_capacity_tokens(profile), 8 * 8192);
    EXPECT_GT(step_seconds(profile, {.tokens = 1, .sequences = 1, .decode_context_tokens = 10}), 0);
    EXPECT_EQ(read_back(profile), profile);
}

}  // namespace
}  // namespace paretoken::sim
