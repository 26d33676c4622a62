#include "simulator/engine/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace paretoken::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string refusal_of_profile(std::string_view spec) {
    try {
        profile_named(spec);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

std::vector<std::string> keys_of(const std::map<std::string, double>& terms) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : terms) keys.push_back(key);
    return keys;
}

TEST(Profile, EmbeddedOnesAreKnownByName) {
    EXPECT_THAT(profile_names(), UnorderedElementsAre("llama3-8b-h100-bf16", "llama3-8b-h100-fp8", "ideal"));
    for (const std::string& name : profile_names()) {
        EXPECT_EQ(profile_named(name).name, name);
        EXPECT_EQ(profile_named(name + "?answer_tokens=9").model, name);
    }
}

TEST(Profile, ASpecChangesFieldsAndStaysInTheName) {
    const Profile profile = profile_named("llama3-8b-h100-fp8?max_num_seqs=2048&jitter=0");
    EXPECT_EQ(profile.max_num_seqs, 2048);
    EXPECT_EQ(profile.jitter, 0);
    EXPECT_EQ(profile.blocks, 55200);
    EXPECT_EQ(profile.name, "llama3-8b-h100-fp8?max_num_seqs=2048&jitter=0");
}

TEST(Profile, IdealTakesTimesWithUnitsAndZero) {
    const Profile profile = profile_named("ideal?ttft=5ms&itl=0");
    EXPECT_EQ(profile.timing, Timing::fixed);
    EXPECT_EQ(profile.ttft, std::chrono::milliseconds(5));
    EXPECT_EQ(profile.itl, Duration::zero());
}

TEST(Profile, RefusalsNameWhatIsWrongAndWhatIsKnown) {
    EXPECT_THAT(refusal_of_profile("nonesuch"), ::testing::AllOf(HasSubstr("nonesuch"), HasSubstr("ideal")));
    EXPECT_THAT(refusal_of_profile("ideal?blocks=3"),
                ::testing::AllOf(HasSubstr("\"blocks\""), HasSubstr("ttft, itl")));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?ttft=1ms"), HasSubstr("max_num_seqs"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?blocks=many"), HasSubstr("not a number"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?blocks=2.5"), HasSubstr("whole number"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?blocks=0"), HasSubstr("above 0"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?jitter=-1"), HasSubstr("0 or more"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?linear_overlap_exponent=0.5"),
                HasSubstr("1 or more"));
    EXPECT_THAT(refusal_of_profile("ideal?ttft"), HasSubstr("field=value"));
}

TEST(Profile, ReasoningIsANumberOfTokensOrAShare) {
    EXPECT_EQ(profile_named("ideal?reasoning=64tok").reasoning, (ReasoningPart{.tokens = 64}));
    EXPECT_EQ(profile_named("ideal?reasoning=64").reasoning, (ReasoningPart{.tokens = 64}));
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?reasoning=25%").reasoning, (ReasoningPart{.share = .25}));
    EXPECT_EQ(profile_named("ideal?reasoning=0").reasoning, ReasoningPart{});
    for (const char* wrong : {"-1", "1.5", "101%", "much", "5s"})
        EXPECT_THAT(refusal_of_profile(std::string("ideal?reasoning=") + wrong), HasSubstr("reasoning"))
            << wrong;
}

TEST(Profile, FieldsInSecondsTakeTimesWithUnits) {
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?step_s=2ms").step_s, .002);
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?request_s=300us").request_s, 300e-6);
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?step_s=2e-3").step_s, .002);
    EXPECT_THROW(profile_named("llama3-8b-h100-bf16?step_s=2parsecs"), UsageError);
    EXPECT_THROW(profile_named("llama3-8b-h100-bf16?kv_bytes_per_s=2ms"), UsageError);
}

TEST(Profile, HiccupsHaveALengthAndAMeanDistance) {
    using std::chrono::milliseconds;
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?hiccup=20ms/2s").hiccup,
              (Hiccups{milliseconds(20), milliseconds(20), milliseconds(2000)}));
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?hiccup=5ms-20ms/2s").hiccup,
              (Hiccups{milliseconds(5), milliseconds(20), milliseconds(2000)}));
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?hiccup=0").hiccup, Hiccups{});
    for (const char* wrong : {"20ms", "20ms/0s", "20ms-5ms/1s", "x/1s"})
        EXPECT_NE(refusal_of_profile(std::string("llama3-8b-h100-bf16?hiccup=") + wrong), "accepted")
            << wrong;
    EXPECT_THAT(refusal_of_profile("ideal?hiccup=1ms/1s"), HasSubstr("\"hiccup\""));
}

TEST(Profile, AServerMayDrift) {
    EXPECT_DOUBLE_EQ(profile_named("llama3-8b-h100-bf16?drift=10%/h").drift, .1);
    EXPECT_DOUBLE_EQ(profile_named("ideal?drift=.5").drift, .5);
    EXPECT_DOUBLE_EQ(drift_at(profile_named("ideal?drift=10%/h"), std::chrono::hours(2)), 1.2);
    for (const char* wrong : {"-10%/h", "much", "10%", "10%/s"})
        EXPECT_THAT(refusal_of_profile(std::string("ideal?drift=") + wrong), HasSubstr("drift")) << wrong;
}

