#include "simulator/engine/model.h"

#include <gtest/gtest.h>

#include "tests/support/simple_profile.h"

namespace paretoken::sim {
namespace {

double decode_ms(const Profile& profile, std::int64_t batch, std::int64_t context) {
    const StepWork work{.tokens = batch, .sequences = batch, .decode_context_tokens = batch * context};
    return step_seconds(profile, work) * 1e3;
}

TEST(Model, DefaultProfileTakesTheMeasuredTimePerDecodeStep) {
    const Profile profile = profile_named("llama3-8b-h100-bf16");
    EXPECT_NEAR(decode_ms(profile, 1, 512), 7.5, 0.05);
    EXPECT_NEAR(decode_ms(profile, 64, 512), 9.6, 0.05);
    EXPECT_NEAR(decode_ms(profile, 256, 512), 17.5, 0.25);
}

TEST(Model, DefaultProfileTakesTheMeasuredTimePerPrefill) {
    const Profile profile = profile_named("llama3-8b-h100-bf16");
    const StepWork work{.tokens = 2048, .sequences = 1, .prefill_token_pairs = 2048.0 * 1024};
    EXPECT_NEAR(step_seconds(profile, work) * 1e3, 49, 0.5);
}

TEST(Model, StagesComputeGroupsOfTheSequencesAtOnce) {
    Profile profile = profile_named("llama3-8b-h100-bf16");
    const double alone = decode_ms(profile, 1, 512);
    const double half = decode_ms(profile, 32, 512);
    profile.pipeline_stages = 2;
    EXPECT_DOUBLE_EQ(decode_ms(profile, 1, 512), alone) << "one sequence is on one stage after the other";
    EXPECT_DOUBLE_EQ(decode_ms(profile, 64, 512), half) << "two groups of 32 take the time of one";
    StepTimes times(profile);
    const StepWork work{.tokens = 64, .sequences = 64, .decode_context_tokens = 64 * 512};
    EXPECT_DOUBLE_EQ(times.seconds_of(work) * 1e3, half);
    profile.pipeline_stages = 8;
    EXPECT_DOUBLE_EQ(decode_ms(profile, 4, 512), alone) << "there are not more groups than sequences";
}

TEST(Model, AnEmptyStepTakesNoTime) {
    EXPECT_EQ(step_seconds(profile_named("llama3-8b-h100-bf16"), {}), 0);
}

TEST(Model, EveryPartOfTheWorkCostsTime) {
    const Profile profile = profile_named("llama3-8b-h100-bf16");
    const StepWork base{
        .tokens = 100, .sequences = 10, .decode_context_tokens = 5000, .prefill_token_pairs = 4000};
    const double base_s = step_seconds(profile, base);
    StepWork more = base;
    more.tokens += 100;
    EXPECT_GT(step_seconds(profile, more), base_s);
    more = base;
    more.sequences += 10;
    EXPECT_NEAR(step_seconds(profile, more) - base_s,
                10 * (profile.sequence_s + lm_head_seconds_per_sequence(profile)), 1e-12);
    more = base;
    more.decode_context_tokens += 1000;
    EXPECT_NEAR(step_seconds(profile, more) - base_s, 1000 * 131072 / 2.9e12, 1e-12);
    more = base;
    more.prefill_token_pairs += 1e6;
    EXPECT_NEAR(step_seconds(profile, more) - base_s, 1e6 * 4 * 32 * 4096 / 450e12, 1e-12);
}

TEST(Model, FewTokensAreComputedOneByOneWhereThatIsFaster) {
    const Profile together = profile_named("llama3-8b-h100-bf16?sequence_s=0");
    const auto seconds_of = [](const Profile& profile, std::int64_t tokens) {
        return step_seconds(profile, {.tokens = tokens});
    };
    const double four = seconds_of(together, 4);
    const double reading = together.weight_bytes / together.weight_bytes_per_s;
    Profile alone = together;
    alone.row_s = four / 4;
    EXPECT_NEAR(seconds_of(alone, 3), std::max(reading, alone.row_s * 3), 1e-12);
    EXPECT_NEAR(seconds_of(alone, 4), four, 1e-12);
    EXPECT_EQ(seconds_of(alone, 5), seconds_of(together, 5));
    EXPECT_NEAR(seconds_of(alone, 1), reading, 1e-12) << "the weights are read in any case";
    EXPECT_EQ(seconds_of(alone, 2000), seconds_of(together, 2000));
}

TEST(Model, AnOverlapExponentOfOneAddsReadingAndComputing) {
    Profile profile = profile_named("llama3-8b-h100-bf16?linear_overlap_exponent=1&step_s=0&sequence_s=0");
    profile.vocabulary = 0;
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1000, .sequences = 1}), 15e9 / 2.31e12 + 0.0218, 1e-9);
}

