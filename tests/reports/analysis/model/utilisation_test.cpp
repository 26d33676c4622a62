#include "reports/analysis/model/utilisation.h"

#include <gmock/gmock.h>

#include "reports/analysis/model/limit.h"
#include "tests/reports/analysis/model/llama_on_h200.h"

namespace paretoken::reports {
namespace {

using sample::llama_on_h200;
using ::testing::HasSubstr;

GapRun run_of(double input, double output, double in_flight, double output_tokens_per_s) {
    return {.work = work_of_request(input, 0, output),
            .in_flight = in_flight,
            .output_tokens_per_s = output_tokens_per_s};
}

TEST(Utilisation, of_one_stream_at_its_limit_is_all_bandwidth_and_hardly_any_arithmetic) {
    const auto used = utilisation_of(run_of(1024, 1024, 1, 314.5), llama_on_h200());
    ASSERT_TRUE(used && used->mfu && used->mbu);
    // 1023 steps of 15.009 GB, and 131072 bytes for each of 1023 · 1024 + 1024² / 2 tokens of context.
    EXPECT_NEAR(*used->mbu, (1023 * 15.009e9 + 131072.0 * 1571840) / 4.8e12 / (1024 / 314.5), 1e-4);
    EXPECT_NEAR(*used->mbu, .9955, .0005);
    // The prompt takes 14.73 ms of arithmetic, a decoded token 2 · 7.5047e9 FLOP and its attention.
    const double decoded = 1023 * 2 * 7.5047e9 + 4.0 * 32 * 32 * 128 * 1571840;
    EXPECT_NEAR(*used->mfu, (.01473 + decoded / 989e12) / (1024 / 314.5), 1e-5);
    EXPECT_NEAR(*used->mfu, .0095, .0001);
    EXPECT_THAT(used->mbu_source, HasSubstr("GB/s, datasheet"));
    EXPECT_THAT(used->mfu_source, HasSubstr("TFLOP/s, datasheet"));
}

TEST(Utilisation, of_long_prompts_at_their_limit_is_all_arithmetic) {
    const GapRun run = run_of(8192, 256, 32, 1850);
    const auto used = utilisation_of(run, llama_on_h200());
    ASSERT_TRUE(used && used->mfu && used->mbu);
    EXPECT_NEAR(*used->mfu, 1, .002);
    // 57.8 tok/s per user are 57.8 steps per second, each with 32 caches of 8192 + 128 tokens.
    EXPECT_NEAR(*used->mbu, 57.8 * (15.009e9 + 32 * 131072.0 * 8320) / 4.8e12, .005);
}

TEST(Utilisation, halves_where_the_rate_halves) {
    const auto whole = utilisation_of(run_of(512, 128, 8, 1000), llama_on_h200());
    const auto half = utilisation_of(run_of(512, 128, 8, 500), llama_on_h200());
    EXPECT_NEAR(*half->mfu * 2, *whole->mfu, 1e-12);
    EXPECT_NEAR(*half->mbu * 2, *whole->mbu, 1e-12);
}

TEST(Utilisation, counts_the_steps_of_those_that_run_and_no_draft_as_delivered) {
    GapRun run = run_of(512, 128, 8, 1000);
    const auto all = utilisation_of(run, llama_on_h200());
    run.running = 4;  // twice as many steps
    const auto fewer = utilisation_of(run, llama_on_h200());
    EXPECT_GT(*fewer->mbu, 1.8 * *all->mbu);
    EXPECT_EQ(*fewer->mfu, *all->mfu);
    run.drafts = 4;
    run.tokens_per_pass = 3;  // a third of the steps
    const auto speculating = utilisation_of(run, llama_on_h200());
    EXPECT_LT(*speculating->mbu, .4 * *fewer->mbu);
    EXPECT_EQ(*speculating->mfu, *all->mfu);
}

TEST(Utilisation, is_not_known_without_peaks_or_output) {
    LimitInputs fixed;
    fixed.fixed_itl_s = .01;
    EXPECT_FALSE(utilisation_of(run_of(512, 128, 8, 1000), fixed));
    EXPECT_FALSE(utilisation_of(run_of(512, 128, 8, 0), llama_on_h200()));
    LimitInputs no_arithmetic = llama_on_h200();
    no_arithmetic.linear_s_per_token.reset();
    const auto used = utilisation_of(run_of(512, 128, 8, 1000), no_arithmetic);
    EXPECT_TRUE(used->mbu);
    EXPECT_FALSE(used->mfu);
}

TEST(Utilisation, sentence_says_that_single_digits_are_normal) {
    ReportPoint point;
    point.load_label = "c=8";
    EXPECT_EQ(utilisation_sentence(point), "");
    point.utilisation = Utilisation{
        .mfu = .031, .mbu = .62, .mfu_source = "989 TFLOP/s, datasheet", .mbu_source = "4,800 GB/s"};
    const std::string text = utilisation_sentence(point);
    EXPECT_THAT(text,
                HasSubstr("At c=8 decoding reads 62.0 % of the peak bandwidth (MBU; peak: 4,800 GB/s)"));
    EXPECT_THAT(text, HasSubstr("3.10 % of the peak arithmetic (MFU; peak: 989 TFLOP/s, datasheet)"));
    EXPECT_THAT(text, HasSubstr("Single-digit MFU is normal while decoding"));
    point.gap = Gap{.step_ms = 100, .parts = {{.name = std::string(kPrefillPart), .ms = 60}}};
    EXPECT_THAT(utilisation_sentence(point), HasSubstr("Prompts take most of the step"));
    point.gap->parts.front().ms = 40;
    EXPECT_EQ(utilisation_sentence(point), text);
    point.utilisation->mfu = .291;
    EXPECT_THAT(utilisation_sentence(point), ::testing::EndsWith("datasheet)."));
    point.utilisation->mfu = .9;
    EXPECT_THAT(utilisation_sentence(point), HasSubstr("Above 85 % arithmetic is the limit"));
}

}  // namespace
}  // namespace paretoken::reports