TEST(Profile, SpeedsMayChangeLater) {
    using std::chrono::seconds;
    const Profile profile = profile_named(
        "llama3-8b-h100-bf16?from=60s:step_s=0.004&from=30s:step_s=0.002&from=90s:kv_bytes_per_s=4e12");
    EXPECT_EQ(profile.step_s, 1e-3);
    EXPECT_EQ(profile_at(profile, seconds(29)).step_s, 1e-3);
    EXPECT_EQ(profile_at(profile, seconds(30)).step_s, 2e-3) << "in the order of their times";
    EXPECT_EQ(profile_at(profile, seconds(1000)).step_s, 4e-3);
    EXPECT_EQ(profile_at(profile, seconds(1000)).kv_bytes_per_s, 4e12);
    EXPECT_EQ(profile_named("ideal?from=5s:itl=40ms").later.front().value, .04);
    const auto terms = limit_terms(profile);
    EXPECT_EQ(terms.at("step_s"), 1e-3) << "the limit is that of the fastest moment";
    EXPECT_EQ(terms.at("kv_bytes_per_s"), 4e12);
}

TEST(Profile, OnlySpeedsMayChangeLater) {
    for (const char* wrong : {"60s", "60s:step_s", "step_s=1", "-1s:step_s=1", "60s:blocks=3",
                              "60s:nonesuch=1", "60s:step_s=-1", "60s:jitter=0"})
        EXPECT_NE(refusal_of_profile(std::string("llama3-8b-h100-bf16?from=") + wrong), "accepted") << wrong;
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?from=60s:blocks=3"),
                HasSubstr("only times and rates"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?from=60s"), HasSubstr("from=60s:step_s="));
}

TEST(Profile, AdmissionIsAName) {
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16").admission, AdmissionRule::prompt);
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?admission=no_evict").admission, AdmissionRule::no_evict);
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?admission=1"), HasSubstr("prompt or no_evict"));
}

TEST(Profile, SpeculationIsCheckedAsAWhole) {
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?speculative_tokens=3&acceptance=.7").speculative_tokens, 3);
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?speculative_tokens=3&acceptance=1.5"),
                HasSubstr("probability"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?speculative_tokens=1000000"), HasSubstr("at most"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?active_experts=2"), HasSubstr("routed_experts"));
    const auto terms = limit_terms(profile_named("llama3-8b-h100-bf16?speculative_tokens=4&acceptance=.9"));
    EXPECT_EQ(terms.at("drafts"), 4);
    EXPECT_NEAR(terms.at("tokens_per_pass"), 4.0951, 5e-5);
}

TEST(Profile, BlocksAreLimitedToWhatTheCacheCanNumber) {
    EXPECT_EQ(profile_named("llama3-8b-h100-bf16?blocks=2e9").blocks, 2'000'000'000);
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?blocks=3e9"), HasSubstr("3000000000 blocks"));
    EXPECT_THAT(refusal_of_profile("llama3-8b-h100-bf16?blocks=2e9&block_tokens=1e15"), HasSubstr("tokens"));
}

TEST(Profile, AJsonFileWorksLikeAnEmbeddedOne) {
    const auto path = std::filesystem::temp_directory_path() / "paretoken_profile_test.json";
    std::ofstream(path) << R"({"timing":"fixed","ttft":"3ms","itl":0.5,"vocabulary":1000,"max_model_len":4096,
                               "answer_tokens":10})";
    const Profile profile = profile_named(path.string() + "?itl=2ms");
    EXPECT_EQ(profile.ttft, std::chrono::milliseconds(3));
    EXPECT_EQ(profile.itl, std::chrono::milliseconds(2));
    EXPECT_EQ(profile.max_model_len, 4096);
    std::ofstream(path) << R"({"timing":"fixed","ttft":"3ms"})";
    EXPECT_THAT(refusal_of_profile(path.string()), HasSubstr("\"itl\" is missing"));
    std::ofstream(path) << R"(["timing"])";
    EXPECT_THAT(refusal_of_profile(path.string()), HasSubstr("not a JSON object"));
    std::filesystem::remove(path);
}

TEST(Profile, TheContextLimitIsWhatTheCacheHolds) {
    EXPECT_EQ(context_limit(profile_named("llama3-8b-h100-bf16")), 131072);
    EXPECT_EQ(context_limit(profile_named("llama3-8b-h100-bf16?blocks=100")), 1600);
    EXPECT_EQ(context_limit(profile_named("ideal?max_model_len=77")), 77);
}

TEST(Profile, LimitTermsHaveExactlyTheAgreedKeys) {
    const auto terms = limit_terms(profile_named("llama3-8b-h100-bf16"));
    EXPECT_THAT(
        keys_of(terms),
        UnorderedElementsAre("weight_bytes", "weight_bytes_per_s", "kv_bytes_per_token", "kv_bytes_per_s",
                             "linear_s_per_token", "lm_head_s_per_sequence", "attention_flops_per_token_pair",
                             "attention_flops_per_s", "max_num_seqs", "kv_capacity_tokens", "step_s",
                             "sequence_s", "linear_overlap_exponent", "max_batched_tokens"));
    EXPECT_DOUBLE_EQ(terms.at("kv_capacity_tokens"), 27600 * 16);
    EXPECT_DOUBLE_EQ(terms.at("attention_flops_per_token_pair"), 4.0 * 32 * 4096);
    EXPECT_DOUBLE_EQ(terms.at("lm_head_s_per_sequence"), 2.0 * 128256 * 4096 / 600e12);
    EXPECT_THAT(
        limit_terms(profile_named("ideal")),
        UnorderedElementsAre(::testing::Pair("fixed_ttft_s", 0.02), ::testing::Pair("fixed_itl_s", 0.01)));
}

}  // namespace
}  // namespace paretoken::sim