TEST(Model, AHighOverlapExponentTakesTheLongerTime) {
    for (const char* exponent : {"200", "1e6"}) {
        Profile profile = profile_named("llama3-8b-h100-bf16?step_s=0&sequence_s=0&linear_overlap_exponent=" +
                                        std::string(exponent));
        profile.vocabulary = 0;
        EXPECT_NEAR(step_seconds(profile, {.tokens = 1000, .sequences = 1}), 0.0218, 1e-9) << exponent;
    }
}

TEST(Model, AStepReadsTheExpertsThatItsTokensAreRoutedTo) {
    Profile profile = paretoken::testing::simple_profile();
    profile.linear_s_per_token = 0;
    profile.step_s = 0;
    profile.weight_bytes = 10;
    profile.weight_bytes_per_s = 1;
    profile.routed_layers = 2;
    profile.routed_experts = 4;
    profile.active_experts = 1;
    profile.expert_bytes = 3;
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1, .sequences = 1}), 10 + 2 * 3 * 1, 1e-9);
    EXPECT_NEAR(step_seconds(profile, {.tokens = 2, .sequences = 1}), 10 + 2 * 3 * 1.75, 1e-9);
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1000, .sequences = 1}), 10 + 2 * 3 * 4, 1e-6);
}

Profile profile_with_experts() {
    Profile profile = paretoken::testing::simple_profile();
    profile.linear_s_per_token = 0;
    profile.step_s = 0;
    profile.routed_layers = 1;
    profile.routed_experts = 4;
    profile.active_experts = 1;
    profile.routed_s_per_token = 1;
    return profile;
}

TEST(Model, TheBusiestRankDecidesHowLongExpertsCompute) {
    Profile profile = profile_with_experts();
    EXPECT_NEAR(step_seconds(profile, {.tokens = 8, .sequences = 1}), 8, 1e-9);
    profile.expert_imbalance = 1.5;
    EXPECT_NEAR(step_seconds(profile, {.tokens = 8, .sequences = 1}), 12, 1e-9);
}

TEST(Model, ExpertsComputeWholeTiles) {
    Profile profile = profile_with_experts();
    profile.expert_tile = 64;
    // Of many tokens, each of the four experts has half of a tile too much; of few, half as many as it has.
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1000, .sequences = 1}), 1000 + 4 * 32, 1e-6);
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1, .sequences = 1}), 1.5, 1e-9);
}

TEST(Model, ExpertsMayBeReadMoreSlowlyThanOtherWeights) {
    Profile profile = profile_with_experts();
    profile.routed_s_per_token = 0;
    profile.expert_bytes = 6;
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1, .sequences = 1}), 6, 1e-9);
    profile.expert_bytes_per_s = 2;
    EXPECT_NEAR(step_seconds(profile, {.tokens = 1, .sequences = 1}), 3, 1e-9);
}

TEST(Model, RanksWaitForEachOtherOncePerStepAndForEveryToken) {
    Profile profile = paretoken::testing::simple_profile();
    const StepWork work{.tokens = 10, .sequences = 2};
    const double alone = step_seconds(profile, work);
    profile.communication_s = 3;
    profile.communication_s_per_token = .5;
    EXPECT_NEAR(step_seconds(profile, work) - alone, 3 + 10 * .5, 1e-9);
}

TEST(Model, DecodeAttentionTakesTheLongerOfReadingAndArithmetic) {
    Profile profile = paretoken::testing::simple_profile();
    profile.kv_bytes_per_token = 2;
    const StepWork work{.tokens = 1, .sequences = 1, .decode_context_tokens = 100};
    const double reading = step_seconds(profile, work);
    profile.decode_attention_s_per_pair = 1;
    EXPECT_NEAR(step_seconds(profile, work), reading, 1e-9);
    profile.decode_attention_s_per_pair = 3;
    EXPECT_NEAR(step_seconds(profile, work) - reading, 100, 1e-9);
}

TEST(Model, LayersWithAWindowReadNoMoreThanIt) {
    Profile profile = paretoken::testing::simple_profile();
    profile.linear_s_per_token = 0;
    profile.step_s = 0;
    profile.kv_bytes_per_token = 2;
    profile.windowed_kv_bytes_per_token = 5;
    EXPECT_NEAR(
        step_seconds(
            profile,
            {.tokens = 1, .sequences = 1, .decode_context_tokens = 100, .windowed_context_tokens = 10}),
        100 * 2 + 10 * 5, 1e-9);
}

TEST(Model, EveryDraftNeedsTheOutputHead) {
    Profile profile = paretoken::testing::simple_profile();
    profile.vocabulary = profile.hidden_size = 10;
    profile.lm_head_flops_per_s = 200;
    const double without = step_seconds(profile, {.tokens = 4, .sequences = 1});
    EXPECT_NEAR(step_seconds(profile, {.tokens = 4, .sequences = 1, .drafts = 3}) - without, 3, 1e-9);
}

}  // namespace
}  // namespace paretoken::sim
